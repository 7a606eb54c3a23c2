//! What a server may never ask, and what waits while the agent's model works for it.

mod declared;
mod forms;
mod lending;
mod pages;
mod waiting;

use super::*;
use crate::policy::{Labels, Permissions, ToolLabels};

const FORM: &str = r#"{"message":"m","requestedSchema":{"type":"object","properties":{$}}}"#;

/// A session of an agent that says it can do this.
async fn with(capabilities: &str, change: impl FnOnce(&mut Settings)) -> Bench {
    let bench = Bench::with(open, change);
    let all = format!(r#""capabilities":{capabilities}"#);
    bench
        .agent(&INITIALIZE.replace(r#""capabilities":{"roots":{}}"#, &all))
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-11-25","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
        ))
        .await;
    bench.to_agent();
    bench.list(&["write", "look"]).await;
    bench
}

/// What becomes of a question: the code that the server is told, or none where the agent is asked.
async fn asked(bench: &Bench, method: &str, params: &str) -> Option<i64> {
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":"q","method":"{method}","params":{params}}}"#
        ))
        .await;
    let (told, asked) = (bench.to_upstream(), bench.to_agent());
    assert_eq!(told.len() + asked.len(), 1, "{told:?} {asked:?}");
    if let Some(asked) = asked.first() {
        let answer = format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"action":"cancel"}}}}"#,
            id_of(asked)
        );
        bench.agent(&answer).await;
        bench.to_upstream();
        return None;
    }
    let told = Message::decode(told[0].as_bytes(), &Limits::default()).unwrap();
    told.error().and_then(|error| error.get("code")?.as_i64())
}

/// The same in a result: what the agent is told of its call, in the words of the record.
async fn asked_in_result(bench: &Bench, method: &str, params: &str) -> String {
    bench.agent(&call("9", "write")).await;
    let id = id_of(&bench.to_upstream()[0]);
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","inputRequests":{{"k":{{"method":"{method}","params":{params}}}}}}}}}"#
        ))
        .await;
    assert_eq!(bench.to_agent().len(), 1);
    let records = bench.records_of("tool_result").await;
    records.last().unwrap().get(&["reason", "code"])
}

