//! What a server does that does as it should.

use std::collections::HashMap;

use crate::gate::Carried;
use crate::upstream::http::HttpEvent;
use crate::wire::{KnownMethod, ListedMethod};

use super::kit::{Server, frame, line, news, request, result};

#[tokio::test]
async fn a_request_is_answered_by_a_body() {
    let mut server = Server::start().await;
    let mut talk = server.talk();
    talk.ask(7, KnownMethod::ToolsList).await;
    let asked = server.next().await;
    assert_eq!(
        (asked.method.as_str(), asked.path.as_str()),
        ("POST", "/mcp")
    );
    assert_eq!(asked.body, line(7, KnownMethod::ToolsList));
    for (name, value) in [
        ("accept", Some("application/json, text/event-stream")),
        ("content-type", Some("application/json")),
        ("accept-encoding", Some("identity")),
        ("authorization", None),
        ("cookie", None),
        ("referer", None),
    ] {
        assert_eq!(asked.header(name), value, "{name}");
    }
    asked.json_with("Set-Cookie: a=b\r\n", &result(7)).await;
    talk.expect(frame(7, &result(7))).await;

    talk.ask(8, KnownMethod::ToolsList).await;
    let asked = server.next().await;
    assert_eq!(asked.header("cookie"), None);
    asked.json(&result(8)).await;
    talk.expect(frame(8, &result(8))).await;
}

#[tokio::test]
async fn what_comes_before_the_reply_comes_in_order_on_the_stream_of_its_request() {
    let mut server = Server::start().await;
    let mut talk = server.talk();
    talk.ask(3, KnownMethod::ToolsCall).await;
    let mut events = server.next().await.events().await;
    events
        .send(": a comment\n\nevent: ping\ndata: {}\n\nid: 0\ndata:\n\n")
        .await;
    for count in 0..20 {
        events.message(&news(count)).await;
    }
    let asked = r#"{"jsonrpc":"2.0","id":"s","method":"roots/list"}"#;
    events.message(asked).await;
    events
        .send("data: {\"jsonrpc\":\"2.0\",\"id\":3,\r\ndata:\"result\":{}}\r\n\r\n")
        .await;
    for count in 0..20 {
        talk.expect(frame(3, &news(count))).await;
    }
    talk.expect(frame(3, asked)).await;
    talk.expect(frame(3, "{\"jsonrpc\":\"2.0\",\"id\":3,\n\"result\":{}}"))
        .await;
    // What comes after the reply belongs nowhere.
    events.message(&news(99)).await;
    events.end().await;
    talk.ask(4, KnownMethod::ToolsList).await;
    server.next().await.json(&result(4)).await;
    talk.expect(frame(4, &result(4))).await;
}

#[tokio::test]
async fn the_session_and_its_revision_are_named_in_all_that_comes_later() {
    let mut server = Server::start().await;
    let mut talk = server.talk();
    talk.ask(1, KnownMethod::Initialize).await;
    let asked = server.next().await;
    assert_eq!(asked.header("mcp-session-id"), None);
    assert_eq!(asked.header("mcp-protocol-version"), None);
    asked
        .json_with("Mcp-Session-Id: s-1\r\n", super::kit::INITIALIZED)
        .await;
    talk.expect(frame(1, super::kit::INITIALIZED)).await;

    let check = |asked: &super::kit::Asked| {
        assert_eq!(asked.header("mcp-session-id"), Some("s-1"));
        assert_eq!(asked.header("mcp-protocol-version"), Some("2025-11-25"));
        assert_eq!(asked.header("mcp-method"), None);
    };
    talk.notify(KnownMethod::Initialized).await;
    let asked = server.next().await;
    check(&asked);
    asked.status("202 Accepted").await;

    let asked = server.next().await;
    assert_eq!(
        (asked.method.as_str(), asked.header("accept")),
        ("GET", Some("text/event-stream"))
    );
    check(&asked);
    let main = asked.events().await;

    talk.ask(2, KnownMethod::ToolsList).await;
    let asked = server.next().await;
    check(&asked);
    // A session id anywhere else than in the answer to `initialize` changes nothing.
    asked.json_with("Mcp-Session-Id: s-2\r\n", &result(2)).await;
    talk.expect(frame(2, &result(2))).await;

    let reply = r#"{"jsonrpc":"2.0","id":"s","result":{}}"#;
    talk.send(
        Carried::Reply {
            error: None,
            form: crate::wire::ArrivalForm::Whole,
        },
        reply,
    )
    .await;
    let asked = server.next().await;
    check(&asked);
    assert_eq!(asked.body, reply);
    asked.status("202 Accepted").await;

    let ended = async {
        let asked = server.next().await;
        assert_eq!(asked.method, "DELETE");
        check(&asked);
        asked.status("204 No Content").await;
    };
    tokio::join!(talk.sender.stop(), ended);
    main.closed().await;
}

#[tokio::test]
async fn a_notification_is_accepted_before_the_next_message_is_sent() {
    let mut server = Server::start().await;
    let mut talk = server.talk();
    for _ in 0..3 {
        talk.notify(KnownMethod::RootsListChanged).await;
    }
    talk.ask(5, KnownMethod::ToolsList).await;
    for _ in 0..3 {
        let asked = server.next().await;
        assert!(asked.body.contains("roots/list_changed"), "{}", asked.body);
        assert!(server.stays_idle().await);
        asked.status("202 Accepted").await;
    }
    server.next().await.json(&result(5)).await;
    talk.expect(frame(5, &result(5))).await;
}

