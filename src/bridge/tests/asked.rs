//! What a server wants to know before it goes on.

use super::*;

const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{"n":1.50}}}"#;

const ASKS: &str = r#""result":{"resultType":"input_required","requestState":"a\u0062\"+/=\n","inputRequests":{"z":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}},"a":{"method":"roots/list"}}}"#;

/// A call that waits for what the agent knows.
async fn asked() -> Bench {
    let bench = Bench::listed(open).await;
    bench.agent(CALL).await;
    bench.answer(ASKS).await;
    assert_eq!(
        bench.to_agent(),
        [
            r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"roots/list"}"#
        ]
    );
    bench
}

#[tokio::test]
async fn questions_become_requests_and_the_answers_go_with_the_request_and_the_very_state() {
    let bench = asked().await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":2,"result":{"roots":[{"uri":"file:///\u0061"}]}}"#)
        .await;
    assert_eq!(bench.to_upstream(), [""; 0]);
    bench
        .agent(r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"n":1E+2}}}"#)
        .await;
    let again = bench.to_upstream();
    let id = id_of(&again[0]).unwrap();
    assert_eq!(
        again,
        [format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","arguments":{{"n":1.50}},"_meta":{{{META}}},"inputResponses":{{"z":{{"action":"accept","content":{{"n":1E+2}}}},"a":{{"roots":[{{"uri":"file:///\u0061"}}]}}}},"requestState":"a\u0062\"+/=\n"}}}}"#
        )]
    );
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","content":[]}}}}"#
        ))
        .await;
    assert_eq!(
        bench.to_agent(),
        [r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#]
    );
    assert!(bench.bridge.is_idle());
    // Each round is a call that was judged.
    let calls = bench.records(&["kind", "decision", "bridged"]).await;
    let calls = calls
        .iter()
        .filter(|it| *it == "tool_call ALLOW 2025-06-18");
    assert_eq!(calls.count(), 2);
}

#[tokio::test]
async fn a_state_without_questions_comes_back_at_once_and_no_state_means_none() {
    let bench = Bench::listed(open).await;
    bench.agent(CALL).await;
    bench
        .answer(r#""result":{"resultType":"input_required","requestState":"s"}"#)
        .await;
    let again = bench.to_upstream();
    assert!(again[0].ends_with(r#""requestState":"s"}}"#) && !again[0].contains("inputResponses"));
    assert_eq!(bench.to_agent(), [""; 0]);

    let bench = Bench::listed(open).await;
    bench.agent(CALL).await;
    bench
        .answer(r#""result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}"#)
        .await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#)
        .await;
    assert!(bench.to_upstream()[0].ends_with(r#""inputResponses":{"a":{"roots":[]}}}}"#));
}

#[tokio::test]
async fn a_server_that_asks_for_ever_is_not_asked_again() {
    let bench = Bench::listed(open).await;
    bench.agent(CALL).await;
    for _ in 0..8 {
        bench
            .answer(r#""result":{"resultType":"input_required","requestState":"s"}"#)
            .await;
        assert_eq!(bench.to_agent(), [""; 0]);
    }
    bench
        .answer(r#""result":{"resultType":"input_required","requestState":"s"}"#)
        .await;
    assert_eq!(bench.to_upstream(), [""; 0]);
    assert!(bench.to_agent()[0].contains("more input than 8 times"));
    assert!(bench.bridge.is_idle());
}

#[tokio::test]
async fn a_form_that_is_not_answered_is_dismissed_and_anything_else_ends_the_request() {
    let form = r#"{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}"#;
    let sample = r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#;
    let ask = async |question: &str| {
        let bench = Bench::listed(open).await;
        bench.agent(CALL).await;
        bench
            .answer(&format!(
                r#""result":{{"resultType":"input_required","inputRequests":{{"q":{question}}}}}"#
            ))
            .await;
        bench.to_agent();
        bench
    };
    let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#;
    let dismissed = r#""inputResponses":{"q":{"action":"cancel"}}}}"#;

    let bench = ask(form).await;
    bench.agent(error).await;
    assert!(bench.to_upstream()[0].ends_with(dismissed));

    let bench = ask(form).await;
    bench.pass_time(LONG).await;
    assert!(bench.to_upstream()[0].ends_with(dismissed));
    assert_eq!(
        bench.to_agent(),
        [
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"timed out"}}"#
        ]
    );
    // What comes later answers nothing.
    bench.agent(error).await;
    assert_eq!(bench.to_upstream(), [""; 0]);

    let bench = ask(sample).await;
    bench.agent(error).await;
    assert_eq!(bench.to_upstream(), [""; 0]);
    assert!(bench.to_agent()[0].contains("the agent did not answer"));

    let bench = ask(sample).await;
    bench.pass_time(LONG).await;
    assert_eq!(bench.to_upstream(), [""; 0]);
    let told = bench.to_agent();
    assert!(told[0].contains("notifications/cancelled") && told[1].contains("did not answer"));
}

#[tokio::test]
async fn a_cancelled_request_takes_its_questions_with_it() {
    let bench = asked().await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}"#)
        .await;
    bench
        .agent(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#)
        .await;
    assert_eq!(
        bench.to_agent(),
        [
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"the call that needed an answer is over"}}"#
        ]
    );
    assert!(bench.bridge.is_idle());
    bench
        .agent(r#"{"jsonrpc":"2.0","id":2,"result":{"roots":[]}}"#)
        .await;
    assert_eq!(bench.to_upstream(), [""; 0]);
}

#[tokio::test]
async fn a_question_is_answered_once_and_by_its_own_id() {
    let bench = asked().await;
    for id in ["\"1\"", "3", "0", "1.0"] {
        bench
            .agent(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"action":"accept"}}}}"#
            ))
            .await;
    }
    let answer = r#"{"jsonrpc":"2.0","id":2,"result":{"roots":[]}}"#;
    bench.agent(answer).await;
    bench.agent(answer).await;
    assert_eq!(bench.to_upstream(), [""; 0]);
    bench
        .agent(r#"{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}"#)
        .await;
    assert_eq!(bench.to_upstream().len(), 1);
}

#[tokio::test]
async fn what_may_not_be_asked_never_reaches_the_agent() {
    let bench = Bench::listed(|facts| !matches!(facts.action, Action::Elicit { .. })).await;
    bench.agent(CALL).await;
    bench.answer(ASKS).await;
    let told = bench.to_agent();
    assert_eq!(told.len(), 1);
    assert!(
        told[0].contains("denied by policy") && !told[0].contains("Who?"),
        "{told:?}"
    );
    assert!(bench.bridge.is_idle());
}

#[tokio::test]
async fn an_agent_that_sends_no_more_is_asked_nothing_and_still_answered() {
    let bench = asked().await;
    bench.bridge.closed();
    bench.settle().await;
    let told = bench.to_agent();
    assert!(
        told.last().unwrap().contains("the agent did not answer"),
        "{told:?}"
    );
    assert!(bench.bridge.is_idle());

    let bench = Bench::listed(open).await;
    bench.agent(CALL).await;
    bench.bridge.closed();
    bench.answer(ASKS).await;
    let told = bench.to_agent();
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("the agent did not answer"), "{told:?}");
}

