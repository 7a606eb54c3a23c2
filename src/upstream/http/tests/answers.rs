//! Answers that are none: each is told, with its reason, and holds up nothing.

use crate::gate::UpstreamFault;
use crate::upstream::http::HttpEvent;
use crate::wire::{ArrivalForm, DiscardReason, KnownMethod, Stream};

use super::kit::{Server, Talk, frame, news, result};

const JSON: &str = "Content-Type: application/json\r\n";
const EVENTS: &str = "Content-Type: text/event-stream\r\n";

fn failed(stream: u64, fault: UpstreamFault) -> HttpEvent {
    HttpEvent::Failed {
        stream: Stream::numbered(stream),
        fault,
    }
}

fn bad(what: &str) -> UpstreamFault {
    UpstreamFault::BadReply(what.to_owned())
}

/// Asks, lets the server answer with these bytes, and expects these events; then something else is
/// asked and answered.
async fn check(answer: &str, expected: &[HttpEvent]) {
    let mut server = Server::start().await;
    let mut talk = server.talk();
    talk.ask(1, KnownMethod::ToolsCall).await;
    server.next().await.raw(answer.as_bytes()).await;
    for event in expected {
        talk.expect(event.clone()).await;
    }
    talk.ask(2, KnownMethod::ToolsList).await;
    server.next().await.json(&result(2)).await;
    talk.expect(frame(2, &result(2))).await;
}

fn response(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
}

#[tokio::test]
async fn a_response_that_is_no_answer_fails_its_request_and_says_why() {
    let other = r#"{"jsonrpc":"2.0","id":9,"result":{}}"#;
    let (died, accepted) = (
        UpstreamFault::Died,
        "it accepts the request and does not answer it",
    );
    for (answer, fault) in [
        (response("202 Accepted", "", ""), bad(accepted)),
        (response("204 No Content", "", ""), bad(accepted)),
        (response("200 OK", JSON, ""), bad("it is empty")),
        (response("200 OK", JSON, " \n"), bad("it is empty")),
        (
            response("200 OK", "Content-Type: text/html\r\n", "<html>"),
            bad("it is neither JSON nor a stream of events"),
        ),
        (
            response("200 OK", "", &result(1)),
            bad("it is neither JSON nor a stream of events"),
        ),
        (
            response(
                "200 OK",
                &format!("{JSON}Content-Encoding: gzip\r\n"),
                "\u{1f}\u{8b}",
            ),
            bad("it is compressed, which was not asked for"),
        ),
        (
            response(
                "200 OK",
                &format!("{EVENTS}Content-Encoding: br\r\n"),
                "data: x\n\n",
            ),
            bad("it is compressed, which was not asked for"),
        ),
        (
            response("500 Internal Server Error", "", ""),
            UpstreamFault::Status(500),
        ),
        (
            response("503 Service Unavailable", JSON, "{}"),
            UpstreamFault::Status(503),
        ),
        (
            response("404 Not Found", "", ""),
            UpstreamFault::Status(404),
        ),
        (
            response("400 Bad Request", JSON, r#"{"error":"no"}"#),
            UpstreamFault::Status(400),
        ),
        (
            response("400 Bad Request", JSON, other),
            UpstreamFault::Status(400),
        ),
        (
            response("301 Moved Permanently", "Location: /elsewhere\r\n", ""),
            bad("it redirects to where the gate does not follow (301)"),
        ),
        // In the middle.
        (String::new(), died.clone()),
        ("HTTP/1.1 200 OK\r\n".to_owned(), died.clone()),
        (
            format!("HTTP/1.1 200 OK\r\n{JSON}Content-Length: 99\r\n\r\n{{"),
            died.clone(),
        ),
        (format!("HTTP/1.1 200 OK\r\n{EVENTS}\r\n"), died.clone()),
        (
            format!("HTTP/1.1 200 OK\r\n{EVENTS}\r\ndata: unfinished"),
            died.clone(),
        ),
        ("SSH-2.0-OpenSSH_9.9\r\n".to_owned(), died),
    ] {
        check(&answer, &[failed(1, fault)]).await;
    }
}

#[tokio::test]
async fn what_comes_without_an_answer_is_told_before_its_failure() {
    let other = r#"{"jsonrpc":"2.0","id":9,"result":{}}"#;
    let odd = bad("it does not answer the request");
    check(
        &response("200 OK", JSON, other),
        &[frame(1, other), failed(1, odd.clone())],
    )
    .await;
    for text in ["not JSON", "[]", "{}", "\u{feff}{}"] {
        check(
            &response("200 OK", JSON, text),
            &[frame(1, text), failed(1, odd.clone())],
        )
        .await;
    }
    check(
        &format!(
            "HTTP/1.1 200 OK\r\n{EVENTS}\r\ndata: {}\n\ndata: {other}\n\n",
            news(1)
        ),
        &[
            frame(1, &news(1)),
            frame(1, other),
            failed(1, UpstreamFault::Died),
        ],
    )
    .await;
}

#[tokio::test]
async fn an_error_of_the_protocol_is_an_answer_whatever_its_status() {
    let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#;
    for status in [
        "200 OK",
        "400 Bad Request",
        "404 Not Found",
        "500 Internal Server Error",
    ] {
        check(&response(status, JSON, error), &[frame(1, error)]).await;
    }
    // Of a login nothing is passed on.
    for (status, what) in [
        (
            "401 Unauthorized",
            "it does not accept the gate's credentials (401)",
        ),
        ("403 Forbidden", "it forbids what the gate asks (403)"),
    ] {
        let challenge = format!(
            "{JSON}WWW-Authenticate: Bearer resource_metadata=\"https://login.example/\"\r\n"
        );
        check(
            &response(status, &challenge, error),
            &[failed(1, bad(what))],
        )
        .await;
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_are_passed_on_as_they_are_and_are_no_answer() {
    let mut server = Server::start().await;
    let mut talk = server.talk();
    talk.ask(1, KnownMethod::ToolsCall).await;
    let head = format!("HTTP/1.1 200 OK\r\n{JSON}Content-Length: 2\r\n\r\n");
    server
        .next()
        .await
        .raw(&[head.as_bytes(), b"\xFF\xFE"].concat())
        .await;
    let stream = Stream::numbered(1);
    talk.expect(HttpEvent::Frame {
        stream,
        form: ArrivalForm::Whole,
        bytes: vec![0xFF, 0xFE],
    })
    .await;
    talk.expect(failed(1, bad("it does not answer the request")))
        .await;
}

#[tokio::test]
async fn what_is_longer_than_it_may_be_is_told_and_not_read_to_its_end() {
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"x":"{}"}}}}"#,
        "x".repeat(200)
    );
    for answer in [
        response("200 OK", JSON, &long),
        // Announced, and never sent.
        format!("HTTP/1.1 200 OK\r\n{JSON}Content-Length: 99999999999\r\n\r\n"),
        // Neither announced nor with an end in sight.
        format!("HTTP/1.1 200 OK\r\n{JSON}\r\n{long}"),
        format!("HTTP/1.1 200 OK\r\n{EVENTS}\r\ndata: {long}"),
        format!(
            "HTTP/1.1 200 OK\r\n{EVENTS}\r\ndata: {long}\n\ndata: {}\n\n",
            result(1)
        ),
        response("400 Bad Request", JSON, &long),
    ] {
        let mut server = Server::start().await;
        let mut settings = server.settings();
        settings.from_upstream.max_bytes = 200;
        let mut talk = Talk::with(&settings);
        talk.ask(1, KnownMethod::ToolsCall).await;
        server.next().await.raw(answer.as_bytes()).await;
        let stream = Stream::numbered(1);
        talk.expect(HttpEvent::Unread {
            stream,
            why: DiscardReason::TooLong,
        })
        .await;
        talk.expect(failed(
            1,
            bad("it is longer than `limits.max_message_bytes_to_agent`"),
        ))
        .await;
        talk.ask(2, KnownMethod::ToolsList).await;
        server.next().await.json(&result(2)).await;
        talk.expect(frame(2, &result(2))).await;
    }
}

