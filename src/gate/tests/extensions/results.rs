//! What comes back from methods of extensions passes what all results pass.

use super::*;
use crate::policy::{Root, Roots, SessionSensitivity};
use crate::wire::ListedType;

/// Sends a request and answers it with this member; yields what the agent gets.
async fn answered(bench: &Bench, member: &str) -> String {
    bench.agent(&request(1, "vendor/do", "{}")).await;
    let id = id_of(&bench.to_upstream()[0]);
    bench
        .upstream(&format!(r#"{{"jsonrpc":"2.0","id":{id},{member}}}"#))
        .await;
    bench.to_agent().remove(0)
}

#[tokio::test]
async fn text_that_nobody_sees_is_taken_out_of_results_errors_and_notifications() {
    let clean = |settings: &mut Settings| settings.terms.guards.texts.content = Cleaning::Clean;
    for member in [
        r#""result":{"x":{"y":["see\u200b this"]}}"#,
        r#""error":{"code":1,"message":"see\u200b this","data":{"z":"a\u202eb"}}"#,
    ] {
        let bench = session(open, clean).await;
        let told = answered(&bench, member).await;
        assert!(told.contains("see this"), "{told}");
        for hidden in ["\\u200b", "\u{200b}", "\\u202e", "\u{202e}"] {
            assert!(!told.contains(hidden), "{told}");
        }
    }
    let bench = session(open, clean).await;
    let tell = notification("notifications/vendor/tell", r#"{"x":"see\u200b this"}"#);
    bench.upstream(&tell).await;
    assert!(bench.to_agent()[0].contains("see this"));
}

#[tokio::test]
async fn a_long_name_above_many_texts_takes_no_more_room_than_the_message() {
    let (name, texts) = ("k".repeat(1 << 20), vec![r#""""#; 20_000].join(","));
    let said = format!(r#"{{"{name}":[{texts}]}}"#);
    for member in ["result", "error"] {
        let bench = session(open, |_| {}).await;
        let data = match member {
            "error" => format!(r#"{{"code":1,"message":"m","data":{said}}}"#),
            _ => said.clone(),
        };
        let told = answered(&bench, &format!(r#""{member}":{data}"#)).await;
        assert!(told.contains(&name), "{}", told.len());
    }
    let bench = session(open, |_| {}).await;
    let tell = notification("notifications/vendor/tell", &said);
    bench.upstream(&tell).await;
    // What the agent or the server names by such a pointer is refused.
    let name = "k".repeat(1 << 20);
    let nested = format!("{}1{}", r#"{"uri":"#.repeat(50), "}".repeat(50));
    bench
        .agent(&request(
            2,
            "vendor/do",
            &format!(r#"{{"{name}":{nested}}}"#),
        ))
        .await;
    assert!(bench.to_upstream().is_empty());
}

#[tokio::test]
async fn a_receipt_is_asked_of_the_method_and_may_be_refused() {
    fn rule(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        Ok(match (&facts.action, &facts.resource) {
            (Action::ReceiveResult { received }, Resource::Method(method)) => {
                assert_eq!(method.name, "vendor/do");
                if received.bytes > 20 {
                    Verdict::Deny { reasons: vec![] }
                } else {
                    allow()
                }
            }
            _ => allow(),
        })
    }
    let bench = session(rule, |_| {}).await;
    assert!(
        answered(&bench, r#""result":{"x":1}"#)
            .await
            .contains("result")
    );
    let told = answered(&bench, r#""result":{"x":"something that is longer"}"#).await;
    assert!(told.contains("4030") && !told.contains("longer"), "{told}");
}

#[tokio::test]
async fn a_result_can_neither_begin_a_task_nor_ask_for_more() {
    for result in [
        r#"{"resultType":"task","taskId":"t","status":"working"}"#,
        r#"{"resultType":"input_required","inputRequests":{}}"#,
        r#"{"requestState":"s"}"#,
        r#"{"resultType":"other"}"#,
        r#"{"inputRequests":{"k":{"method":"vendor/do","params":{}}}}"#,
    ] {
        let bench = session(open, |_| {}).await;
        let told = answered(&bench, &format!(r#""result":{result}"#)).await;
        assert_eq!(code(&[told]), Some(-32603), "{result}");
    }
}

#[tokio::test]
async fn a_request_that_brings_a_state_or_wants_a_task_begins_no_round_and_no_task() {
    let bench = session(open, |_| {}).await;
    bench
        .agent(&request(1, "vendor/do", r#"{"requestState":"mine"}"#))
        .await;
    assert!(bench.to_upstream().is_empty());
    assert_eq!(bench.to_agent().len(), 1);
    bench
        .agent(&request(2, "vendor/do", r#"{"task":{"ttl":5}}"#))
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    let task = r#"{"task":{"taskId":"t","status":"working"}}"#;
    bench
        .upstream(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{task}}}"#))
        .await;
    bench.to_agent();
    // Nobody has begun it as far as the gate knows.
    bench
        .agent(&request(3, "tasks/get", r#"{"taskId":"t"}"#))
        .await;
    assert!(bench.to_upstream().is_empty());
}

#[tokio::test]
async fn labelled_places_raise_wherever_they_stand_in_what_comes_back() {
    let check = async |member: &str, level: i64| {
        let bench = session(open, |_| {}).await;
        let mut root = Root::at("hr", "/srv/hr").unwrap();
        root.level = 2;
        let labels = Labels {
            roots: Roots::new(vec![root]),
            ..Labels::default()
        };
        bench
            .gate
            .policy
            .publish(snapshot("labelled", open).with_labels(labels));
        if let Some(params) = member.strip_prefix("told ") {
            bench
                .upstream(&notification("notifications/vendor/tell", params))
                .await;
            bench.to_agent();
        } else {
            answered(&bench, member).await;
        }
        let held: Arc<SessionSensitivity> = Arc::clone(&bench.talk.session.state().security.held);
        assert_eq!(held.level, level, "{member}");
    };
    check(r#""result":{"x":"file:///srv/other/a"}"#, 0).await;
    check(r#""result":{"x":"no place at all: none"}"#, 0).await;
    check(r#""result":{"uri":"file:///srv/hr/a"}"#, 2).await;
    check(r#""result":{"x":[{"where":"file:///srv/hr/a"}]}"#, 2).await;
    check(r#""result":{"file:///srv/hr/a":"text"}"#, 2).await;
    check(
        r#""error":{"code":1,"message":"m","data":{"at":"file:///srv/hr/a"}}"#,
        2,
    )
    .await;
    check(r#"told {"x":{"at":"file:///srv/hr/a"}}"#, 2).await;
}

const DEFERRED: &str = r#"{"resultType":"vendor/deferred","ticket":"t-1"}"#;

/// A gate that lists [`METHODS`] and `vendor/deferred`, whose agent has no session and knows a tool `slow`.
async fn listing(rule: Rule, change: impl FnOnce(&mut Settings)) -> Bench {
    let bench = Bench::with(rule, |settings| {
        let types = [ListedType::named("vendor/deferred").unwrap()];
        settings.extensions = listed(&METHODS).with_result_types(types);
        change(settings);
    });
    asks(&bench, "tools/list", "").await;
    replies(
        &bench,
        r#"{"resultType":"complete","tools":[{"name":"slow","inputSchema":{}}]}"#,
    )
    .await;
    bench
}

async fn asks(bench: &Bench, method: &str, params: &str) {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"sampling":{}}}"#;
    bench
        .agent(&request(1, method, &format!("{{{params}{meta}}}")))
        .await;
}

/// The server answers what was asked last; yields what the agent gets.
async fn replies(bench: &Bench, result: &str) -> String {
    let id = id_of(&bench.to_upstream()[0]);
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
        ))
        .await;
    bench.to_agent().remove(0)
}

#[tokio::test]
async fn a_result_of_a_listed_type_passes_where_results_may_have_one() {
    let bench = listing(open, |_| {}).await;
    let passed = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{DEFERRED}}}"#);
    for (method, params) in [
        ("tools/call", r#""name":"slow","arguments":{},"#),
        ("prompts/get", r#""name":"p","#),
        ("resources/read", r#""uri":"file:///a","#),
        ("vendor/do", ""),
    ] {
        asks(&bench, method, params).await;
        assert_eq!(replies(&bench, DEFERRED).await, passed, "{method}");
        for other in ["vendor/Deferred", "other", ""] {
            asks(&bench, method, params).await;
            let other = DEFERRED.replace("vendor/deferred", other);
            let told = replies(&bench, &other).await;
            assert_eq!(code(&[told]), Some(-32603), "{method} {other}");
        }
    }
    // The gate has to know what these are.
    for method in ["tools/list", "resources/list"] {
        asks(&bench, method, "").await;
        let told = replies(&bench, DEFERRED).await;
        assert_eq!(code(&[told]), Some(-32603), "{method}");
    }
}

#[tokio::test]
async fn a_session_has_no_results_of_a_listed_type() {
    let bench = session(open, |settings| {
        let types = [ListedType::named("vendor/deferred").unwrap()];
        settings.extensions = listed(&METHODS).with_result_types(types);
    })
    .await;
    let told = answered(&bench, &format!(r#""result":{DEFERRED}"#)).await;
    assert_eq!(code(&[told]), Some(-32603));
}

#[tokio::test]
async fn a_result_of_a_listed_type_is_judged_and_searched_like_every_other() {
    fn rule(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        Ok(match &facts.action {
            Action::ReceiveResult { received } if received.bytes > 400 => Verdict::Abstain,
            Action::Sample { .. } => Verdict::Abstain,
            _ => allow(),
        })
    }
    let call = r#""name":"slow","arguments":{},"#;
    let with = |member: &str| DEFERRED.replace(r#""ticket""#, &format!(r#"{member},"ticket""#));
    let clean = |settings: &mut Settings| settings.terms.guards.texts.content = Cleaning::Clean;
    let bench = listing(rule, clean).await;
    let long = with(&format!(r#""x":"{}""#, "x".repeat(400)));
    let sample = with(
        r#""inputRequests":{"k":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}}"#,
    );
    for refused in [long, sample] {
        asks(&bench, "tools/call", call).await;
        let told = replies(&bench, &refused).await;
        assert!(told.contains("error") && !told.contains("t-1"), "{told}");
    }
    asks(&bench, "tools/call", call).await;
    let told = replies(&bench, &with(r#""x":["see\u200b this"]"#)).await;
    assert!(told.contains("see this"), "{told}");

    // The gate does not know where it names something.
    let mut root = Root::at("hr", "/srv/hr").unwrap();
    root.level = 2;
    let labels = Labels {
        roots: Roots::new(vec![root]),
        ..Labels::default()
    };
    let labelled = snapshot("labelled", open).with_labels(labels);
    bench.gate.policy.publish(labelled);
    asks(&bench, "tools/call", call).await;
    replies(&bench, &with(r#""x":{"where":"file:///srv/hr/a"}"#)).await;
    let held: Arc<SessionSensitivity> = Arc::clone(&bench.talk.session.state().security.held);
    assert_eq!(held.level, 2);
}
