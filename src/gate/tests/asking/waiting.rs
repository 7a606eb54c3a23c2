//! Calls that wait until the agent's model has worked for the server.

use std::future::ready;

use super::*;
use crate::gate::UpstreamFault;

const SAMPLE: &str = r#"{"jsonrpc":"2.0","id":"$","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#;

/// The server asks for a sample under this id; yields the agent's id for it.
async fn sample(bench: &Bench, id: &str) -> String {
    bench.upstream(&SAMPLE.replace('$', id)).await;
    let asked = bench.to_agent();
    assert_eq!(asked.len(), 1, "{asked:?}");
    id_of(&asked[0])
}

/// The agent answers with its model; yields what then reaches the server beside that.
async fn sampled(bench: &Bench, id: &str) -> Vec<String> {
    bench
        .agent(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"role":"assistant","content":{{}},"model":"m"}}}}"#
        ))
        .await;
    assert_eq!(bench.to_upstream().len(), 1);
    go_on(bench).await;
    bench.to_upstream()
}

/// Judges what waits, if it was said that it may go on.
async fn go_on(bench: &Bench) {
    if may_go_on(bench).await {
        Box::pin(bench.gate.resume(&bench.talk)).await.unwrap();
    }
}

async fn may_go_on(bench: &Bench) -> bool {
    tokio::select! {
        biased;
        () = bench.talk.session.until_parked_may_go_on() => true,
        () = ready(()) => false,
    }
}

/// A call is made while the agent's model works.
async fn waiting(change: impl FnOnce(&mut Settings)) -> (Bench, String) {
    let bench = with(r#"{"sampling":{}}"#, change).await;
    let id = sample(&bench, "q").await;
    bench.agent(&call("1", "write")).await;
    assert_eq!(bench.to_upstream(), [""; 0]);
    assert_eq!(bench.to_agent(), [""; 0]);
    assert!(!may_go_on(&bench).await);
    (bench, id)
}

/// The same call, with five minutes of time.
async fn waiting_long() -> Bench {
    let (bench, _) = waiting(|settings| {
        let tool = ("write".to_owned(), Duration::from_mins(5));
        settings.terms.tool_timeouts.extend([tool]);
    })
    .await;
    bench
}

/// The same, after the server has taken its question back.
async fn called_back() -> Bench {
    let bench = waiting_long().await;
    bench
        .upstream(
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}"#,
        )
        .await;
    bench.to_agent();
    bench
}

#[tokio::test]
async fn calls_of_tools_that_sample_are_all_made_one_after_the_other() {
    let bench = with(r#"{"sampling":{}}"#, |_| {}).await;
    bench.agent(&call("1", "write")).await;
    let mut at_the_server = bench.to_upstream();
    let mut id = sample(&bench, "q1").await;
    for next in 2..=6 {
        bench.agent(&call(&next.to_string(), "write")).await;
    }
    assert_eq!(bench.to_upstream(), [""; 0]);
    // Replies and whatever changes nothing pass meanwhile.
    bench
        .agent(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#)
        .await;
    assert_eq!(bench.to_upstream().len(), 1);
    let mut answered = 0;
    while let Some(made) = at_the_server.pop() {
        at_the_server.extend(sampled(&bench, &id).await);
        bench.upstream(&result(&id_of(&made))).await;
        answered += bench.to_agent().len();
        if !at_the_server.is_empty() {
            id = sample(&bench, "q").await;
        }
    }
    assert_eq!(answered, 6);
    let records = bench.records_of("tool_call").await;
    assert_eq!(records.len(), 6);
    assert!(records.iter().all(|it| it.get(&["decision"]) == "ALLOW"));
}

#[tokio::test]
async fn a_call_waits_for_the_model_as_long_as_it_may_take_and_is_then_refused_with_the_reason() {
    let (bench, _) = waiting(|settings| {
        let tool = ("write".to_owned(), Duration::from_secs(5));
        settings.terms.tool_timeouts.extend([tool]);
    })
    .await;
    bench.clock.advance(Duration::from_secs(5));
    Box::pin(bench.gate.expire(&bench.talk)).await.unwrap();
    let told = bench.to_agent();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains(r#""code":4030"#) && told[0].contains("blocked_during_sampling"),
        "{told:?}"
    );
    let records = bench.records_of("tool_call").await;
    assert_eq!(records.len(), 1);
    assert_eq!(
        records[0].get(&["reason", "code"]),
        "blocked_during_sampling"
    );
}

#[tokio::test]
async fn a_call_that_waits_for_the_model_can_be_cancelled() {
    let (bench, id) = waiting(|_| {}).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
        .await;
    assert_eq!(sampled(&bench, &id).await, [""; 0]);
    assert_eq!(bench.to_agent(), [""; 0]);
    let records = bench.records_of("tool_call").await;
    assert_eq!(records[0].get(&["reason", "code"]), "cancelled");
}

#[tokio::test]
async fn what_waited_for_the_model_is_judged_by_the_policies_of_then() {
    let (bench, id) = waiting(|_| {}).await;
    let closed: Rule = |_| Ok(Verdict::Abstain);
    bench.gate.policy.publish(snapshot("closed", closed));
    assert_eq!(sampled(&bench, &id).await, [""; 0]);
    let told = bench.to_agent();
    assert_eq!(told.len(), 1, "{told:?}");
    let records = bench.records_of("tool_call").await;
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].get(&["decision"]), "BLOCK");
}

