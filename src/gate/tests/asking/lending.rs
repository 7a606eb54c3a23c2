//! How long the agent's model counts as working for the server.

use super::*;

const TASKS: &str =
    r#"{"sampling":{},"tasks":{"cancel":{},"requests":{"sampling":{"createMessage":{}}}}}"#;

/// A sample is asked for under `q`; yields the id under which the agent knows it.
async fn sample(bench: &Bench, more: &str) -> String {
    bench
        .upstream(&format!(r#"{{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{{"messages":[],"maxTokens":1{more}}}}}"#))
        .await;
    let asked = bench.to_agent();
    assert_eq!(asked.len(), 1, "{asked:?}");
    id_of(&asked[0])
}

/// The last call waits, and is forgotten.
fn assert_waits(bench: &Bench, told: &[String]) {
    assert_eq!(told, [""; 0]);
    let mut state = bench.talk.session.state();
    assert!(state.awaits_model());
    state.waiting.parked.pop_back();
}

/// Whether a call that changes something is held.
async fn holds(bench: &Bench) -> bool {
    bench.agent(&call("7", "write")).await;
    let (sent, told) = (bench.to_upstream(), bench.to_agent());
    let Some(sent) = sent.first() else {
        assert_waits(bench, &told);
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

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"sampling":{},"elicitation":{}}}"#;

/// A call of an agent without a session.
fn stateless(id: &str, tool: &str, more: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{}}{more},{META}}}}}"#
    )
}

/// Agents without sessions, that have this in common and have listed their tools.
async fn in_common(whose: crate::session::Whose) -> Bench {
    let mut bench = Bench::new(open);
    let session = Arc::into_inner(bench.talk.session).unwrap();
    bench.talk.session = Arc::new(session.reading_as(whose));
    let bench = bench.with_ids(crate::session::Ids::OfStream);
    bench
        .agent(&format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"tools/list","params":{{{META}}}}}"#
        ))
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","tools":[{{"name":"write","inputSchema":{{}}}},{{"name":"other","inputSchema":{{}}}}]}}}}"#
        ))
        .await;
    bench.to_agent();
    bench
}

/// The server asks for this in answer to a call of `write`.
async fn asks_within(bench: &Bench, question: &str) {
    bench.agent(&stateless("1", "write", "")).await;
    let id = id_of(&bench.to_upstream()[0]);
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","requestState":"s","inputRequests":{{"k":{question}}}}}}}"#
        ))
        .await;
    assert_eq!(bench.to_agent().len(), 1);
}

/// Whether another call that changes something reaches the server.
async fn other_passes(bench: &Bench) -> bool {
    bench.agent(&stateless("7", "other", "")).await;
    let (sent, told) = (bench.to_upstream(), bench.to_agent());
    if sent.is_empty() {
        assert_waits(bench, &told);
    } else {
        let answer = format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"resultType":"complete","content":[]}}}}"#,
            id_of(&sent[0])
        );
        bench.upstream(&answer).await;
        bench.to_agent();
    }
    !sent.is_empty()
}

const SAMPLE: &str =
    r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#;
const FORM_WITHIN: &str = r#"{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}"#;

#[tokio::test]
async fn an_agent_without_a_session_is_held_from_the_question_to_the_call_that_answers_it() {
    use crate::session::{SessionKey, Whose};
    let key = |principal, session| Whose::Common(SessionKey::of(principal, session));
    for (whose, question, holds) in [
        (key("ada", None), SAMPLE, true),
        (key("ada", Some("s")), SAMPLE, true),
        (key("ada", None), FORM_WITHIN, false),
        // None is held for what another is asked.
        (key("anonymous", None), SAMPLE, false),
    ] {
        let bench = in_common(whose.clone()).await;
        assert!(other_passes(&bench).await);
        asks_within(&bench, question).await;
        assert_eq!(other_passes(&bench).await, !holds, "{whose:?} {question}");
        // What merely repeats the state answers nothing.
        let again = stateless("8", "write", r#","requestState":"s""#);
        bench.agent(&again).await;
        assert_eq!(
            bench.to_upstream().is_empty(),
            holds,
            "{whose:?} {question}"
        );
        bench.to_agent();
        let answer = r#","requestState":"s","inputResponses":{"k":{"role":"assistant"}}"#;
        bench.agent(&stateless("9", "write", answer)).await;
        assert_eq!(bench.to_upstream().len(), 1, "{whose:?} {question}");
        assert!(other_passes(&bench).await, "{whose:?} {question}");
    }
}

#[tokio::test]
async fn an_agent_without_a_session_that_never_answers_is_held_for_twice_the_time_of_a_request() {
    use crate::session::{SessionKey, Whose};
    let bench = in_common(Whose::Common(SessionKey::of("ada", None))).await;
    asks_within(&bench, SAMPLE).await;
    let timeout = Duration::from_mins(1);
    let moment = Duration::from_millis(1);
    bench.clock.advance((timeout * 2).saturating_sub(moment));
    assert!(!other_passes(&bench).await);
    bench.clock.advance(moment);
    assert!(other_passes(&bench).await);
}
