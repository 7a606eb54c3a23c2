//! What the agent has declared within what it answers.

use super::*;

#[tokio::test]
async fn a_server_asks_for_no_more_than_the_agent_has_declared_of_it() {
    const NOTHING: &str = r#"{"sampling":{},"elicitation":{"form":{},"url":{}}}"#;
    let tools = r#"{"sampling":{"tools":{}}}"#;
    let tasks = r#"{"sampling":{},"elicitation":{},"tasks":{"requests":{"sampling":{"createMessage":{}},"elicitation":{"create":{}}}}}"#;
    let sample = |more: &str| format!(r#"{{"messages":[],"maxTokens":1,{more}}}"#);
    let form = FORM.replace('$', "");
    let form = form.replace(r#""message""#, r#""task":{"ttl":5},"message""#);
    let cases = [
        ("sampling/createMessage", sample(r#""tools":[]"#), tools),
        (
            "sampling/createMessage",
            sample(r#""toolChoice":{}"#),
            tools,
        ),
        (
            "sampling/createMessage",
            sample(r#""task":{"ttl":5}"#),
            tasks,
        ),
        ("elicitation/create", form, tasks),
    ];
    for (method, params, declaring) in cases {
        let bench = with(NOTHING, |_| {}).await;
        assert_eq!(
            asked(&bench, method, &params).await,
            Some(-32602),
            "{params}"
        );
        let records = bench.records_of("server_request").await;
        assert_eq!(records[0].get(&["reason", "code"]), "not_negotiated");
        let code = asked_in_result(&bench, method, &params).await;
        assert_eq!(code, "not_negotiated", "{params}");
        let bench = with(declaring, |_| {}).await;
        assert_eq!(asked(&bench, method, &params).await, None, "{params}");
    }
    let bench = with(NOTHING, |_| {}).await;
    // Servers are only advised not to ask for it (2025-11-25), and policies see it.
    let some = sample(r#""includeContext":"thisServer""#);
    assert_eq!(asked(&bench, "sampling/createMessage", &some).await, None);
}

#[tokio::test]
async fn a_server_asks_an_agent_about_tasks_only_as_the_agent_has_declared() {
    const REQUESTS: &str = r#""requests":{"sampling":{"createMessage":{}}}"#;
    let all = format!(r#"{{"tasks":{{{REQUESTS},"list":{{}},"cancel":{{}}}}}}"#);
    let some = format!(r#"{{"tasks":{{{REQUESTS}}}}}"#);
    let refused = Some(-32601);
    // Of a task that does not exist, where it may be asked about.
    let unknown = Some(-32602);
    for (method, params, without, with_some, with_all) in [
        ("tasks/list", "{}", refused, refused, None),
        ("tasks/get", r#"{"taskId":"t"}"#, refused, unknown, unknown),
        ("tasks/get", "{}", refused, unknown, unknown),
        (
            "tasks/result",
            r#"{"taskId":"t"}"#,
            refused,
            unknown,
            unknown,
        ),
        (
            "tasks/cancel",
            r#"{"taskId":"t"}"#,
            refused,
            refused,
            unknown,
        ),
    ] {
        for (declared, told) in [("{}", without), (&*some, with_some), (&*all, with_all)] {
            let bench = with(declared, |_| {}).await;
            let got = asked(&bench, method, params).await;
            assert_eq!(got, told, "{method} {params} {declared}");
            if got == refused {
                let records = bench.records().await;
                let code = records.last().unwrap().get(&["reason", "code"]);
                assert_eq!(code, "not_negotiated");
            }
        }
    }
}

#[tokio::test]
async fn a_sample_has_messages_of_the_user_and_the_assistant_only() {
    let bench = with(r#"{"sampling":{}}"#, |_| {}).await;
    for (message, told) in [
        (r#"{"role":"user","content":{}}"#, None),
        (r#"{"role":"assistant","content":[]}"#, None),
        (r#"{"role":"system","content":{}}"#, Some(-32602)),
        (r#"{"role":"developer","content":{}}"#, Some(-32602)),
        (r#"{"content":{}}"#, Some(-32602)),
    ] {
        let params = format!(r#"{{"messages":[{message}],"maxTokens":1}}"#);
        assert_eq!(
            asked(&bench, "sampling/createMessage", &params).await,
            told,
            "{message}"
        );
    }
}

#[tokio::test]
async fn each_content_of_a_message_counts_as_one() {
    let two: Rule = |facts| match facts.action {
        Action::Sample { messages, .. } if messages > 2 => Ok(Verdict::Abstain),
        _ => open(facts),
    };
    let bench = with(r#"{"sampling":{}}"#, |_| {}).await;
    bench.gate.policy.publish(snapshot("two", two));
    for (contents, told) in [("{}", None), ("{},{}", None), ("{},{},{}", Some(-32601))] {
        let params =
            format!(r#"{{"messages":[{{"role":"user","content":[{contents}]}}],"maxTokens":1}}"#);
        assert_eq!(
            asked(&bench, "sampling/createMessage", &params).await,
            told,
            "{contents}"
        );
    }
}

#[tokio::test]
async fn a_server_is_told_that_it_was_the_agent_who_did_not_answer() {
    let bench = with(r#"{"sampling":{}}"#, |_| {}).await;
    bench
        .upstream(r#"{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#)
        .await;
    bench.clock.advance(Duration::from_mins(1));
    Box::pin(bench.gate.expire(&bench.talk)).await.unwrap();
    let told = bench.to_upstream().remove(0);
    assert!(
        told.contains("the agent did not answer within 60000 ms"),
        "{told}"
    );
    let records = bench.records().await;
    let outcome = records
        .iter()
        .find(|it| it.get(&["reason", "code"]) == "timeout");
    let text = outcome.unwrap().get(&["reason", "text"]);
    assert_eq!(text, "the agent did not answer within 60000 ms");
}