#[tokio::test]
async fn not_more_calls_wait_for_the_model_than_may_be_in_flight() {
    let (bench, _) = waiting(|settings| settings.terms.max_in_flight = 2).await;
    bench.agent(&call("2", "write")).await;
    assert_eq!(bench.to_agent(), [""; 0]);
    bench.agent(&call("3", "write")).await;
    let told = bench.to_agent();
    assert!(told[0].contains(r#""id":3,"error""#), "{told:?}");
    // The id of one that waits is taken.
    bench.agent(&call("2", "write")).await;
    assert_eq!(bench.to_agent().len(), 1);
}

#[tokio::test]
async fn a_call_goes_on_when_the_model_counts_as_done_though_nothing_is_said() {
    let bench = waiting_long().await;
    let next = || {
        let session = &bench.talk.session;
        session.until_next_deadline(bench.gate.elapsed()).unwrap()
    };
    // The agent has not answered within its time, and has as long again.
    assert_eq!(next(), Duration::from_mins(1));
    for goes_on in [false, true] {
        bench.clock.advance(Duration::from_mins(1));
        Box::pin(bench.gate.expire(&bench.talk)).await.unwrap();
        bench.to_upstream();
        assert_eq!(may_go_on(&bench).await, goes_on);
        if !goes_on {
            assert_eq!(next(), Duration::from_mins(1));
        }
    }
    Box::pin(bench.gate.resume(&bench.talk)).await.unwrap();
    assert_eq!(bench.to_upstream().len(), 1);
}

#[tokio::test]
async fn a_server_that_takes_its_question_back_holds_calls_until_its_time_is_over() {
    let bench = called_back().await;
    assert!(bench.talk.session.state().awaits_model());
    bench.clock.advance(Duration::from_mins(1));
    Box::pin(bench.gate.expire(&bench.talk)).await.unwrap();
    go_on(&bench).await;
    assert_eq!(bench.to_upstream().len(), 1);
}

#[tokio::test]
async fn a_question_that_is_over_wakes_nothing_while_another_is_open() {
    let bench = called_back().await;
    bench.clock.advance(Duration::from_secs(30));
    sample(&bench, "r").await;
    bench.clock.advance(Duration::from_secs(30));
    Box::pin(bench.gate.expire(&bench.talk)).await.unwrap();
    assert!(!may_go_on(&bench).await);
    let session = &bench.talk.session;
    let next = session.until_next_deadline(bench.gate.elapsed());
    assert_eq!(next, Some(Duration::from_secs(30)));
}

#[tokio::test]
async fn what_waits_for_a_model_that_is_not_heard_any_more_is_refused_and_nothing_else() {
    let (bench, _) = waiting(|_| {}).await;
    bench.gate.hears_no_more(&bench.talk).await.unwrap();
    let told = bench.to_agent();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("blocked_during_sampling"), "{told:?}");
    assert!(bench.talk.session.state().waiting.parked.is_empty());

    let bench = Bench::new(open);
    bench.shake_hands().await;
    bench.agent(&call("1", "echo")).await;
    bench.gate.hears_no_more(&bench.talk).await.unwrap();
    assert_eq!(bench.to_agent(), [""; 0]);
    assert_eq!(bench.talk.session.state().waiting.parked.len(), 1);
}

#[tokio::test]
async fn a_call_that_waits_for_the_model_when_the_conversation_ends_is_answered_once() {
    let (bench, _) = waiting(|_| {}).await;
    let over = UpstreamFault::SessionOver;
    Box::pin(bench.gate.conversation_ends(&bench.talk, &over))
        .await
        .unwrap();
    let told = bench.to_agent();
    let answers = told.iter().filter(|it| it.contains(r#""id":1,"error""#));
    assert_eq!(answers.count(), 1, "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn calls_go_on_when_there_was_no_memory_for_what_the_model_said() {
    let (bench, id) = waiting(|_| {}).await;
    let (bench, rooms) = crate::gate::tests::scarce::scarce(bench);
    crate::gate::tests::scarce::leave(&rooms, 0);
    bench
        .agent(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"role":"assistant","content":{{}},"model":"m"}}}}"#
        ))
        .await;
    let told = bench.to_upstream();
    assert!(told[0].contains(r#""id":"q","error""#), "{told:?}");
    crate::gate::tests::scarce::leave(&rooms, usize::MAX);
    go_on(&bench).await;
    assert!(bench.to_upstream()[0].contains("tools/call"));
}
