//! What records have of arguments and results.

use super::*;
use crate::guard::secrets::{CustomRules, SecretRule, SecretRules};

#[tokio::test]
async fn arguments_are_recorded_as_the_operator_says_and_never_with_credentials() {
    let key = || audit::DigestKey::of_bytes(b"a key of tests");
    let redacted = || RecordedArguments::Redacted(key());
    let check = async |recorded: RecordedArguments,
                       arguments: &str,
                       expected: &str,
                       rules: &str| {
        let has_digest = !matches!(recorded, RecordedArguments::Nothing);
        let bench = Bench::with(open, |settings| settings.arguments = recorded);
        bench.shake_hands().await;
        bench.list(&["echo"]).await;
        bench
            .agent(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{arguments}}}}}"#))
            .await;
        let calls = bench.records_of("tool_call").await;
        let record: serde_json::Value = calls[0].text().parse().unwrap();
        let member = format!(r#""arguments":{expected}"#);
        let got = calls[0].text();
        assert_eq!(
            record.get("arguments").is_some(),
            !expected.is_empty(),
            "{got}"
        );
        assert!(expected.is_empty() || got.contains(&member), "{got}");
        assert_eq!(
            record.get("arguments_digest").is_some(),
            has_digest,
            "{record}"
        );
        let got = record.get("redactions").map(ToString::to_string);
        assert_eq!(got.unwrap_or_default(), rules, "{record}");
        // The server gets what was sent.
        assert!(bench.to_upstream()[0].contains(arguments));
    };
    let sent = r#"{"path":"/srv/a","depth":1.50,"all":true}"#;
    check(RecordedArguments::Nothing, sent, "", "").await;
    check(RecordedArguments::Digest(key()), sent, "", "").await;
    check(redacted(), sent, sent, "").await;
    // No file shows what looks like a credential.
    let token = ["gh", "p_", "x7Kq2mVb9Rt4Yw1Zc6Nd8Pf3Lh5Js0Ga2Xe7"].concat();
    check(
        redacted(),
        &format!(r#"{{"id":"u","note":"use {token}"}}"#),
        r#"{"id":"u","note":"use [redacted:github-token]"}"#,
        r#"["github-token"]"#,
    )
    .await;
    check(
        redacted(),
        &format!(r#"{{"note":"use {token} here"}}"#),
        r#"{"note":"use [redacted:github-token] here"}"#,
        r#"["github-token"]"#,
    )
    .await;
    // Where a name shows one, nothing is.
    check(
        redacted(),
        &format!(r#"{{"{token}":1}}"#),
        "",
        r#"["github-token"]"#,
    )
    .await;
}

#[tokio::test]
async fn a_rule_that_is_added_while_the_gate_runs_keeps_its_credentials_out_of_the_log() {
    let key = audit::DigestKey::of_bytes(b"a key of tests");
    let bench = Bench::with(open, |settings| {
        settings.arguments = RecordedArguments::Redacted(key);
    });
    bench.shake_hands().await;
    bench.list(&["echo"]).await;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":"badge-a1b2c3d4"}}}"#;
    bench.agent(call).await;
    let badge = SecretRule {
        id: "badge".to_owned(),
        keywords: vec!["badge-".to_owned()],
        pattern: "badge-(?<secret>[a-z0-9]{8})".to_owned(),
        min_entropy: Some(25),
    };
    let rules = SecretRules::with_own(&CustomRules::new(vec![badge]).unwrap());
    let mut terms = bench.gate.terms(&bench.gate.policy.current()).clone();
    terms.guards.secrets = Some(Secrets {
        sent: Level::Off,
        received: Treatment::Off,
        rules: Arc::new(rules),
    });
    let same = snapshot("test", open).with_terms(Arc::new(terms));
    let published = bench.gate.publish("fixture", same, Besides::default());
    published.await.unwrap();
    bench.agent(&call.replace("\"id\":1", "\"id\":2")).await;
    let calls = bench.records_of("tool_call").await;
    let shown = calls.iter().map(|call| call.get(&["arguments", "a"]));
    let shown: Vec<String> = shown.collect();
    assert_eq!(shown, ["badge-a1b2c3d4", "badge-[redacted:badge]"]);
}

#[tokio::test]
async fn results_are_recorded_as_the_agent_gets_them_and_only_where_the_operator_wants_it() {
    let check = async |results: RecordedResults, reply: &str, expected: &str, rules: &str| {
        let bench = Bench::with(open, |settings| settings.results = results);
        bench.shake_hands().await;
        bench.list(&["echo"]).await;
        bench.agent(&call("1", "echo")).await;
        let id = id_of(&bench.to_upstream()[0]);
        bench
            .upstream(&format!(r#"{{"jsonrpc":"2.0","id":{id},{reply}}}"#))
            .await;
        let results = bench.records_of("tool_result").await;
        let got = results[0].text();
        let record: serde_json::Value = got.parse().unwrap();
        let member = format!(r#""result":{expected},"#);
        assert_eq!(
            record.get("result").is_some(),
            !expected.is_empty(),
            "{got}"
        );
        assert!(expected.is_empty() || got.contains(&member), "{got}");
        let got = record.get("redactions").map(ToString::to_string);
        assert_eq!(got.unwrap_or_default(), rules, "{record}");
    };
    let of = |result: &str| format!(r#""result":{result}"#);
    let result =
        r#"{"content":[{"type":"text","text":"12 notes"}],"structuredContent":{"n":1.50}}"#;
    check(RecordedResults::Nothing, &of(result), "", "").await;
    check(RecordedResults::Redacted, &of(result), result, "").await;
    let error = r#"{"code":-32603,"message":"no such note"}"#;
    let failed = format!(r#""error":{error}"#);
    check(RecordedResults::Redacted, &failed, error, "").await;
    let token = ["gh", "p_", "x7Kq2mVb9Rt4Yw1Zc6Nd8Pf3Lh5Js0Ga2Xe7"].concat();
    check(
        RecordedResults::Redacted,
        &of(&format!(
            r#"{{"content":[{{"type":"text","text":"{token}"}}]}}"#
        )),
        r#"{"content":[{"type":"text","text":"[redacted:github-token]"}]}"#,
        r#"["github-token"]"#,
    )
    .await;
    // The gate withholds it, so the agent did not get it.
    check(RecordedResults::Redacted, &of("7"), "", "").await;
}
