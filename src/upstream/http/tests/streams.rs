//! The main stream, streams that break, and streams that nobody waits for.

use std::time::Duration;

use crate::gate::{Abandoned, Upstream, UpstreamFault};
use crate::upstream::http::{HttpEvent, Loss};
use crate::wire::{DiscardReason, KnownMethod, Stream};

use super::kit::{Server, Talk, frame, news, result};

#[tokio::test]
async fn what_belongs_to_no_request_comes_on_the_main_stream_which_goes_on_after_a_break() {
    let mut server = Server::start().await;
    let mut talk = server.talk();
    talk.handshake_as(&mut server, "Mcp-Session-Id: s1\r\n")
        .await;
    let asked = server.next().await;
    assert_eq!(
        (asked.method.as_str(), asked.header("last-event-id")),
        ("GET", None)
    );
    let mut main = asked.events().await;
    main.send(&format!("id: a\ndata: {}\n\n", news(1))).await;
    main.send(&format!("id: b 2\ndata: {}\n\nid: c\nda", news(2)))
        .await;
    talk.expect(frame(0, &news(1))).await;
    talk.expect(frame(0, &news(2))).await;
    // A break, then a server that is not ready, then the end of a stream.
    drop(main);
    let asked = server.next().await;
    assert_eq!(asked.header("last-event-id"), Some("b 2"));
    assert_eq!(asked.header("mcp-session-id"), Some("s1"));
    asked.status("503 Service Unavailable").await;
    let mut main = server.next().await.events().await;
    main.send("retry: 1\n\n").await;
    main.end().await;
    let asked = server.next().await;
    assert_eq!(asked.header("last-event-id"), Some("b 2"));
    let mut main = asked.events().await;
    main.message(&news(3)).await;
    talk.expect(frame(0, &news(3))).await;
    main.end().await;
    // Where GET was known before, a 404 means the session.
    server.next().await.status("404 Not Found").await;
    let HttpEvent::Died { reason, .. } = talk.next().await else {
        panic!("no death");
    };
    assert_eq!(reason, Loss::SessionGone);
}

#[tokio::test]
async fn a_server_without_a_main_stream_is_asked_for_it_once() {
    for status in [
        "405 Method Not Allowed",
        "404 Not Found",
        "400 Bad Request",
        "501 Never",
    ] {
        let mut server = Server::start().await;
        let mut talk = server.talk();
        talk.handshake_as(&mut server, "Mcp-Session-Id: s1\r\n")
            .await;
        server.next().await.status(status).await;
        assert!(server.stays_idle().await, "{status}");
        talk.ask(2, KnownMethod::ToolsList).await;
        server.next().await.json(&result(2)).await;
        talk.expect(frame(2, &result(2))).await;
    }
}

#[tokio::test]
async fn an_event_that_is_too_long_does_not_end_the_main_stream() {
    let mut server = Server::start().await;
    let mut settings = server.settings();
    settings.from_upstream.max_bytes = 200;
    let mut talk = Talk::with(&settings);
    talk.handshake_as(&mut server, "").await;
    let mut main = server.next().await.events().await;
    main.message(&"x".repeat(201)).await;
    main.message(&news(1)).await;
    let stream = Stream::MAIN;
    talk.expect(HttpEvent::Unread {
        stream,
        why: DiscardReason::TooLong,
    })
    .await;
    talk.expect(frame(0, &news(1))).await;
}

#[tokio::test]
async fn a_stream_that_ends_before_its_reply_is_resumed_after_its_last_event() {
    let mut server = Server::start().await;
    let mut talk = server.talk();
    talk.handshake(&mut server).await;
    talk.ask(2, KnownMethod::ToolsCall).await;
    let mut events = server.next().await.events().await;
    // As a server does that wants to be asked again later.
    events.send("id: p1\nretry: 1\ndata:\n\n").await;
    events.end().await;
    let asked = server.next().await;
    assert_eq!(asked.method, "GET");
    assert_eq!(asked.header("last-event-id"), Some("p1"));
    assert_eq!(asked.header("mcp-session-id"), Some("s1"));
    let mut events = asked.events().await;
    events.send(&format!("id: p2\ndata: {}\n\n", news(1))).await;
    talk.expect(frame(2, &news(1))).await;
    // This time the connection breaks, and once more before there is an answer.
    drop(events);
    server.next().await.raw(b"").await;
    let asked = server.next().await;
    assert_eq!(asked.header("last-event-id"), Some("p2"));
    let mut events = asked.events().await;
    events.message(&result(2)).await;
    talk.expect(frame(2, &result(2))).await;
    events.end().await;
    assert!(server.stays_idle().await);
}

