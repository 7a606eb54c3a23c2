//! Calls that wait for the list of tools have a deadline like every other.

use super::*;
use crate::gate::UpstreamFault;

/// A gate whose call waits for a list that does not come; the list is asked for under this id.
async fn waiting(change: impl FnOnce(&mut Settings)) -> (Bench, String) {
    let bench = Bench::with(open, change);
    bench.shake_hands().await;
    bench.agent(&call("1", "echo")).await;
    let asked = id_of(&bench.to_upstream()[0]);
    (bench, asked)
}

fn listed(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"echo","inputSchema":{{}}}}]}}}}"#
    )
}

#[tokio::test]
async fn a_call_that_waits_for_a_list_runs_out_of_its_tools_time_and_is_answered_once() {
    let (bench, asked) = waiting(|settings| {
        let tool = ("echo".to_owned(), Duration::from_secs(5));
        settings.terms.tool_timeouts.extend([tool]);
    })
    .await;
    let until = bench
        .talk
        .session
        .until_next_deadline(bench.gate.elapsed())
        .unwrap();
    assert_eq!(until, Duration::from_secs(5), "nobody sleeps longer");
    bench.clock.advance(Duration::from_millis(4_999));
    bench.gate.expire(&bench.talk).await.unwrap();
    assert_eq!(bench.to_agent(), Vec::<String>::new());
    bench.clock.advance(Duration::from_millis(1));
    bench.gate.expire(&bench.talk).await.unwrap();
    let answers = bench.to_agent();
    assert_eq!(answers.len(), 1);
    assert!(
        answers[0].starts_with(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the upstream server did not answer within 5000 ms""#),
        "{answers:?}"
    );
    let calls = bench.records_of("tool_call").await;
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].get(&["decision"]), "ERROR");
    assert_eq!(calls[0].get(&["reason", "code"]), "timeout");
    assert_eq!(calls[0].get(&["target"]), "echo");
    assert!(
        calls[0].text().contains("arguments_digest"),
        "{}",
        calls[0].text()
    );
    // The list comes too late, and the id is free again.
    bench.upstream(&listed(&asked)).await;
    assert_eq!(bench.to_upstream(), Vec::<String>::new());
    bench.agent(&call("1", "echo")).await;
    assert_eq!(bench.to_upstream().len(), 1);
}

#[tokio::test]
async fn the_time_that_a_call_waited_for_a_list_is_part_of_its_own() {
    let (bench, asked) = waiting(|_| {}).await;
    bench.clock.advance(Duration::from_secs(59));
    bench.upstream(&listed(&asked)).await;
    assert_eq!(bench.to_upstream().len(), 1);
    bench.clock.advance(Duration::from_secs(1));
    bench.gate.expire(&bench.talk).await.unwrap();
    assert_eq!(bench.to_agent().len(), 1);
}

#[tokio::test]
async fn a_call_whose_time_is_over_when_the_list_comes_is_not_sent() {
    let (bench, asked) = waiting(|settings| {
        let tool = ("echo".to_owned(), Duration::from_secs(5));
        settings.terms.tool_timeouts.extend([tool]);
    })
    .await;
    bench.clock.advance(Duration::from_secs(5));
    bench.upstream(&listed(&asked)).await;
    assert_eq!(bench.to_upstream(), Vec::<String>::new());
    assert!(bench.to_agent()[0].contains("5000 ms"));
}

#[tokio::test]
async fn a_call_that_was_cancelled_while_it_waited_gets_no_answer_when_its_time_is_over() {
    let (bench, _) = waiting(|_| {}).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
        .await;
    bench.clock.advance(Duration::from_mins(1));
    bench.gate.expire(&bench.talk).await.unwrap();
    bench.gate.resume(&bench.talk).await.unwrap();
    assert_eq!(bench.to_agent(), Vec::<String>::new());
    let calls = bench.records_of("tool_call").await;
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].get(&["reason", "code"]), "cancelled");
}

#[tokio::test]
async fn when_nobody_waits_any_more_no_further_page_is_asked_for() {
    let (bench, asked) = waiting(|settings| {
        let tool = ("echo".to_owned(), Duration::from_secs(5));
        settings.terms.tool_timeouts.extend([tool]);
    })
    .await;
    bench.clock.advance(Duration::from_secs(5));
    bench.gate.expire(&bench.talk).await.unwrap();
    bench.to_agent();
    let page =
        format!(r#"{{"jsonrpc":"2.0","id":{asked},"result":{{"tools":[],"nextCursor":"2"}}}}"#);
    bench.upstream(&page).await;
    assert_eq!(bench.to_upstream(), Vec::<String>::new());
    // The next call begins anew.
    bench.agent(&call("2", "echo")).await;
    assert!(!bench.to_upstream()[0].contains("cursor"));
}

#[tokio::test]
async fn calls_that_wait_for_a_list_when_the_conversation_ends_are_answered_and_not_judged() {
    const STATELESS: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"name":"echo","arguments":{"a":1}}}"#;
    let isolating =
        |settings: &mut Settings| settings.thresholds = crate::session::Thresholds::new([3]);
    let in_a_session = waiting(isolating).await.0;
    let without_one = Bench::with(open, isolating);
    without_one.agent(STATELESS).await;
    assert_eq!(without_one.to_upstream().len(), 1, "the list is asked for");
    for bench in [in_a_session, without_one] {
        // Whoever judged it now would first move the session, and wait for a handshake.
        bench.raise(3);
        Box::pin(
            bench
                .gate
                .conversation_ends(&bench.talk, &UpstreamFault::SessionOver),
        )
        .await
        .unwrap();
        let answers = bench.to_agent();
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert!(answers[0].contains(r#""id":1,"#), "{answers:?}");
        assert!(answers[0].contains("the session has ended"), "{answers:?}");
        assert_eq!(bench.to_upstream(), Vec::<String>::new());
        assert!(bench.talk.session.is_idle());
        let calls = bench.records_of("tool_call").await;
        assert_eq!(calls.len(), 1);
        assert_eq!(calls[0].get(&["decision"]), "ERROR");
        assert_eq!(calls[0].get(&["target"]), "echo");
    }
}
