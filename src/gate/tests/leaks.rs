//! Credentials in what goes to the server, and in what comes from it.

use super::*;
use crate::guard::secrets::{CustomRules, SecretRule, SecretRules};

/// No file shows what looks like a credential: it is put together here.
fn token() -> String {
    ["gh", "p_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].concat()
}

async fn guarded(sent: Level, received: Treatment) -> Bench {
    let bench = Bench::with(open, |settings| {
        settings.terms.guards.secrets = Some(Secrets {
            sent,
            received,
            rules: Arc::new(SecretRules::builtin()),
        });
    });
    bench.shake_hands().await;
    bench.list(&["t"]).await;
    bench
}

/// Calls the tool, lets it answer, and yields what the agent gets.
async fn answered(bench: &Bench, reply: &str) -> String {
    bench
        .agent(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#)
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    bench
        .upstream(&format!(r#"{{"jsonrpc":"2.0","id":{id},{reply}}}"#))
        .await;
    bench.to_agent().remove(0)
}

#[tokio::test]
async fn a_kind_that_only_the_configuration_knows_is_treated_like_any_other() {
    let rules = || {
        let badge = SecretRule {
            id: "badge".to_owned(),
            keywords: vec!["badge-".to_owned()],
            pattern: "badge-(?<secret>[a-z0-9]{8})".to_owned(),
            min_entropy: Some(25),
        };
        Arc::new(SecretRules::with_own(
            &CustomRules::new(vec![badge]).unwrap(),
        ))
    };
    let with = |sent, received| {
        Bench::with(open, |settings| {
            let rules = rules();
            settings.terms.guards.secrets = Some(Secrets {
                sent,
                received,
                rules,
            });
        })
    };
    let bench = with(Level::Strict, Treatment::Redact);
    bench.shake_hands().await;
    bench.list(&["t"]).await;
    let reply = r#""result":{"content":[{"type":"text","text":"badge-a1b2c3d4 badge-aaaaaaaa"}]}"#;
    let answer = answered(&bench, reply).await;
    assert!(
        answer.contains("badge-[redacted:badge] badge-aaaaaaaa"),
        "{answer}"
    );
    let records = bench.records().await;
    let record = records.last().unwrap().text();
    assert!(record.contains(r#""redactions":["badge"]"#), "{record}");
    bench
        .agent(&call("2", "t").replace(r#""a":1"#, r#""a":"badge-a1b2c3d4""#))
        .await;
    assert_eq!(bench.to_upstream(), [""; 0]);
    assert!(!bench.to_agent().concat().contains("a1b2c3d4"));
}

#[tokio::test]
async fn what_comes_back_is_without_credentials_in_each_of_its_forms() {
    let token = token();
    let embedded = format!(
        r#""result":{{"content":[{{"type":"resource","resource":{{"uri":"a:b","text":"x {token}"}}}}]}}"#
    );
    for reply in [
        format!(r#""result":{{"content":[{{"type":"text","text":"it is {token}."}}]}}"#),
        format!(r#""result":{{"content":[],"structuredContent":{{"a":[{{"b":"{token}"}}]}}}}"#),
        embedded,
        format!(r#""error":{{"code":1,"message":"no {token}","data":["{token}"]}}"#),
    ] {
        let bench = guarded(Level::Off, Treatment::Redact).await;
        let answer = answered(&bench, &reply).await;
        assert!(
            !answer.contains(&token) && answer.contains("[redacted:"),
            "{answer}"
        );
        let records = bench.records().await;
        let record = records.last().unwrap().text();
        assert!(record.contains(r#""redactions":["github"#), "{record}");
        assert!(!record.contains(&token), "{record}");
    }
}

#[tokio::test]
async fn a_method_that_shows_a_credential_is_recorded_without_it() {
    let (bench, token) = (guarded(Level::Off, Treatment::Redact).await, token());
    bench
        .agent(&format!(
            r#"{{"jsonrpc":"2.0","id":9,"method":"x/{token}"}}"#
        ))
        .await;
    bench
        .agent(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/{token}"}}"#
        ))
        .await;
    bench
        .upstream(&format!(r#"{{"jsonrpc":"2.0","id":9,"method":"{token}"}}"#))
        .await;
    let records = bench.records().await;
    let shown: Vec<_> = records
        .iter()
        .filter(|it| it.text().contains(&token))
        .collect();
    assert!(shown.is_empty(), "{shown:?}");
    let concealed = records
        .iter()
        .filter(|it| it.get(&["method"]).contains("[redacted:"));
    assert_eq!(concealed.count(), 3);
}

#[tokio::test]
async fn what_a_server_says_unasked_is_without_credentials_too() {
    let bench = guarded(Level::Off, Treatment::Redact).await;
    let log = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":"{}"}}}}"#,
        token()
    );
    bench.upstream(&log).await;
    let told = bench.to_agent().remove(0);
    assert!(
        told.contains("[redacted:") && !told.contains(&token()),
        "{told}"
    );
}

#[tokio::test]
async fn what_an_agent_calls_itself_is_recorded_without_credentials() {
    let bench = Bench::with(open, |settings| {
        settings.terms.guards.secrets = Some(Secrets {
            sent: Level::Off,
            received: Treatment::Redact,
            rules: Arc::new(SecretRules::builtin()),
        });
    });
    bench
        .agent(&INITIALIZE.replace("tester", &format!("my {}", token())))
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-11-25","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
        ))
        .await;
    bench
        .agent(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    bench.to_upstream();
    bench.to_agent();
    bench.list(&["t"]).await;
    answered(&bench, r#""result":{"content":[]}"#).await;
    let records = bench.records().await;
    let told: Vec<String> = records
        .iter()
        .map(|record| record.text().to_owned())
        .collect();
    assert!(
        told.iter().all(|record| !record.contains(&token())),
        "{told:?}"
    );
    assert!(
        told.iter().any(|record| record.contains("my [redacted:")),
        "{told:?}"
    );
}

#[tokio::test]
async fn a_credential_in_the_name_of_a_member_does_not_pass() {
    let bench = guarded(Level::Off, Treatment::Redact).await;
    let reply = format!(
        r#""result":{{"content":[],"structuredContent":{{"{}":1}}}}"#,
        token()
    );
    let answer = answered(&bench, &reply).await;
    assert!(
        answer.contains("error") && !answer.contains(&token()),
        "{answer}"
    );
}

#[tokio::test]
async fn what_is_only_warned_of_passes_as_it_is() {
    let bench = guarded(Level::Warn, Treatment::Warn).await;
    let reply = format!(
        r#""result":{{"content":[{{"type":"text","text":"{}"}}]}}"#,
        token()
    );
    let answer = answered(&bench, &reply).await;
    assert!(answer.contains(&token()), "{answer}");
    let records = bench.records().await;
    let record = records.last().unwrap().text();
    assert!(
        record
            .contains(r#""findings":[{"guard":"secrets","code":"secret_inbound","detail":"github"#),
        "{record}"
    );
}

#[tokio::test]
async fn a_message_that_shows_a_credential_is_not_sent() {
    for (level, passes) in [
        (Level::Strict, false),
        (Level::Warn, true),
        (Level::Off, true),
    ] {
        let bench = guarded(level, Treatment::Redact).await;
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","arguments":{{"url":"https://a.example/?k={}"}}}}}}"#,
            token()
        );
        bench.agent(&call).await;
        assert_eq!(bench.to_upstream().len(), usize::from(passes), "{level:?}");
        let records = bench.records().await;
        let record = records.last().unwrap();
        let code = record.get(&["reason", "code"]);
        assert_eq!(code == "secret_outbound", !passes, "{record:?}");
        assert_eq!(record.text().contains("findings"), level == Level::Warn);
        assert!(!record.text().contains(&token()));
        assert!(bench.to_agent().iter().all(|line| !line.contains(&token())));
    }
}

#[tokio::test]
async fn handles_that_a_server_wants_back_stay_as_they_are() {
    let bench = guarded(Level::Strict, Treatment::Redact).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":2,"method":"prompts/list"}"#)
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    let cursor = token();
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"prompts":[],"nextCursor":"{cursor}"}}}}"#
        ))
        .await;
    assert!(bench.to_agent()[0].contains(&cursor));
    bench
        .agent(&format!(
            r#"{{"jsonrpc":"2.0","id":3,"method":"prompts/list","params":{{"cursor":"{cursor}"}}}}"#
        ))
        .await;
    assert_eq!(bench.to_upstream().len(), 1);
}

#[tokio::test]
async fn what_is_called_like_a_handle_where_the_protocol_has_none_is_no_handle() {
    let token = token();
    for result in [
        format!(r#"{{"content":[],"nextCursor":"{token}"}}"#),
        format!(r#"{{"content":[],"taskId":"{token}"}}"#),
        format!(r#"{{"content":[],"task":{{"taskId":"{token}"}}}}"#),
    ] {
        let bench = guarded(Level::Strict, Treatment::Redact).await;
        let told = answered(&bench, &format!(r#""result":{result}"#)).await;
        assert!(told.contains("[redacted:github-"), "{told}");
        assert!(!told.contains(&token), "{told}");
    }
    for params in [
        format!(r#"{{"name":"t","cursor":"{token}"}}"#),
        format!(r#"{{"name":"t","taskId":"{token}"}}"#),
        format!(r#"{{"name":"t","arguments":{{}},"requestState":"{token}"}}"#),
    ] {
        let bench = guarded(Level::Strict, Treatment::Redact).await;
        bench
            .agent(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#
            ))
            .await;
        assert_eq!(bench.to_upstream(), [""; 0], "{params}");
    }
}

#[tokio::test]
async fn the_log_names_a_resource_without_its_password() {
    let password = ["hun", "ter", "2hun", "ter2"].concat();
    let bench = guarded(Level::Off, Treatment::Redact).await;
    let read = |method: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"uri":"postgres://app:{password}@db.internal/app"}}}}"#
        )
    };
    bench.agent(&read("resources/read")).await;
    assert!(
        bench.to_upstream()[0].contains(&password),
        "what is sent is as it was"
    );
    let records = bench.records().await;
    let record = records.last().unwrap();
    assert!(
        record
            .get(&["target"])
            .starts_with("postgres://app:[redacted:"),
        "{record:?}"
    );
    assert!(record.text().contains("redactions"));
    assert!(!record.text().contains(&password));
}

#[tokio::test]
async fn what_the_gate_quotes_of_a_definition_is_without_credentials_too() {
    let bench = Bench::with(open, |settings| {
        settings.terms.guards = Guards {
            arguments: Level::Strict,
            results: Level::Off,
            secrets: Some(Secrets {
                sent: Level::Off,
                received: Treatment::Redact,
                rules: Arc::new(SecretRules::builtin()),
            }),
            ..Guards::default()
        };
    });
    bench.shake_hands().await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#)
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    let tools = [("t", "enum"), ("u", "$ref")].map(|(name, rule)| {
        let says = match rule {
            "enum" => format!(r#"["{}"]"#, token()),
            _ => format!(r#""{}""#, token()),
        };
        format!(r#"{{"name":"{name}","inputSchema":{{"type":"object","properties":{{"a":{{"{rule}":{says}}}}}}}}}"#)
    });
    let tools = tools.join(",");
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{tools}]}}}}"#
        ))
        .await;
    bench.to_agent();
    for tool in ["t", "u"] {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{{"a":1}}}}}}"#
        );
        bench.agent(&call).await;
        assert!(bench.to_upstream().is_empty(), "{tool}");
        let answer = bench.to_agent().remove(0);
        assert!(
            answer.contains("[redacted:") && !answer.contains(&token()),
            "{answer}"
        );
    }
    assert!(
        bench
            .records()
            .await
            .iter()
            .all(|record| !record.text().contains(&token()))
    );
}