#[tokio::test]
async fn a_stream_that_cannot_be_resumed_fails_its_request() {
    let failed = || HttpEvent::Failed {
        stream: Stream::numbered(2),
        fault: UpstreamFault::Died,
    };
    // Without an id.
    let mut server = Server::start().await;
    let mut talk = server.talk();
    talk.ask(2, KnownMethod::ToolsCall).await;
    let mut events = server.next().await.events().await;
    events.message(&news(1)).await;
    events.end().await;
    talk.expect(frame(2, &news(1))).await;
    talk.expect(failed()).await;
    assert!(server.stays_idle().await);
    // Without sessions.
    talk.ask_stateless(2, KnownMethod::ToolsCall).await;
    let mut events = server.next().await.events().await;
    events.send(&format!("id: 1\ndata: {}\n\n", news(1))).await;
    events.end().await;
    talk.expect(frame(2, &news(1))).await;
    talk.expect(failed()).await;
    assert!(server.stays_idle().await);
    // With a server that does not know how.
    for status in [
        "405 Method Not Allowed",
        "404 Not Found",
        "400 Bad Request",
        "202 Accepted",
    ] {
        talk.ask(2, KnownMethod::ToolsCall).await;
        let mut events = server.next().await.events().await;
        events.send("id: 1\n\n").await;
        events.end().await;
        server.next().await.status(status).await;
        talk.expect(failed()).await;
    }
    // With one that only hangs up.
    talk.ask(2, KnownMethod::ToolsCall).await;
    let mut events = server.next().await.events().await;
    events.send("id: 1\n\n").await;
    events.end().await;
    for _ in 0..server.settings().backoff.tries {
        server.next().await.raw(b"").await;
    }
    talk.expect(failed()).await;
}

#[tokio::test]
async fn a_request_that_is_given_up_without_a_session_closes_its_stream() {
    let mut server = Server::start().await;
    let mut talk = server.talk();
    talk.ask_stateless(1, KnownMethod::ToolsCall).await;
    let silent = server.next().await;
    talk.ask_stateless(2, KnownMethod::ToolsCall).await;
    let mut events = server.next().await.events().await;
    events.message(&news(1)).await;
    talk.expect(frame(2, &news(1))).await;
    assert_eq!(talk.sender.abandon(1), Abandoned::Closed);
    assert_eq!(talk.sender.abandon(2), Abandoned::Closed);
    silent.closed().await;
    events.closed().await;
    // It needs no further word, and another request has nothing to do with it.
    assert_eq!(talk.sender.abandon(2), Abandoned::Closed);
    talk.ask_stateless(3, KnownMethod::ToolsCall).await;
    server.next().await.json(&result(3)).await;
    talk.expect(frame(3, &result(3))).await;
}

#[tokio::test]
async fn a_request_that_is_given_up_in_a_session_keeps_its_stream_for_a_while() {
    let mut server = Server::start().await;
    let mut settings = server.settings();
    settings.linger = Duration::from_millis(50);
    let mut talk = Talk::with(&settings);
    talk.ask(1, KnownMethod::ToolsCall).await;
    let mut events = server.next().await.events().await;
    assert_eq!(talk.sender.abandon(1), Abandoned::Untold);
    events.message(&news(1)).await;
    talk.expect(frame(1, &news(1))).await;
    events.closed().await;
    // Nobody is told: nobody waits.
    talk.ask(2, KnownMethod::ToolsList).await;
    server.next().await.json(&result(2)).await;
    talk.expect(frame(2, &result(2))).await;
}

#[tokio::test]
async fn a_request_that_is_polled_for_can_be_given_up() {
    let mut server = Server::start().await;
    let mut settings = server.settings();
    settings.linger = Duration::ZERO;
    let talk = Talk::with(&settings);
    talk.ask(1, KnownMethod::ToolsCall).await;
    let mut events = server.next().await.events().await;
    events.send("id: 1\n\n").await;
    events.end().await;
    let polled = server.next().await;
    assert_eq!(talk.sender.abandon(1), Abandoned::Untold);
    polled.closed().await;
    assert!(server.stays_idle().await);
}
