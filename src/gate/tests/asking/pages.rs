//! Errors that send the user to pages, and what is told of such pages.

use super::*;

const PAGE: &str =
    r#"{"mode":"url","elicitationId":"e","url":"https://login.example.com/x","message":"sign in"}"#;

/// What becomes of an error that answers a call: whether it reached the agent as it was, and the words
/// of the record.
async fn required(bench: &Bench, error: &str) -> (bool, String) {
    bench.agent(&call("9", "write")).await;
    let id = id_of(&bench.to_upstream()[0]);
    let error = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
    bench.upstream(&error(&id)).await;
    let told = bench.to_agent();
    assert_eq!(told.len(), 1, "{told:?}");
    let records = bench.records_of("tool_result").await;
    let code = records.last().unwrap().get(&["reason", "code"]);
    (told == [error("9")], code)
}

fn sending_to(pages: &str) -> String {
    format!(r#"{{"code":-32042,"message":"first","data":{{"elicitations":[{pages}]}}}}"#)
}

fn listed(settings: &mut Settings) {
    settings.terms.guards.asking.pages = Pages::Only(vec!["login.example.com".to_owned()]);
}

#[tokio::test]
async fn an_error_sends_the_user_only_where_a_request_could() {
    let elsewhere = PAGE.replace("login.example.com", "evil.example");
    let many = vec![PAGE; 33].join(",");
    let cases = [
        (sending_to(PAGE), ""),
        (sending_to(&format!("{PAGE},{PAGE}")), ""),
        (sending_to(&elsewhere), "elicitation_url_not_allowed"),
        (
            sending_to(&format!("{PAGE},{elsewhere}")),
            "elicitation_url_not_allowed",
        ),
        (
            sending_to(&PAGE.replace("https:", "http:")),
            "elicitation_url_not_allowed",
        ),
        (
            sending_to(&PAGE.replace(r#""mode":"url","#, "")),
            "invalid_upstream_response",
        ),
        (
            sending_to(&PAGE.replace(r#""url","#, r#""form","#)),
            "invalid_upstream_response",
        ),
        (
            sending_to(&PAGE.replace(r#""message":"sign in""#, r#""message":1"#)),
            "invalid_params",
        ),
        (
            sending_to(&PAGE.replace(r#","message""#, r#","requestedSchema":{},"message""#)),
            "form",
        ),
        (sending_to(""), "invalid_upstream_response"),
        (sending_to("1"), "invalid_upstream_response"),
        (sending_to(&many), "invalid_upstream_response"),
        (
            r#"{"code":-32042,"message":"m"}"#.to_owned(),
            "invalid_upstream_response",
        ),
        (
            r#"{"code":-32042,"message":"m","data":{"elicitations":{}}}"#.to_owned(),
            "invalid_upstream_response",
        ),
        // Nobody opens a page for another error.
        (sending_to(&elsewhere).replace("-32042", "-32000"), ""),
    ];
    for (error, code) in cases {
        let bench = with(r#"{"elicitation":{"url":{}}}"#, listed).await;
        let passes = code.is_empty();
        assert_eq!(
            required(&bench, &error).await,
            (passes, code.to_owned()),
            "{error}"
        );
    }
}

#[tokio::test]
async fn an_error_sends_nobody_to_a_page_who_opens_none() {
    for capabilities in [
        "{}",
        r#"{"elicitation":{}}"#,
        r#"{"elicitation":{"form":{}}}"#,
    ] {
        let bench = with(capabilities, |_| {}).await;
        let told = required(&bench, &sending_to(PAGE)).await;
        assert_eq!(told, (false, "not_negotiated".to_owned()), "{capabilities}");
    }
}

#[tokio::test]
async fn an_error_that_sends_the_user_to_a_page_is_asked_of_policies() {
    let bench = with(r#"{"elicitation":{"url":{}}}"#, |_| {}).await;
    bench.gate.policy.publish(snapshot("closed", guarded));
    let told = required(&bench, &sending_to(PAGE)).await;
    assert_eq!(told, (false, "not_permitted".to_owned()));
}

#[tokio::test]
async fn that_a_page_is_done_with_is_told_of_pages_that_were_sent() {
    let complete = |id: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{{"elicitationId":"{id}"}}}}"#
        )
    };
    let bench = with(r#"{"elicitation":{"url":{}}}"#, listed).await;
    let told = async |id: &str| {
        bench.upstream(&complete(id)).await;
        bench.to_agent() == [complete(id)]
    };
    assert!(!told("e").await);
    let refused = PAGE.replace("login.example.com", "evil.example");
    required(&bench, &sending_to(&refused)).await;
    assert!(!told("e").await);
    required(&bench, &sending_to(PAGE)).await;
    assert!(told("e").await);
    let request = PAGE.replace(r#""e""#, r#""f""#);
    assert_eq!(asked(&bench, "elicitation/create", &request).await, None);
    assert!(told("f").await && !told("g").await);
}

#[tokio::test]
async fn a_task_does_not_end_in_pages() {
    let bench = with(r#"{"elicitation":{"url":{}}}"#, |_| {}).await;
    let begin = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write","task":{"ttl":1000}}}"#;
    bench.agent(begin).await;
    let id = id_of(&bench.to_upstream()[0]);
    bench.upstream(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"task":{{"taskId":"t","status":"working"}}}}}}"#)).await;
    bench.to_agent();
    bench
        .agent(r#"{"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"t"}}"#)
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    let error = sending_to(PAGE);
    bench.upstream(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"taskId":"t","status":"failed","error":{error}}}}}"#)).await;
    let told = bench.to_agent().remove(0);
    assert!(
        told.contains("-32603") && !told.contains("login.example.com"),
        "{told}"
    );
}