#[tokio::test]
async fn policies_hear_of_credentials_before_they_decide() {
    let quiet = |facts: &Facts<'_>| {
        let shown = match &facts.action {
            Action::CallTool { targets, .. } => &targets.secrets,
            Action::ReceiveResult { received } => &received.secrets,
            _ => return Ok(allow()),
        };
        Ok(match shown.as_slice() {
            [] => allow(),
            [kind] if kind.starts_with("github") => Verdict::Deny { reasons: vec![] },
            _ => Verdict::Abstain,
        })
    };
    let token = token();
    let bench = Bench::ready(quiet, &["t"]).await;
    let encoded = token.replace("gh", "%67%68");
    for arguments in [
        format!(r#"{{"a":"x {token}"}}"#),
        format!(r#"{{"a":[{{"b":"{encoded}"}}]}}"#),
        format!(r#"{{"{token}":1}}"#),
    ] {
        bench
            .agent(&format!(
                r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"t","arguments":{arguments}}}}}"#
            ))
            .await;
        assert!(bench.to_upstream().is_empty(), "{arguments}");
        assert!(bench.to_agent().remove(0).contains("denied"), "{arguments}");
    }
    let plain = answered(
        &bench,
        r#""result":{"content":[{"type":"text","text":"fine"}]}"#,
    )
    .await;
    assert!(plain.contains("fine"), "{plain}");
    let told = format!(r#""result":{{"content":[{{"type":"text","text":"it is {token}."}}]}}"#);
    let refused = answered(&bench, &told).await;
    assert!(
        refused.contains("error") && !refused.contains(&token),
        "{refused}"
    );
}

