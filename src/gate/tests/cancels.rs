//! Cancellations that are refused: what they name goes on.

use secrecy::SecretString;

use super::*;

const SECRET: &str = "CANARY-1234567890";

fn cancel(rest: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{{rest}}}}}"#)
}

async fn with_a_secret() -> Bench {
    let bench = Bench::with(open, |settings| {
        let secret = SecretString::from(SECRET.to_owned());
        settings.secrets = Redactor::new([&secret]).unwrap();
    });
    bench.shake_hands().await;
    bench.list(&["slow"]).await;
    bench
}

#[tokio::test]
async fn a_request_whose_cancellation_is_refused_is_answered_and_has_its_outcome() {
    let bench = with_a_secret().await;
    bench.agent(&call("1", "slow")).await;
    let minted = id_of(&bench.to_upstream()[0]);
    // A secret in a key cannot be replaced.
    bench
        .agent(&cancel(&format!(r#""requestId":1,"{SECRET}":1"#)))
        .await;
    assert_eq!(bench.to_upstream(), Vec::<String>::new());
    bench.upstream(&result(&minted)).await;
    assert_eq!(bench.to_agent(), [result("1")]);
    let outcomes = bench.records_of("tool_result").await;
    assert_eq!(outcomes.len(), 1);
    assert_eq!(outcomes[0].get(&["decision"]), "ALLOW");
}

#[tokio::test]
async fn a_cancellation_that_cannot_be_recorded_ends_nothing() {
    let bench = Bench::ready(open, &["slow"]).await;
    bench.agent(&call("1", "slow")).await;
    let minted = id_of(&bench.to_upstream()[0]);
    bench.audit.close(Duration::from_secs(5)).await.unwrap();
    bench.agent(&cancel(r#""requestId":1"#)).await;
    assert_eq!(bench.to_upstream(), Vec::<String>::new());
    bench.upstream(&result(&minted)).await;
    let answers = bench.to_agent();
    assert!(answers[0].contains("cannot record"), "{answers:?}");
    assert_eq!(answers.len(), 1);
}

#[tokio::test]
async fn what_a_server_asked_is_answered_when_its_own_cancellation_is_refused() {
    let bench = Bench::ready(open, &["slow"]).await;
    bench
        .upstream(r#"{"jsonrpc":"2.0","id":"s","method":"ping"}"#)
        .await;
    let minted = id_of(&bench.to_agent()[0]);
    let stray = r#""requestId":"s","_meta":{"io.modelcontextprotocol/subscriptionId":99}"#;
    bench.upstream(&cancel(stray)).await;
    assert_eq!(bench.to_agent(), Vec::<String>::new());
    bench
        .agent(&format!(
            r#"{{"jsonrpc":"2.0","id":{minted},"result":{{}}}}"#
        ))
        .await;
    assert_eq!(
        bench.to_upstream(),
        [r#"{"jsonrpc":"2.0","id":"s","result":{}}"#]
    );
}

#[tokio::test]
async fn a_stream_that_its_server_ends_by_its_own_id_is_ended_for_the_agent() {
    let bench = Bench::new(open);
    bench.agent(r#"{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#).await;
    let minted = id_of(&bench.to_upstream()[0]);
    let ending = |id: &str| {
        cancel(&format!(
            r#""requestId":{id},"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}"#
        ))
    };
    bench.upstream(&ending(&minted)).await;
    assert_eq!(bench.to_agent(), [ending("\"sub\"")]);
    assert!(bench.talk.session.state().waiting.to_upstream.is_empty());
}

#[tokio::test]
async fn a_server_hears_of_what_it_works_on_when_the_conversation_ends() {
    let bench = Bench::ready(open, &["slow"]).await;
    bench.agent(&call("1", "slow")).await;
    bench.agent(&call("2", "slow")).await;
    let minted: Vec<String> = bench.to_upstream().iter().map(|line| id_of(line)).collect();
    // What is answered is not cancelled.
    bench.upstream(&result(&minted[0])).await;
    bench.to_agent();
    bench.gate.call_off(&bench.talk).await;
    let cancelled = bench.to_upstream();
    assert_eq!(
        cancelled,
        [cancel(&format!(
            r#""requestId":{},"reason":"the session has ended""#,
            minted[1]
        ))]
    );
    let over = UpstreamFault::SessionOver;
    bench
        .gate
        .conversation_ends(&bench.talk, &over)
        .await
        .unwrap();
    // Once, and its asker is answered.
    assert_eq!(bench.to_upstream(), Vec::<String>::new());
    assert_eq!(bench.to_agent().len(), 1);
    let own = bench.records_of("notification").await;
    let own = own
        .iter()
        .filter(|it| it.get(&["reason", "code"]) == "gate_initiated");
    assert_eq!(own.count(), 1);
    assert_eq!(bench.records_of("tool_result").await.len(), 2);
}

#[tokio::test]
async fn a_handshake_is_not_cancelled_when_the_conversation_ends_nor_a_server_that_is_not_up() {
    let bench = Bench::new(open);
    bench.agent(INITIALIZE).await;
    bench.to_upstream();
    bench.gate.call_off(&bench.talk).await;
    assert_eq!(bench.to_upstream(), Vec::<String>::new());
    let bench = Bench::ready(open, &["slow"]).await;
    bench.agent(&call("1", "slow")).await;
    bench.to_upstream();
    bench.talk.session.state().connection.upstream = crate::session::Readiness::Down;
    bench.gate.call_off(&bench.talk).await;
    assert_eq!(bench.to_upstream(), Vec::<String>::new());
}
