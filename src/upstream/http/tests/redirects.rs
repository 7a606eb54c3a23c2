//! Redirects, and where the bearer token goes.

use crate::gate::UpstreamFault;
use crate::upstream::http::{Auth, HttpClient, HttpClientError, HttpEvent};
use crate::wire::{KnownMethod, Stream};

use super::kit::{Server, Talk, frame, line, result};

const TOKEN: &str = "s3cr3t-t0k3n";

fn with_token(server: &Server) -> Talk {
    let mut settings = server.settings();
    settings.auth = Some(Auth::Token(TOKEN.into()));
    Talk::with(&settings)
}

fn location(url: &str) -> String {
    format!("Location: {url}\r\n")
}

#[tokio::test]
async fn the_token_is_in_every_request_to_the_server() {
    let mut server = Server::start().await;
    let mut talk = with_token(&server);
    let bearer = format!("Bearer {TOKEN}");
    talk.ask(1, KnownMethod::Initialize).await;
    let asked = server.next().await;
    assert_eq!(asked.header("authorization"), Some(bearer.as_str()));
    asked
        .json_with("Mcp-Session-Id: s1\r\n", super::kit::INITIALIZED)
        .await;
    talk.next().await;
    talk.notify(KnownMethod::Initialized).await;
    let asked = server.next().await;
    assert_eq!(asked.header("authorization"), Some(bearer.as_str()));
    asked.status("202 Accepted").await;
    let asked = server.next().await;
    assert_eq!(
        (asked.method.as_str(), asked.header("authorization")),
        ("GET", Some(&*bearer))
    );
    asked.status("405 Method Not Allowed").await;
    let ended = async {
        let asked = server.next().await;
        assert_eq!(
            (asked.method.as_str(), asked.header("authorization")),
            ("DELETE", Some(&*bearer))
        );
        asked.status("200 OK").await;
    };
    tokio::join!(talk.sender.stop(), ended);
}

#[tokio::test]
async fn a_redirect_to_another_origin_is_not_followed_and_nothing_is_sent_there() {
    let mut server = Server::start().await;
    let mut other = Server::start().await;
    let mut talk = with_token(&server);
    let port = server.url.port().unwrap();
    let elsewhere = [
        other.url.to_string(),
        // The same port of what is another host by name.
        format!("http://127.0.0.1:{port}/mcp"),
        format!("https://localhost:{port}/mcp"),
        format!("http://user:password@localhost:{port}/mcp"),
        format!("http://:password@localhost:{port}/mcp"),
        "file:///etc/passwd".to_owned(),
        "//169.254.169.254/latest/meta-data".to_owned(),
    ];
    for status in [
        "307 Temporary Redirect",
        "308 Permanent Redirect",
        "302 Found",
        "303 See Other",
    ] {
        for place in &elsewhere {
            talk.ask(1, KnownMethod::ToolsCall).await;
            server
                .next()
                .await
                .answer(status, &location(place), "")
                .await;
            let HttpEvent::Failed {
                stream,
                fault: UpstreamFault::BadReply(what),
            } = talk.next().await
            else {
                panic!("{status} to {place} was followed");
            };
            assert_eq!(stream, Stream::numbered(1));
            assert!(what.contains("redirects"), "{what}");
            assert!(!what.contains(place.as_str()), "{what}");
        }
    }
    assert!(server.stays_idle().await);
    assert!(other.stays_idle().await);
}

#[tokio::test]
async fn a_redirect_within_the_origin_is_followed_once_with_the_same_message() {
    let mut server = Server::start().await;
    let mut talk = with_token(&server);
    for status in ["307 Temporary Redirect", "308 Permanent Redirect"] {
        talk.ask(1, KnownMethod::ToolsCall).await;
        server
            .next()
            .await
            .answer(status, &location("/mcp/"), "")
            .await;
        let asked = server.next().await;
        assert_eq!(
            (asked.method.as_str(), asked.path.as_str()),
            ("POST", "/mcp/")
        );
        assert_eq!(asked.body, line(1, KnownMethod::ToolsCall));
        assert_eq!(
            asked.header("authorization"),
            Some(&*format!("Bearer {TOKEN}"))
        );
        asked.json(&result(1)).await;
        talk.expect(frame(1, &result(1))).await;
    }
    // Twice is one too many, and a method that changes is another request.
    talk.ask(1, KnownMethod::ToolsCall).await;
    server
        .next()
        .await
        .answer("307 Temporary Redirect", &location("/a"), "")
        .await;
    server
        .next()
        .await
        .answer("307 Temporary Redirect", &location("/b"), "")
        .await;
    assert!(matches!(talk.next().await, HttpEvent::Failed { .. }));
    for status in ["301 Moved Permanently", "302 Found", "303 See Other"] {
        talk.ask(1, KnownMethod::ToolsCall).await;
        server
            .next()
            .await
            .answer(status, &location("/mcp/"), "")
            .await;
        assert!(matches!(talk.next().await, HttpEvent::Failed { .. }));
    }
    assert!(server.stays_idle().await);
}

#[tokio::test]
async fn the_token_is_in_no_debug_output_and_in_no_error() {
    let server = Server::start().await;
    let mut settings = server.settings();
    settings.auth = Some(Auth::Token(TOKEN.into()));
    settings.url.set_query(Some("key=s3cr3t-qu3ry"));
    let client = HttpClient::new(&settings).unwrap();
    let (sender, events) = client.connect();
    let shown = format!("{settings:?} {client:?} {sender:?} {events:?}");
    assert!(!shown.contains("s3cr3t"), "{shown}");
    for token in ["", "two words", "s3cr3t\r\nX: y", "s3cr3t\u{fc}"] {
        settings.auth = Some(Auth::Token(token.into()));
        let error = HttpClient::new(&settings).unwrap_err();
        assert_eq!(error, HttpClientError::Token);
        assert!(!format!("{error} {error:?}").contains("s3cr3t"));
    }
}