#[tokio::test]
async fn a_form_that_asks_for_a_secret_is_refused_whatever_policies_permit() {
    let strict = |settings: &mut Settings| settings.terms.guards.asking.secrets = Level::Strict;
    let bench = with(r#"{"elicitation":{}}"#, strict).await;
    for (fields, told) in [
        (r#""name":{"type":"string"}"#, None),
        (r#""password":{"type":"string"}"#, Some(-32602)),
        (r#""pass\u0077ord":{"type":"string"}"#, Some(-32602)),
        (
            r#""a":{"type":"string"},"apiKey":{"type":"string"}"#,
            Some(-32602),
        ),
        (
            r#""x":{"type":"string","title":"Your credit card number"}"#,
            Some(-32602),
        ),
        (
            r#""x":{"type":"string","description":"never your password"}"#,
            None,
        ),
    ] {
        let params = FORM.replace('$', fields);
        assert_eq!(
            asked(&bench, "elicitation/create", &params).await,
            told,
            "{fields}"
        );
        let code = asked_in_result(&bench, "elicitation/create", &params).await;
        assert_eq!(
            code,
            if told.is_some() {
                "elicitation_requests_secret"
            } else {
                ""
            },
            "{fields}"
        );
    }
    let records = bench.records_of("server_request").await;
    assert_eq!(records[1].get(&["stage"]), "inspect");
    assert_eq!(
        records[1].get(&["reason", "code"]),
        "elicitation_requests_secret"
    );
}

#[tokio::test]
async fn what_forms_ask_for_can_be_recorded_only() {
    let warn = |settings: &mut Settings| settings.terms.guards.asking.secrets = Level::Warn;
    let bench = with(r#"{"elicitation":{}}"#, warn).await;
    let params = FORM.replace('$', r#""pin":{"type":"string"}"#);
    assert_eq!(asked(&bench, "elicitation/create", &params).await, None);
    let records = bench.records_of("server_request").await;
    assert!(records[0].text().contains("asks for a secret in `pin`"));
}

#[tokio::test]
async fn a_user_is_sent_only_to_pages_of_listed_hosts() {
    let listed = |settings: &mut Settings| {
        settings.terms.guards.asking.pages = Pages::Only(vec!["login.example.com".to_owned()]);
    };
    let bench = with(r#"{"elicitation":{"url":{}}}"#, listed).await;
    for (url, told) in [
        ("https://login.example.com/x?y#z", None),
        ("https://LOGIN.example.com:8443/", None),
        ("https://evil.example/", Some(-32601)),
        ("https://login.example.com.evil.example/", Some(-32601)),
        ("https://login.example.com@evil.example/", Some(-32601)),
        ("https://evil.example@login.example.com/", Some(-32601)),
        ("https://l\u{43e}gin.example.com/", Some(-32601)),
        ("http://login.example.com/", Some(-32601)),
        ("javascript:alert(1)//login.example.com", Some(-32601)),
        ("login.example.com", Some(-32601)),
        ("", Some(-32601)),
    ] {
        let params = format!(r#"{{"mode":"url","message":"m","url":"{url}","elicitationId":"e"}}"#);
        assert_eq!(
            asked(&bench, "elicitation/create", &params).await,
            told,
            "{url}"
        );
        let code = asked_in_result(&bench, "elicitation/create", &params).await;
        assert_eq!(
            code,
            if told.is_some() {
                "elicitation_url_not_allowed"
            } else {
                ""
            },
            "{url}"
        );
    }
}

#[tokio::test]
async fn policies_know_the_host_and_the_size_of_what_is_asked() {
    let some: Rule = |facts| match facts.action {
        Action::Elicit { host, .. } if host != "login.example.com" => Ok(Verdict::Abstain),
        Action::Sample {
            messages,
            system,
            bytes,
            ..
        } if messages > 1 || system || bytes > 90 => Ok(Verdict::Abstain),
        _ => open(facts),
    };
    let bench = with(r#"{"elicitation":{"url":{}},"sampling":{}}"#, |_| {}).await;
    bench.gate.policy.publish(snapshot("new", some));
    let page =
        |url: &str| format!(r#"{{"mode":"url","message":"m","url":"{url}","elicitationId":"e"}}"#);
    let sample = |params: &str| format!(r#"{{"maxTokens":1,{params}}}"#);
    let message = r#"{"role":"user","content":{}}"#;
    for (method, params, told) in [
        (
            "elicitation/create",
            page("https://login.example.com/"),
            None,
        ),
        (
            "elicitation/create",
            page("https://a.example/"),
            Some(-32601),
        ),
        (
            "elicitation/create",
            page("ftp://login.example.com/"),
            Some(-32601),
        ),
        (
            "sampling/createMessage",
            sample(&format!(r#""messages":[{message}]"#)),
            None,
        ),
        (
            "sampling/createMessage",
            sample(&format!(r#""messages":[{message},{message}]"#)),
            Some(-32601),
        ),
        (
            "sampling/createMessage",
            sample(r#""messages":[],"systemPrompt":"s""#),
            Some(-32601),
        ),
        (
            "sampling/createMessage",
            sample(&format!(
                r#""messages":[],"temperature":{}"#,
                "1".repeat(60)
            )),
            Some(-32601),
        ),
    ] {
        assert_eq!(asked(&bench, method, &params).await, told, "{params}");
    }
}

#[tokio::test]
async fn a_server_asks_only_in_the_ways_that_the_agent_has_declared() {
    let form = FORM.replace('$', r#""name":{"type":"string"}"#);
    let page = r#"{"mode":"url","message":"m","url":"https://a.example/","elicitationId":"e"}"#;
    let sample = r#"{"messages":[],"maxTokens":1}"#;
    for (capabilities, forms, pages, samples) in [
        (r#"{"elicitation":{},"sampling":{}}"#, true, false, true),
        (r#"{"elicitation":{"form":{}}}"#, true, false, false),
        (r#"{"elicitation":{"url":{}}}"#, false, true, false),
        (r#"{"elicitation":{"form":{},"url":{}}}"#, true, true, false),
        ("{}", false, false, false),
    ] {
        let bench = with(capabilities, |_| {}).await;
        for (method, params, declared) in [
            ("elicitation/create", &*form, forms),
            ("elicitation/create", page, pages),
            ("sampling/createMessage", sample, samples),
        ] {
            let told = asked(&bench, method, params).await;
            assert_eq!(told.is_none(), declared, "{capabilities} {params}");
            assert!(matches!(told, None | Some(-32601)));
        }
    }
}

#[tokio::test]
async fn nothing_is_changed_while_the_agents_model_works_for_the_server() {
    let bench = with(r#"{"sampling":{}}"#, |_| {}).await;
    let mut labels = Labels::default();
    let looks = ToolLabels {
        permissions: Permissions {
            read: true,
            write: false,
            connect: false,
        },
        ..ToolLabels::default()
    };
    labels.tools.insert("look".to_owned(), looks);
    let labelled = snapshot("labelled", open).with_labels(labels);
    bench.gate.policy.publish(labelled);

    bench.agent(&call("1", "write")).await;
    assert_eq!(bench.to_upstream().len(), 1);
    bench
        .upstream(r#"{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#)
        .await;
    let question = id_of(&bench.to_agent()[0]);
    bench.agent(&call("2", "write")).await;
    assert_eq!(bench.to_agent(), Vec::<String>::new());
    assert_eq!(bench.to_upstream(), Vec::<String>::new());
    bench.agent(&call("3", "look")).await;
    assert_eq!(bench.to_upstream().len(), 1);

    bench
        .agent(&format!(
            r#"{{"jsonrpc":"2.0","id":{question},"result":{{"role":"assistant","content":{{}},"model":"m"}}}}"#
        ))
        .await;
    bench.to_upstream();
    bench.agent(&call("4", "write")).await;
    assert_eq!(bench.to_upstream().len(), 1);
    // And the one that waited.
    bench.gate.resume(&bench.talk).await.unwrap();
    assert_eq!(bench.to_upstream().len(), 1);
    let records = bench.records_of("tool_call").await;
    let decided = records.iter().map(|it| it.get(&["decision"]));
    assert!(decided.eq(["ALLOW"; 4]), "{records:?}");
}

#[tokio::test]
async fn only_an_answer_to_what_was_asked_is_heard_while_the_agents_model_works() {
    let bench = with(r#"{"sampling":{}}"#, |_| {}).await;
    let call = |id: u32, answers: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"write","inputResponses":{answers}}}}}"#
        )
    };
    bench.agent(&call(1, "{}")).await;
    let minted = id_of(&bench.to_upstream()[0]);
    let sample = r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#;
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{minted},"result":{{"resultType":"input_required","inputRequests":{{"k":{sample}}}}}}}"#
        ))
        .await;
    bench
        .upstream(r#"{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#)
        .await;
    bench.to_agent();
    for (answers, passes) in [
        ("{}", false),
        (r#"{"other":{}}"#, false),
        (r#"{"k":{"role":"assistant"}}"#, true),
    ] {
        bench.agent(&call(2, answers)).await;
        assert_eq!(bench.to_upstream().len(), usize::from(passes), "{answers}");
        assert_eq!(bench.to_agent(), [""; 0], "{answers}");
        let waits = bench.talk.session.state().waiting.parked.pop_back();
        assert_eq!(waits.is_some(), !passes, "{answers}");
    }
}
