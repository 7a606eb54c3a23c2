//! How sessions end, and how others begin.

use tokio::net::TcpListener;
use url::Url;

use crate::gate::{Upstream, UpstreamFault};
use crate::upstream::http::{HttpEvent, HttpGiveUp, Loss};
use crate::wire::{KnownMethod, Stream};

use super::kit::{INITIALIZED, Server, Talk, frame, result};

async fn expect_death(talk: &mut Talk, loss: Loss) {
    let HttpEvent::Died {
        reason,
        will_restart_in,
    } = talk.next().await
    else {
        panic!("no death");
    };
    assert_eq!(reason, loss);
    assert!(will_restart_in.is_some());
    talk.expect(HttpEvent::Restarted).await;
}

#[tokio::test]
async fn a_session_that_the_server_forgot_is_lost_and_another_begins() {
    let mut server = Server::start().await;
    let mut talk = server.talk();
    talk.handshake(&mut server).await;
    talk.sender.handshake_completed();
    talk.ask(2, KnownMethod::ToolsCall).await;
    let waiting = server.next().await;
    talk.ask(3, KnownMethod::ToolsCall).await;
    let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"unknown"}}"#;
    let asked = server.next().await;
    asked
        .answer("404 Not Found", "Content-Type: application/json\r\n", error)
        .await;
    expect_death(&mut talk, Loss::SessionGone).await;
    waiting.closed().await;

    // Nobody is told that a session has ended which is gone.
    talk.ask(4, KnownMethod::Initialize).await;
    let asked = server.next().await;
    assert_eq!(
        (asked.method.as_str(), asked.header("mcp-session-id")),
        ("POST", None)
    );
    let reply = INITIALIZED.replace("\"id\":1", "\"id\":4");
    asked.json_with("Mcp-Session-Id: s2\r\n", &reply).await;
    talk.expect(frame(4, &reply)).await;
    talk.ask(5, KnownMethod::ToolsList).await;
    let asked = server.next().await;
    assert_eq!(asked.header("mcp-session-id"), Some("s2"));
    asked.json(&result(5)).await;
    talk.expect(frame(5, &result(5))).await;
}

#[tokio::test]
async fn a_notification_finds_out_too_that_the_session_is_lost() {
    let mut server = Server::start().await;
    let mut talk = server.talk();
    talk.handshake(&mut server).await;
    talk.notify(KnownMethod::RootsListChanged).await;
    server.next().await.status("404 Not Found").await;
    expect_death(&mut talk, Loss::SessionGone).await;
}

#[tokio::test]
async fn without_a_session_id_a_404_is_no_more_than_a_failure() {
    let mut server = Server::start().await;
    let mut talk = server.talk();
    talk.handshake_as(&mut server, "").await;
    server.next().await.status("405 Method Not Allowed").await;
    talk.ask(2, KnownMethod::ToolsCall).await;
    server.next().await.status("404 Not Found").await;
    talk.expect(HttpEvent::Failed {
        stream: Stream::numbered(2),
        fault: UpstreamFault::Status(404),
    })
    .await;
}

/// Where nobody listens.
async fn nowhere() -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    Url::parse(&format!("http://{address}/mcp")).unwrap()
}

#[tokio::test]
async fn a_server_that_was_never_reached_is_given_up_after_some_tries() {
    let mut settings = Server::start().await.settings();
    settings.url = nowhere().await;
    let mut talk = Talk::with(&settings);
    for life in 1..=settings.backoff.tries {
        talk.ask(u64::from(life), KnownMethod::Initialize).await;
        let HttpEvent::Died {
            reason: Loss::Unreachable(cause),
            will_restart_in,
        } = talk.next().await
        else {
            panic!("no death");
        };
        assert!(cause.contains("refused"), "{cause}");
        assert_eq!(will_restart_in.is_some(), life < settings.backoff.tries);
        if will_restart_in.is_some() {
            talk.expect(HttpEvent::Restarted).await;
        }
    }
    for _ in 0..2 {
        let HttpEvent::GaveUp {
            reason: HttpGiveUp::NeverReady { tries: 3, .. },
        } = talk.next().await
        else {
            panic!("not given up");
        };
    }
}