#[tokio::test]
async fn what_an_agent_calls_its_work_is_recorded_without_credentials() {
    for key in [
        "mcp-protector/job_id",
        "mcp-protector/trace_id",
        "mcp-protector/workflow_run_id",
        "mcp-protector/task_id",
        "mcp-protector/session_id",
        "traceparent",
    ] {
        let bench = guarded(Level::Off, Treatment::Redact).await;
        bench
            .agent(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","_meta":{{"{key}":"{}"}}}}}}"#,
                token()
            ))
            .await;
        let id = id_of(&bench.to_upstream()[0]);
        bench
            .upstream(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#
            ))
            .await;
        let records = bench.records().await;
        let told: Vec<&str> = records.iter().map(Entry::text).collect();
        assert!(
            told.iter().all(|record| !record.contains(&token())),
            "{key}: {told:?}"
        );
        // One that is no UUID is replaced before.
        let shown = told
            .iter()
            .filter(|record| record.contains("[redacted:"))
            .count();
        let expected = if key.ends_with("/trace_id") { 0 } else { 2 };
        assert_eq!(shown, expected, "{key}: {told:?}");
    }
}

#[tokio::test]
async fn the_value_of_a_member_with_the_name_of_a_secret_is_redacted_whatever_it_looks_like() {
    let bench = guarded(Level::Strict, Treatment::Redact).await;
    let reply = r#""result":{"content":[{"type":"text","text":"{\"Password\": \"hunter\", \"user\": \"a\"}"}],"structuredContent":{"user":"a","apiKey":"hunter","env":[{"name":"DB","value":"a"},{"name":"PASSWORD","value":"b"}],"token":null,"next_token":"c"}}"#;
    let answer = answered(&bench, reply).await;
    for expected in [
        r#"{\"Password\": \"[redacted:secret-member]\", \"user\": \"a\"}"#,
        r#""apiKey":"[redacted:secret-member]""#,
        r#"{"name":"DB","value":"a"},{"name":"PASSWORD","value":"[redacted:secret-member]"}"#,
        r#""token":null,"next_token":"c""#,
    ] {
        assert!(answer.contains(expected), "{answer}");
    }
    // What an agent sends has to look like one: a tool may need a password.
    bench
        .agent(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":{"password":"hunter"}}}"#)
        .await;
    assert_eq!(bench.to_upstream().len(), 1);
}

#[tokio::test]
async fn a_definition_may_name_a_secret_without_losing_its_words() {
    let bench = guarded(Level::Off, Treatment::Redact).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    let schema = r#""inputSchema":{"type":"object","dependentRequired":{"password":["user"]},"default":{"token":"none"}}"#;
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"t",{schema}}}]}}}}"#
        ))
        .await;
    let answer = bench.to_agent().remove(0);
    assert!(answer.contains(schema), "{answer}");
}
