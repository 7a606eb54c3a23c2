//! One message in, its answer out.

use super::agent::{Request, field};
use super::rig::{INITIALIZE, RESULT, Rig, note, refusal, reply};
use crate::agent::http::ConversationKind;
use crate::agent::http::channel::Piece;
use crate::wire::ArrivalForm;

const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;

#[tokio::test]
async fn a_message_of_a_session_is_answered_with_its_reply() {
    let mut rig = Rig::new().await;
    let (id, mut gate) = rig.session().await;
    assert_eq!(gate.kind, ConversationKind::Session);
    assert_eq!(gate.identity.subject, "anonymous");
    assert!(id.len() >= 32 && id.bytes().all(|byte| byte.is_ascii_graphic()));

    let mut agent = rig.agent().await;
    agent.send(&Request::post(PING).session(&id)).await;
    let (stream, text) = gate.frame().await;
    assert_eq!(text, PING);
    let line = reply("7", "{}");
    gate.reply(stream, RESULT, &line).await;
    let answer = agent.answer().await;
    assert_eq!((answer.status, &*answer.body), (200, &*line));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(rig.refused(), [""; 0]);
}

#[tokio::test]
async fn a_session_begins_only_with_a_result() {
    let mut rig = Rig::new().await;
    let mut agent = rig.agent().await;
    agent.send(&Request::post(INITIALIZE)).await;
    let mut gate = rig.arrival().await;
    let (stream, _) = gate.frame().await;
    let line = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"no"}}"#;
    let piece = refusal(-32602);
    gate.reply(stream, piece, line).await;
    let answer = agent.answer().await;
    assert_eq!((answer.status, &*answer.body), (200, line));
    assert_eq!(answer.header("mcp-session-id"), None);
    assert_eq!(gate.inbox.recv().await, None, "the conversation has ended");
}

#[tokio::test]
async fn a_reply_that_came_as_an_event_goes_on_as_one() {
    let mut rig = Rig::new().await;
    let (_, mut agent, gate, stream) = rig.asked(PING).await;
    let line = reply("7", "{}");
    let piece = Piece::Reply {
        error: None,
        form: ArrivalForm::Event,
    };
    gate.reply(stream, piece, &line).await;
    let answer = agent.answer().await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let event = agent.message().await.unwrap();
    assert_eq!(field(&event, "data"), Some(&*line));
    assert_eq!(agent.event().await, None, "it is the last one");
}

#[tokio::test]
async fn a_reply_that_comes_first_is_json_and_one_behind_a_message_ends_a_stream() {
    let mut rig = Rig::new().await;
    let (id, mut agent, mut gate, stream) = rig.asked(PING).await;
    // Longer than what some clients take for one event.
    let line = reply("7", &format!("\"{}\"", "a".repeat(5 * 1024 * 1024)));
    gate.reply(stream, RESULT, &line).await;
    let answer = agent.answer().await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert!(answer.body == line, "as it was written");

    agent.send(&Request::post(PING).session(&id)).await;
    let (stream, _) = gate.frame().await;
    gate.note(stream, 1).await;
    gate.reply(stream, RESULT, &reply("7", "{}")).await;
    let answer = agent.answer().await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    for expected in [note(1), reply("7", "{}")] {
        let event = agent.message().await.unwrap();
        assert_eq!(field(&event, "data"), Some(&*expected));
    }
    assert_eq!(agent.event().await, None, "it is the last one");
}