#[tokio::test]
async fn a_server_that_was_ready_once_is_never_given_up() {
    let mut settings = Server::start().await.settings();
    settings.url = nowhere().await;
    let mut talk = Talk::with(&settings);
    talk.sender.handshake_completed();
    for id in 1..=10 {
        talk.ask(id, KnownMethod::Initialize).await;
        let HttpEvent::Died {
            will_restart_in: Some(_),
            ..
        } = talk.next().await
        else {
            panic!("no death");
        };
        talk.expect(HttpEvent::Restarted).await;
    }
}

#[tokio::test]
async fn without_sessions_a_server_that_cannot_be_reached_fails_one_request() {
    let mut settings = Server::start().await.settings();
    settings.url = nowhere().await;
    let mut talk = Talk::with(&settings);
    for id in 1..10 {
        talk.ask_stateless(id, KnownMethod::ToolsCall).await;
        let HttpEvent::Failed {
            stream,
            fault: UpstreamFault::Unreachable(_),
        } = talk.next().await
        else {
            panic!("not unreachable");
        };
        assert_eq!(stream, Stream::numbered(id));
    }
}

#[tokio::test]
async fn a_session_of_no_use_is_ended_at_the_server_and_another_begins() {
    let mut server = Server::start().await;
    let mut talk = server.talk();
    talk.handshake(&mut server).await;
    talk.sender.restart();
    expect_death(&mut talk, Loss::Unfit).await;
    let asked = server.next().await;
    assert_eq!(
        (asked.method.as_str(), asked.header("mcp-session-id")),
        ("DELETE", Some("s1"))
    );
    asked.status("405 Method Not Allowed").await;
    talk.ask(2, KnownMethod::Initialize).await;
    assert_eq!(server.next().await.header("mcp-session-id"), None);
}

#[tokio::test]
async fn after_the_stop_nothing_is_sent_and_nothing_begins() {
    let mut server = Server::start().await;
    let mut settings = server.settings();
    settings.notice_timeout = super::kit::SHORT;
    let mut talk = Talk::with(&settings);
    talk.handshake(&mut server).await;
    talk.ask(2, KnownMethod::ToolsCall).await;
    let waiting = server.next().await;
    // The server does not answer the DELETE; that keeps nobody.
    talk.sender.stop().await;
    assert_eq!(server.next().await.method, "DELETE");
    waiting.closed().await;
    let stream = Stream::MAIN;
    let carried = super::kit::request(3, KnownMethod::ToolsCall, None);
    let passage = crate::gate::Passage {
        proof: None,
        stream,
        carried,
        trace: None,
    };
    let refused = talk.sender.carry(passage, "{}".to_owned()).await;
    assert_eq!(refused, Err(UpstreamFault::Down));
    let HttpEvent::Died {
        will_restart_in: None,
        ..
    } = talk.next().await
    else {
        panic!("no death");
    };
    for _ in 0..2 {
        talk.expect(HttpEvent::GaveUp {
            reason: HttpGiveUp::Stopped,
        })
        .await;
    }
}

#[tokio::test]
async fn a_session_that_nobody_listens_to_any_more_is_ended_at_the_server() {
    let mut server = Server::start().await;
    let mut talk = server.talk();
    talk.handshake(&mut server).await;
    let Talk { sender, events } = talk;
    drop(events);
    let stopped = tokio::spawn(async move { sender.stop().await });
    let asked = server.next().await;
    assert_eq!(
        (asked.method.as_str(), asked.header("mcp-session-id")),
        ("DELETE", Some("s1"))
    );
    asked.status("200 OK").await;
    stopped.await.unwrap();
}

#[tokio::test]
async fn who_drops_a_conversation_closes_its_streams() {
    let mut server = Server::start().await;
    let talk = server.talk();
    talk.ask(1, KnownMethod::ToolsCall).await;
    let waiting = server.next().await;
    let Talk { sender, events } = talk;
    drop(events);
    waiting.closed().await;
    drop(sender);
}

#[tokio::test]
async fn a_conversation_that_is_killed_tells_the_server_nothing() {
    let mut server = Server::start().await;
    let mut talk = server.talk();
    talk.handshake(&mut server).await;
    talk.ask(2, KnownMethod::ToolsCall).await;
    let waiting = server.next().await;
    talk.sender.kill();
    waiting.closed().await;
    assert!(matches!(talk.next().await, HttpEvent::Died { .. }));
    let reason = HttpGiveUp::Stopped;
    talk.expect(HttpEvent::GaveUp { reason }).await;
    assert!(server.stays_idle().await);
}
