//! 2026-07-28: no sessions, and headers that repeat the body.

use super::agent::Request;
use super::rig::{INITIALIZE, RESULT, Rig, note, refusal, reply};
use crate::agent::http::ConversationKind;
use crate::wire::{MirroredHeaders, MirroredValue, Stream, WorkIds};

fn message(method: &str, params: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{{params}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    )
}

fn list() -> Request {
    Request::stateless(&message("tools/list", ""), "tools/list", None)
}

#[tokio::test]
async fn a_message_that_says_who_it_is_needs_no_session() {
    let mut rig = Rig::new().await;
    let mut agent = rig.agent().await;
    agent.send(&list().session("whatever")).await;
    let mut gate = rig.arrival().await;
    assert_eq!(gate.kind, ConversationKind::Stateless);
    gate.answer("{}").await;
    let answer = agent.answer().await;
    assert_eq!((answer.status, &answer.body), (200, &reply("7", "{}")));
    assert_eq!(answer.header("mcp-session-id"), None);
}

fn called() -> Request {
    let call = message("tools/call", r#""name":"safe","#);
    Request::stateless(&call, "tools/call", Some("safe"))
}

fn read() -> Request {
    let read = message("resources/read", r#""uri":"file:///caf\u00e9","#);
    Request::stateless(&read, "resources/read", None)
}

/// A method that is not the protocol's own.
fn of_extension(params: &str, name: Option<&str>) -> Request {
    Request::stateless(&message("vendor/do", params), "vendor/do", name)
}

#[tokio::test]
async fn headers_that_say_what_the_body_says_are_taken() {
    let address = Rig::new().await.echo();
    let good = [
        called(),
        called().instead("Mcp-Name", Some("=?base64?c2FmZQ==?=")),
        read().header("mcp-name", "=?base64?ZmlsZTovLy9jYWbDqQ==?="),
        Request::stateless(
            &message("prompts/get", r#""name":"p","#),
            "prompts/get",
            Some("p"),
        ),
        list(),
        list().header("Mcp-Param-Unknown", "x"),
        of_extension("", None),
        of_extension(r#""uri":"memo:a","#, None),
        of_extension(r#""name":"b","uri":"memo:a","#, Some("memo:a")),
        of_extension(r#""name":"b","#, Some("b")),
    ];
    for request in good {
        let answer = super::agent::Agent::connect(address)
            .await
            .ask(&request)
            .await;
        assert_eq!(answer.status, 200, "{request:?} {answer:?}");
    }
}

#[tokio::test]
async fn headers_must_say_what_the_body_says() {
    let mut rig = Rig::new().await;
    let version = "MCP-Protocol-Version";
    let bad = [
        (
            "no name",
            called().instead("Mcp-Name", None),
            "header_missing",
        ),
        (
            "another name",
            called().instead("Mcp-Name", Some("evil")),
            "header_mismatch",
        ),
        (
            "the name in another case",
            called().instead("Mcp-Name", Some("Safe")),
            "header_mismatch",
        ),
        (
            "another name in base64",
            called().instead("Mcp-Name", Some("=?base64?ZXZpbA==?=")),
            "header_mismatch",
        ),
        (
            "no base64",
            called().instead("Mcp-Name", Some("=?base64?*?=")),
            "header_unreadable",
        ),
        (
            "no UTF-8",
            called().instead("Mcp-Name", Some("=?base64?/w==?=")),
            "header_unreadable",
        ),
        (
            "no ASCII",
            read().header("Mcp-Name", "file:///caf\u{e9}"),
            "header_unreadable",
        ),
        (
            "two names",
            called().header("mcp-name", "safe"),
            "header_repeated",
        ),
        (
            "no method",
            called().instead("Mcp-Method", None),
            "header_missing",
        ),
        (
            "another method",
            called().instead("Mcp-Method", Some("tools/list")),
            "header_mismatch",
        ),
        (
            "the method in another case",
            called().instead("Mcp-Method", Some("Tools/call")),
            "header_mismatch",
        ),
        (
            "two methods",
            called().header("mcp-method", "tools/call"),
            "header_repeated",
        ),
        (
            "no version",
            called().instead(version, None),
            "header_missing",
        ),
        (
            "an older version",
            called().instead(version, Some("2025-11-25")),
            "header_mismatch",
        ),
        (
            "a newer version",
            called().instead(version, Some("2027-01-01")),
            "header_mismatch",
        ),
        (
            "two versions",
            called().header("mcp-protocol-version", "2026-07-28"),
            "header_repeated",
        ),
    ];
    for (what, request, code) in bad {
        refused(&mut rig, what, &request, code).await;
    }
}

#[tokio::test]
async fn headers_of_an_extensions_method_must_say_what_the_body_says() {
    let mut rig = Rig::new().await;
    let bad = [
        (
            "another name of an extension's",
            of_extension(r#""uri":"memo:a","#, Some("memo:b")),
        ),
        (
            "a name of an extension's that the body has not",
            of_extension(r#""id":"a","#, Some("a")),
        ),
        (
            "another method of an extension's",
            of_extension("", None).instead("Mcp-Method", Some("vendor/Do")),
        ),
    ];
    for (what, request) in bad {
        refused(&mut rig, what, &request, "header_mismatch").await;
    }
}

/// The request is refused for its headers, and goes no further.
async fn refused(rig: &mut Rig, what: &str, request: &Request, code: &str) {
    let before = rig.refused().len();
    let answer = rig.agent().await.ask(request).await;
    assert_eq!(answer.status, 400, "{what}");
    assert_eq!(answer.at("/error/code"), -32020, "{what}: {answer:?}");
    assert_eq!(rig.refused()[before..], [code], "{what}");
    assert!(rig.arrivals.try_recv().is_err(), "{what}");
}

#[tokio::test]
async fn a_message_without_what_every_message_must_say_is_refused() {
    let rig = Rig::new().await;
    let bare = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#;
    let answer = rig
        .agent()
        .await
        .ask(&Request::stateless(bare, "tools/list", None))
        .await;
    assert_eq!(
        (answer.status, answer.at("/error/code")),
        (400, (-32602).into())
    );
    assert_eq!(answer.at("/id"), 7);
    let back = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
    let answer = rig
        .agent()
        .await
        .ask(&Request::stateless(back, "", None))
        .await;
    assert_eq!(
        (answer.status, answer.at("/error/code")),
        (400, (-32600).into())
    );
    let unable = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
    let answer = rig
        .agent()
        .await
        .ask(&Request::stateless(unable, "tools/list", None))
        .await;
    assert_eq!(
        (answer.status, answer.at("/error/code")),
        (400, (-32602).into())
    );
    assert_eq!(
        rig.refused(),
        ["meta_missing", "stateless_reply", "meta_missing"]
    );
}

#[tokio::test]
async fn without_sessions_there_is_no_initialize() {
    let mut rig = Rig::new().await;
    let request = Request::stateless(&message("initialize", ""), "initialize", None);
    let answer = rig.agent().await.ask(&request).await;
    assert_eq!(
        (answer.status, answer.at("/error/code")),
        (404, (-32601).into())
    );
    assert_eq!(rig.refused(), ["no_sessions"]);
    assert!(rig.arrivals.try_recv().is_err());
}

#[tokio::test]
async fn what_headers_say_of_a_call_goes_with_it() {
    let mut rig = Rig::new().await;
    let mut agent = rig.agent().await;
    let call = message("tools/call", r#""name":"t","arguments":{"a":"x"},"#);
    let call = Request::stateless(&call, "tools/call", Some("t"));
    let request = call
        .header("Mcp-Param-Region", "=?base64?eA==?=")
        .header("mcp-param-N", "7")
        .header("Mcp-Param-Twice", "a")
        .header("mcp-param-twice", "a")
        .header("Mcp-Param-Wrong", "=?base64?*?=")
        .header("Mcp-Other", "y");
    agent.send(&request).await;
    let mut gate = rig.arrival().await;
    let expected: MirroredHeaders = [
        ("mcp-param-region", MirroredValue::Once("x".into())),
        ("mcp-param-n", MirroredValue::Once("7".into())),
        ("mcp-param-twice", MirroredValue::Twice),
        ("mcp-param-wrong", MirroredValue::Unreadable),
    ]
    .map(|(name, said)| (name.into(), said))
    .into_iter()
    .collect();
    assert_eq!(gate.brought().await.carrier.repeated, Some(expected));
    // Nothing else is a call, and a session has no such headers.
    rig.agent().await.send(&list()).await;
    assert_eq!(gate.brought().await.carrier.repeated, None);
}

#[tokio::test]
async fn headers_name_the_work_that_a_message_belongs_to() {
    let mut rig = Rig::new().await;
    let mut agent = rig.agent().await;
    let request = list()
        .header("Mcp-Protector-Job-Id", " j-1 ")
        .header("mcp-protector-workflow-run-id", "w-1")
        .header(
            "Mcp-Protector-Trace-Id",
            "0af76519-16cd-43dd-8448-eb211c80319c",
        )
        // Twice, empty, or unreadable: these say nothing.
        .header("Mcp-Protector-Task-Id", "t-1")
        .header("Mcp-Protector-Task-Id", "t-2")
        .header("Mcp-Protector-Session-Id", "");
    agent.send(&request).await;
    let mut gate = rig.arrival().await;
    let work = gate.brought().await.carrier.work.unwrap();
    let expected = WorkIds {
        job_id: Some("j-1".into()),
        workflow_run_id: Some("w-1".into()),
        trace_id: Some("0af76519-16cd-43dd-8448-eb211c80319c".into()),
        ..WorkIds::default()
    };
    assert_eq!(*work, expected);
    rig.agent().await.send(&list()).await;
    assert_eq!(gate.brought().await.carrier.work, None);
}

#[tokio::test]
async fn an_initialize_that_claims_to_be_stateless_begins_no_session() {
    let mut rig = Rig::new().await;
    let request = Request::stateless(INITIALIZE, "initialize", None);
    assert_eq!(rig.agent().await.ask(&request).await.status, 400);
    assert!(rig.arrivals.try_recv().is_err());
}

#[tokio::test]
async fn an_error_has_the_status_that_belongs_to_it() {
    let mut rig = Rig::new().await;
    let mut agent = rig.agent().await;
    agent.send(&list()).await;
    let mut gate = rig.arrival().await;
    gate.answer("{}").await;
    agent.answer().await;
    for (code, status) in [
        (-32601, 404),
        (-32020, 400),
        (-32021, 400),
        (-32022, 400),
        (-32602, 200),
        (-32603, 200),
        (1, 200),
    ] {
        agent.send(&list()).await;
        let (stream, _) = gate.frame().await;
        let line = format!(r#"{{"jsonrpc":"2.0","id":7,"error":{{"code":{code},"message":"m"}}}}"#);
        gate.reply(stream, refusal(code), &line).await;
        let answer = agent.answer().await;
        assert_eq!((answer.status, answer.body), (status, line));
    }
}

#[tokio::test]
async fn a_connection_that_closes_cancels_its_request_and_no_other() {
    let mut rig = Rig::new().await;
    let (mut first, mut second) = (rig.agent().await, rig.agent().await);
    first.send(&list()).await;
    let mut gate = rig.arrival().await;
    let (one, _) = gate.frame().await;
    second.send(&list()).await;
    let (two, _) = gate.frame().await;
    drop(first);
    assert_eq!(gate.hung_up().await, one);
    // The answer comes too late, and disturbs nobody.
    gate.reply(one, RESULT, &reply("7", r#"{"one":1}"#)).await;
    gate.note(two, 1).await;
    let answer = second.answer().await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let event = second.message().await.unwrap();
    assert_eq!(super::agent::field(&event, "id"), None);
    assert_eq!(super::agent::field(&event, "data"), Some(&*note(1)));
    drop(second);
    assert_eq!(gate.hung_up().await, two);
    gate.note(Stream::MAIN, 2).await;
}

#[tokio::test]
async fn each_identity_has_one_stateless_conversation() {
    let mut rig = Rig::of_two().await;
    let mut gates = Vec::new();
    for name in ["alpha", "beta"] {
        let mut agent = rig.agent().await;
        agent.send(&list().token_of(name)).await;
        let mut gate = rig.arrival().await;
        assert_eq!(gate.identity.subject, name);
        gate.answer("{}").await;
        assert_eq!(agent.answer().await.status, 200);
        gates.push(gate);
    }
    let mut agent = rig.agent().await;
    agent.send(&list().token_of("alpha")).await;
    gates[0].answer("{}").await;
    assert_eq!(agent.answer().await.status, 200);
    // When the gate gives one up, the next request begins another.
    drop(gates);
    agent.send(&list().token_of("alpha")).await;
    rig.arrival().await.answer("{}").await;
    assert_eq!(agent.answer().await.status, 200);
}

#[tokio::test]
async fn get_and_delete_do_not_exist() {
    let rig = Rig::new().await;
    for method in ["GET", "DELETE"] {
        let request = Request::new(method)
            .header("Accept", "*/*")
            .header("MCP-Protocol-Version", "2026-07-28");
        let answer = rig.agent().await.ask(&request).await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
    }
}
