//! How long the agent's model counts as working for the server.

use super::*;

const TASKS: &str = r#"{"sampling":{},"tasks":{"requests":{"sampling":{"createMessage":{}}}}}"#;

/// A sample is asked for under `q`; yields the id under which the agent knows it.
async fn sample(bench: &Bench, more: &str) -> String {
    bench
        .upstream(&format!(r#"{{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{{"messages":[],"maxTokens":1{more}}}}}"#))
        .await;
    let asked = bench.to_agent();
    assert_eq!(asked.len(), 1, "{asked:?}");
    id_of(&asked[0])
}

/// Whether a call that changes something is held.
async fn holds(bench: &Bench) -> bool {
    bench.agent(&call("7", "write")).await;
    let (sent, told) = (bench.to_upstream(), bench.to_agent());
    let Some(sent) = sent.first() else {
        assert!(told[0].contains("while_sampling"), "{told:?}");
        return true;
    };
    bench.upstream(&result(&id_of(sent))).await;
    bench.to_agent();
    false
}

async fn becomes_a_task(status: &str) -> Bench {
    let bench = with(TASKS, |_| {}).await;
    let id = sample(&bench, r#","task":{"ttl":90000}"#).await;
    bench
        .agent(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"task":{{"taskId":"t","status":"{status}","ttl":90000}}}}}}"#))
        .await;
    bench.to_upstream();
    bench
}

/// The server asks about the task, and the agent answers.
async fn told(bench: &Bench, method: &str, answer: &str) {
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":"g","method":"{method}","params":{{"taskId":"t"}}}}"#
        ))
        .await;
    let id = id_of(&bench.to_agent()[0]);
    bench
        .agent(&format!(r#"{{"jsonrpc":"2.0","id":{id},{answer}}}"#))
        .await;
    bench.to_upstream();
}

#[tokio::test]
async fn a_sample_that_became_a_task_holds_calls_until_the_task_has_ended() {
    let result = r#""result":{"role":"assistant","content":{},"model":"m"}"#;
    let working = r#""result":{"taskId":"t","status":"working"}"#;
    let done = r#""result":{"taskId":"t","status":"completed"}"#;
    let cancelled = r#""result":{"taskId":"t","status":"cancelled"}"#;
    for (method, answer, ends) in [
        ("tasks/get", working, false),
        ("tasks/get", done, true),
        ("tasks/result", result, true),
        ("tasks/cancel", cancelled, true),
        ("tasks/cancel", working, false),
        (
            "tasks/get",
            r#""error":{"code":-1,"message":"busy"}"#,
            false,
        ),
    ] {
        let bench = becomes_a_task("working").await;
        assert!(holds(&bench).await);
        told(&bench, method, answer).await;
        assert_eq!(holds(&bench).await, !ends, "{method} {answer}");
    }
    let bench = becomes_a_task("working").await;
    for (status, held) in [("working", true), ("failed", false)] {
        bench
            .agent(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{{"taskId":"t","status":"{status}"}}}}"#))
            .await;
        bench.to_upstream();
        assert_eq!(holds(&bench).await, held, "{status}");
    }
    // Of which nothing is heard.
    let bench = becomes_a_task("working").await;
    bench.clock.advance(Duration::from_secs(89));
    assert!(holds(&bench).await);
    bench.clock.advance(Duration::from_secs(1));
    assert!(!holds(&bench).await);
    assert!(!holds(&becomes_a_task("completed").await).await);
}

#[tokio::test]
async fn a_server_that_takes_its_sample_back_does_not_let_calls_pass_by_it() {
    let cancel =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}"#;
    let late =
        |id: &str, result: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    let bench = with(TASKS, |_| {}).await;
    let id = sample(&bench, "").await;
    bench.upstream(cancel).await;
    bench.to_agent();
    assert!(holds(&bench).await);
    bench.agent(&late(&id, r#"{"task":{"taskId":"t"}}"#)).await;
    bench.to_agent();
    assert!(holds(&bench).await, "it goes on");
    bench.agent(&late(&id, r#"{"role":"assistant"}"#)).await;
    bench.to_agent();
    assert!(!holds(&bench).await);
    // An agent that heeds a cancellation says nothing.
    sample(&bench, "").await;
    bench.upstream(cancel).await;
    bench.to_agent();
    bench.clock.advance(Duration::from_secs(59));
    assert!(holds(&bench).await);
    bench.clock.advance(Duration::from_secs(1));
    assert!(!holds(&bench).await);
}

#[tokio::test]
async fn a_sample_whose_time_is_over_holds_calls_as_long_again() {
    let bench = with(TASKS, |_| {}).await;
    sample(&bench, "").await;
    bench.clock.advance(Duration::from_mins(1));
    Box::pin(bench.gate.expire(&bench.talk)).await.unwrap();
    bench.to_agent();
    bench.to_upstream();
    assert!(holds(&bench).await);
    bench.clock.advance(Duration::from_secs(59));
    assert!(holds(&bench).await);
    bench.clock.advance(Duration::from_secs(1));
    assert!(!holds(&bench).await);
}