#[tokio::test]
async fn answers_that_make_a_request_too_large_end_it() {
    let bench = asked().await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":2,"result":{"roots":[]}}"#)
        .await;
    let filler = "x".repeat(Limits::default().max_bytes - 100);
    bench
        .agent(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"action":"accept","content":{{"x":"{filler}"}}}}}}"#))
        .await;
    assert_eq!(bench.to_upstream(), [""; 0]);
    assert!(bench.to_agent()[0].contains("larger than is accepted"));
    assert!(bench.bridge.is_idle());
}

#[tokio::test]
async fn a_page_to_open_has_the_id_that_sessions_want() {
    let bench = Bench::new(open);
    bench
        .agent(&INITIALIZE.replace(r#""elicitation":{}"#, r#""elicitation":{"url":{}}"#))
        .await;
    bench.answer(REFUSED).await;
    bench.answer(DISCOVERED).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"p"}}"#)
        .await;
    bench
        .answer(r#""result":{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"mode":"url","url":"https://x/","message":"m"}}}}"#)
        .await;
    assert_eq!(
        bench.to_agent().last().unwrap(),
        r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","url":"https://x/","message":"m","elicitationId":"question-1"}}"#
    );
}

#[tokio::test]
async fn while_the_agent_samples_for_a_server_without_sessions_nothing_is_changed() {
    let sample = r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#;
    let bench = Bench::listed(open).await;
    bench.agent(CALL).await;
    bench
        .answer(&format!(
            r#""result":{{"resultType":"input_required","inputRequests":{{"q":{sample}}}}}"#
        ))
        .await;
    assert_eq!(bench.to_agent().len(), 1);
    let other = CALL.replace(r#""id":7"#, r#""id":8"#);
    bench.agent(&other).await;
    assert_eq!(bench.to_agent(), [""; 0]);
    assert_eq!(bench.to_upstream(), [""; 0]);
    // The call that asked goes on with the answer, and then the other.
    bench
        .agent(r#"{"jsonrpc":"2.0","id":1,"result":{"role":"assistant","content":{},"model":"m"}}"#)
        .await;
    assert_eq!(bench.to_upstream().len(), 1);
    let may_go_on = at_once(bench.talk.session.until_parked_may_go_on());
    assert!(may_go_on.await.is_some());
    Box::pin(bench.gate.resume(&bench.talk)).await.unwrap();
    assert_eq!(bench.to_upstream().len(), 1);
}
