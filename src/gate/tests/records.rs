//! What records say of messages that did not pass, and of who sent them.

use super::*;
use crate::policy::{PolicyId, PolicyOrigin, Reason};
use crate::session::Ids;
use crate::wire::Stream;

fn meta(client: &str) -> String {
    let client = match client {
        "" => String::new(),
        name => {
            format!(r#","io.modelcontextprotocol/clientInfo":{{"name":"{name}","version":"1"}}"#)
        }
    };
    format!(
        r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}{client}}}"#
    )
}

#[tokio::test]
async fn each_record_names_the_client_of_its_own_message() {
    let bench = Bench::new(open).with_ids(Ids::OfStream);
    for (number, client) in [(11, "first"), (12, "second"), (13, "")] {
        let asks = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{{{}}}}}"#,
            meta(client)
        );
        bench.agent_on(Stream::numbered(number), &asks).await;
        // Refused before it has a place.
        let unknown = asks.replace("resources/list", "x/unknown");
        bench
            .agent_on(Stream::numbered(number + 10), &unknown)
            .await;
    }
    for line in bench.to_upstream().iter().rev() {
        bench
            .upstream(&format!(
                r#"{{"jsonrpc":"2.0","id":{},"result":{{"resultType":"complete","resources":[]}}}}"#,
                id_of(line)
            ))
            .await;
    }
    let named = async |kind: &str| {
        let records = bench.records_of(kind).await;
        let named = records.iter().map(|it| it.get(&["agent", "asserted_name"]));
        named.collect::<Vec<_>>()
    };
    let asked = ["first", "first", "second", "second", "agent-1", "agent-1"];
    assert_eq!(named("request").await, asked);
    assert_eq!(named("gate_decision").await, ["agent-1", "second", "first"]);
}

#[tokio::test]
async fn a_session_that_says_nothing_of_itself_is_told_by_its_number() {
    let mut bench = Bench::new(open);
    let session = Arc::into_inner(bench.talk.session).unwrap().numbered(7);
    bench.talk = Talk::new(session, Recorder::default(), Recorder::default());
    bench
        .agent(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
        .await;
    let records = bench.records().await;
    assert_eq!(records[0].get(&["agent", "asserted_name"]), "agent-7");
    // In a session, a message does not say otherwise than its handshake.
    let bench = Bench::ready(open, &["echo"]).await;
    let asks = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{{{}}}}}"#,
        meta("other")
    );
    bench.agent(&asks).await;
    let records = bench.records_of("request").await;
    assert_eq!(
        records.last().unwrap().get(&["agent", "asserted_name"]),
        "tester"
    );
}

#[tokio::test]
async fn a_request_whose_id_is_taken_is_told_with_what_it_names() {
    let bench = Bench::ready(open, &["echo"]).await;
    bench.agent(&call("1", "echo")).await;
    bench.agent(&call("1", "echo")).await;
    let read = r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"notes://a"}}"#;
    bench.agent(read).await;
    let calls = bench.records_of("tool_call").await;
    assert_eq!(calls[1].get(&["reason", "code"]), "duplicate_request_id");
    assert_eq!(calls[1].get(&["target"]), "echo");
    let records = bench.records().await;
    assert_eq!(records.last().unwrap().get(&["target"]), "notes://a");
}

/// The code that a record has.
fn code(record: &Entry) -> Option<i64> {
    record.0.root().get("error_code")?.as_i64()
}

#[tokio::test]
async fn the_code_of_a_record_is_the_one_that_was_answered() {
    let bench = Bench::ready(guarded, &["echo", "denied_one"]).await;
    let answered = |told: &[String]| {
        let told = Message::decode(told[0].as_bytes(), &Limits::default()).unwrap();
        told.error().unwrap().get("code").unwrap().as_i64()
    };
    // A server that asks hears of no policy.
    bench
        .upstream(r#"{"jsonrpc":"2.0","id":5,"method":"roots/list"}"#)
        .await;
    let told = answered(&bench.to_upstream());
    assert_eq!(told, Some(-32_601));
    assert_eq!(code(&bench.records_of("server_request").await[0]), told);
    // Who waits for a reply that is refused hears of no fault of its own.
    bench.agent(&call("1", "echo")).await;
    let id = id_of(&bench.to_upstream()[0]);
    bench
        .upstream(&format!(r#"{{"jsonrpc":"1.0","id":{id},"result":{{}}}}"#))
        .await;
    let told = answered(&bench.to_agent());
    assert_eq!(told, Some(-32_603));
    assert_eq!(code(&bench.records_of("tool_result").await[0]), told);
    // What runs out of time is answered, and what is cancelled or asks for nothing is not.
    bench.agent(&call("2", "echo")).await;
    bench.clock.advance(Duration::from_mins(2));
    bench.gate.expire(&bench.talk).await.unwrap();
    let told = answered(&bench.to_agent());
    assert_eq!(
        code(bench.records_of("tool_result").await.last().unwrap()),
        told
    );
    bench.agent(&call("3", "echo")).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#)
        .await;
    assert_eq!(
        code(bench.records_of("tool_result").await.last().unwrap()),
        None
    );
    bench
        .upstream(r#"{"jsonrpc":"2.0","id":77,"result":{}}"#)
        .await;
    let stray = bench.records().await.pop().unwrap();
    assert_eq!(
        (stray.get(&["reason", "code"]), code(&stray)),
        ("stray".to_owned(), None)
    );
    bench.agent(&call("4", "denied_one")).await;
    let told = answered(&bench.to_agent());
    assert_eq!(
        code(bench.records_of("tool_call").await.last().unwrap()),
        told
    );
}

#[tokio::test]
async fn operators_are_told_that_a_hidden_tool_is_not_permitted() {
    let bench = Bench::ready(guarded, &["hidden_one"]).await;
    for tool in ["hidden_one", "hidden_two"] {
        bench.agent(&call("1", tool)).await;
        let told = bench.to_agent().remove(0);
        assert!(told.contains(&format!("Unknown tool: {tool}")), "{told}");
        let record = bench.records_of("tool_call").await.pop().unwrap();
        let text = record.get(&["reason", "text"]);
        assert!(text.starts_with(&format!("forbidden: {tool}")), "{text}");
    }
    let silent: Rule = |facts| {
        Ok(match &facts.action {
            Action::CallTool { .. } => Verdict::Abstain,
            _ => allow(),
        })
    };
    let bench = Bench::ready(silent, &["hidden_one"]).await;
    bench.agent(&call("1", "hidden_one")).await;
    let record = bench.records_of("tool_call").await.pop().unwrap();
    assert_eq!(record.get(&["reason", "code"]), "not_permitted");
    let text = record.get(&["reason", "text"]);
    assert!(text.starts_with("not permitted: hidden_one"), "{text}");
}

fn reason() -> Reason {
    Reason {
        policy: PolicyId::new("all"),
        origin: PolicyOrigin {
            file: "p.cedar".into(),
            line: 1,
        },
        code: None,
        advice: None,
        on_deny: None,
    }
}

#[tokio::test]
async fn a_policy_that_answers_several_questions_is_named_once() {
    let named: Rule = |_| {
        Ok(Verdict::Allow {
            reasons: vec![reason(), reason()],
            obligations: vec![],
        })
    };
    let bench = Bench::new(named);
    let asks = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{{"notifications":{{"resourceSubscriptions":["a:1","a:2"]}},{}}}}}"#,
        meta("c")
    );
    bench.agent(&asks).await;
    let record = bench.records_of("request").await.pop().unwrap();
    assert!(
        record.text().contains(r#""policies":["all"]"#),
        "{}",
        record.text()
    );
}