#[tokio::test]
async fn many_requests_at_once_get_each_its_own_answer() {
    const MANY: u64 = 48;
    let mut server = Server::start().await;
    let mut talk = server.talk();
    let mut asked = Vec::new();
    for id in 1..=MANY {
        talk.ask(id, KnownMethod::ToolsCall).await;
        asked.push(server.next().await);
    }
    // In the opposite order, half of them as streams.
    let answers = tokio::spawn(async move {
        while let Some(asked) = asked.pop() {
            let id = asked
                .body
                .split([':', ','])
                .nth(3)
                .unwrap()
                .parse()
                .unwrap();
            if id % 2 == 0 {
                asked.json(&result(id)).await;
            } else {
                let mut events = asked.events().await;
                events.message(&news(id)).await;
                events.message(&result(id)).await;
                events.end().await;
            }
        }
    });
    let mut heard: HashMap<u64, Vec<Vec<u8>>> = HashMap::new();
    for _ in 0..MANY + MANY / 2 {
        let HttpEvent::Frame { stream, bytes, .. } = talk.next().await else {
            panic!("not a frame");
        };
        heard.entry(stream.number()).or_default().push(bytes);
    }
    answers.await.unwrap();
    for id in 1..=MANY {
        let expected = if id % 2 == 0 {
            vec![result(id).into_bytes()]
        } else {
            vec![news(id).into_bytes(), result(id).into_bytes()]
        };
        assert_eq!(heard[&id], expected, "{id}");
    }
}

#[tokio::test]
async fn a_request_that_is_never_answered_holds_up_no_other() {
    let mut server = Server::start().await;
    let mut talk = server.talk();
    talk.ask(1, KnownMethod::ToolsCall).await;
    let silent = server.next().await;
    talk.ask(2, KnownMethod::ToolsCall).await;
    let mut endless = server.next().await.events().await;
    endless.send(": I am alive\n").await;
    for id in 3..20 {
        talk.ask(id, KnownMethod::ToolsList).await;
        server.next().await.json(&result(id)).await;
        talk.expect(frame(id, &result(id))).await;
    }
    silent.json(&result(1)).await;
    talk.expect(frame(1, &result(1))).await;
}

#[tokio::test]
async fn requests_beyond_the_limit_wait_and_news_take_no_turn() {
    let mut server = Server::start().await;
    let mut settings = server.settings();
    settings.max_concurrent = 1;
    let mut talk = super::kit::Talk::with(&settings);
    talk.ask_stateless(1, KnownMethod::SubscriptionsListen)
        .await;
    let _listening = server.next().await;
    talk.ask_stateless(2, KnownMethod::ToolsCall).await;
    let first = server.next().await;
    talk.ask_stateless(3, KnownMethod::ToolsCall).await;
    talk.ask_stateless(4, KnownMethod::ToolsCall).await;
    assert!(server.stays_idle().await);
    // One that waits can be given up as well.
    crate::gate::Upstream::abandon(&talk.sender, 3);
    first.json(&result(2)).await;
    talk.expect(frame(2, &result(2))).await;
    let asked = server.next().await;
    assert_eq!(asked.body, line(4, KnownMethod::ToolsCall));
}

#[tokio::test]
async fn without_a_session_each_message_says_what_it_is() {
    let mut server = Server::start().await;
    let mut talk = server.talk();
    let carried = |method, name: Option<&str>| {
        let mut carried = request(1, method, Some("2026-07-28"));
        if let Carried::Request { name: own, .. } = &mut carried {
            *own = name.map(Into::into);
        }
        carried
    };
    let extension = KnownMethod::Extension(ListedMethod::named("vendor/do").unwrap());
    for (method, name, header) in [
        (KnownMethod::Discover, None, None),
        (KnownMethod::ToolsCall, Some("read"), Some("read")),
        (
            KnownMethod::PromptsGet,
            Some("größe"),
            Some("=?base64?Z3LDtsOfZQ==?="),
        ),
        (
            KnownMethod::ResourcesRead,
            Some("file:///a"),
            Some("file:///a"),
        ),
        (extension, Some("memo:a"), Some("memo:a")),
        (extension, None, None),
    ] {
        talk.send(carried(method, name), &line(1, method)).await;
        let asked = server.next().await;
        assert_eq!(asked.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(asked.header("mcp-method"), Some(method.name()));
        assert_eq!(asked.header("mcp-name"), header);
        assert_eq!(asked.header("mcp-session-id"), None);
        // What a server says of sessions here is nothing.
        asked.json_with("Mcp-Session-Id: s\r\n", &result(1)).await;
        talk.expect(frame(1, &result(1))).await;
    }
    talk.sender.stop().await;
    assert!(server.stays_idle().await);
}

#[tokio::test]
async fn annotated_arguments_are_repeated_once_their_tool_was_listed() {
    let mut server = Server::start().await;
    let mut talk = server.talk();
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":{"a":"\u00fe","b":7}}}"#;
    let mut carried = request(2, KnownMethod::ToolsCall, Some("2026-07-28"));
    if let Carried::Request { name, .. } = &mut carried {
        *name = Some("t".into());
    }
    talk.send(carried.clone(), call).await;
    let asked = server.next().await;
    assert_eq!(asked.header("mcp-param-region"), None);
    asked.json(&result(2)).await;
    talk.expect(frame(2, &result(2))).await;

    let list = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"integer","x-mcp-header":"Count"},"c":{"type":"string","x-mcp-header":"Absent"}}}}]}}"#;
    talk.ask_stateless(1, KnownMethod::ToolsList).await;
    server.next().await.json(list).await;
    talk.expect(frame(1, list)).await;

    talk.send(carried, call).await;
    let asked = server.next().await;
    let said = ["region", "count", "absent"].map(|it| asked.header(&format!("mcp-param-{it}")));
    assert_eq!(said, [Some("=?base64?w74=?="), Some("7"), None]);
}