#[tokio::test]
async fn a_flood_before_the_reply_waits_for_its_reader() {
    let mut server = Server::start().await;
    let mut talk = server.talk();
    talk.ask(1, KnownMethod::ToolsCall).await;
    let mut events = server.next().await.events().await;
    let flood = tokio::spawn(async move {
        for count in 0..20_000 {
            events.message(&news(count)).await;
        }
        events.message(&result(1)).await;
        events.end().await;
    });
    for count in 0..20_000 {
        talk.expect(frame(1, &news(count))).await;
    }
    talk.expect(frame(1, &result(1))).await;
    flood.await.unwrap();
}

#[tokio::test]
async fn a_session_id_that_cannot_be_repeated_is_no_answer_to_the_handshake() {
    let mut server = Server::start().await;
    let mut talk = server.talk();
    talk.ask(1, KnownMethod::Initialize).await;
    let asked = server.next().await;
    asked
        .json_with("Mcp-Session-Id: a b\r\n", super::kit::INITIALIZED)
        .await;
    talk.expect(failed(1, bad("its session id is malformed")))
        .await;
}

#[tokio::test]
async fn a_notification_that_is_not_accepted_holds_up_nothing() {
    let mut server = Server::start().await;
    let mut settings = server.settings();
    settings.notice_timeout = super::kit::SHORT;
    let mut talk = Talk::with(&settings);
    for answer in [
        "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
        "",
        "nonsense",
    ] {
        talk.notify(KnownMethod::RootsListChanged).await;
        server.next().await.raw(answer.as_bytes()).await;
    }
    talk.notify(KnownMethod::RootsListChanged).await;
    let _silent = server.next().await;
    talk.ask(1, KnownMethod::ToolsList).await;
    server.next().await.json(&result(1)).await;
    talk.expect(frame(1, &result(1))).await;
}

#[tokio::test]
async fn a_reply_is_told_in_the_form_in_which_it_came() {
    let mut server = Server::start().await;
    let mut talk = server.talk();
    for (id, form) in [
        (1, ArrivalForm::Whole),
        (2, ArrivalForm::Event),
        (3, ArrivalForm::Rejected),
    ] {
        talk.ask(id, KnownMethod::ToolsCall).await;
        let asked = server.next().await;
        match form {
            ArrivalForm::Whole => asked.json(&result(id)).await,
            ArrivalForm::Rejected => {
                let head = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json";
                let body = result(id);
                let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                asked.raw(answer.as_bytes()).await;
            }
            ArrivalForm::Event => {
                let mut events = asked.events().await;
                events.message(&result(id)).await;
                events.end().await;
            }
        }
        let told = HttpEvent::Frame {
            stream: Stream::numbered(id),
            form,
            bytes: result(id).into(),
        };
        assert_eq!(talk.next().await, told);
    }
}
