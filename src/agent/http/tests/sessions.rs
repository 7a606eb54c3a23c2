//! Sessions: whose they are, how they end, what is heard on their streams.

use std::time::Duration;

use super::agent::{Agent, Request, field};
use super::rig::{INITIALIZE, Played, RESULT, Rig, note, patient, refusal, reply};
use crate::agent::http::Settings;
use crate::wire::Stream;

const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

fn ping(id: &str) -> Request {
    Request::post(PING)
        .session(id)
        .header("MCP-Protocol-Version", "2025-11-25")
}

fn listen(id: &str) -> Request {
    Request::get()
        .session(id)
        .header("MCP-Protocol-Version", "2025-11-25")
}

fn data(event: &[(String, String)]) -> String {
    field(&event.to_vec(), "data").unwrap().to_owned()
}

/// A POST that was answered with a stream: its number, and the stream after its first note.
async fn streaming(rig: &Rig, id: &str, gate: &mut Played) -> (Stream, Agent) {
    let mut agent = rig.agent().await;
    agent.send(&ping(id)).await;
    let (stream, _) = gate.frame().await;
    gate.note(stream, 1).await;
    let answer = agent.answer().await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert_eq!(answer.header("x-accel-buffering"), Some("no"));
    (stream, agent)
}

#[tokio::test]
async fn another_agents_session_does_not_exist() {
    let mut rig = Rig::of_two().await;
    let (id, mut gate) = rig.session_of(Some("alpha")).await;
    let (_other, _) = rig.session_of(Some("beta")).await;
    let never = "f".repeat(id.len());
    for request in [
        Request::post(PING),
        Request::post(INITIALIZE),
        Request::post("{"),
        Request::get(),
        Request::get().header("Last-Event-ID", "0-0"),
        Request::new("DELETE"),
    ] {
        let theirs = rig
            .agent()
            .await
            .ask(&request.clone().session(&id).token_of("beta"))
            .await;
        let nobodys = rig
            .agent()
            .await
            .ask(&request.session(&never).token_of("beta"))
            .await;
        assert_eq!(theirs.status, 404);
        assert_eq!((theirs.status, theirs.body), (nobodys.status, nobodys.body));
    }
    assert!(gate.hears_nothing().await, "nothing reached it");
    let mut agent = rig.agent().await;
    agent.send(&ping(&id).token_of("alpha")).await;
    gate.answer("{}").await;
    assert_eq!(agent.answer().await.status, 200);
}

#[tokio::test]
async fn notifications_and_replies_are_taken_at_once() {
    let mut rig = Rig::new().await;
    let (id, mut gate) = rig.session().await;
    for text in [INITIALIZED, r#"{"jsonrpc":"2.0","id":"s1","result":{}}"#] {
        let answer = rig
            .agent()
            .await
            .ask(&Request::post(text).session(&id))
            .await;
        assert_eq!((answer.status, &*answer.body), (202, ""));
        assert_eq!(gate.frame().await.1, text);
    }
}

#[tokio::test]
async fn a_session_ends_with_delete_and_is_unknown_from_then_on() {
    let mut rig = Rig::new().await;
    let (id, mut gate) = rig.session().await;
    let mut listening = rig.agent().await;
    assert_eq!(listening.ask(&listen(&id)).await.status, 200);
    let mut waiting = rig.agent().await;
    waiting.send(&ping(&id)).await;
    let (stream, _) = gate.frame().await;
    let delete = Request::new("DELETE").session(&id);
    assert_eq!(rig.agent().await.ask(&delete).await.status, 204);
    assert_eq!(gate.inbox.recv().await, None);
    while listening.event().await.is_some() {}
    // Whoever waits hears of it from the gate, and so under the id of its request.
    gate.reply(stream, RESULT, &reply("7", "{}")).await;
    let answer = waiting.answer().await;
    assert_eq!((answer.status, answer.at("/id")), (200, 7.into()));
    for request in [ping(&id), listen(&id), delete] {
        assert_eq!(rig.agent().await.ask(&request).await.status, 404);
    }
}

#[tokio::test]
async fn a_session_that_the_gate_gave_up_is_unknown_from_then_on() {
    let mut rig = Rig::new().await;
    let (id, mut gate) = rig.session().await;
    let mut waiting = rig.agent().await;
    waiting.send(&ping(&id)).await;
    gate.frame().await;
    drop(gate);
    let answer = waiting.answer().await;
    assert_eq!((answer.status, answer.at("/id")), (404, 7.into()));
    let message = answer.at("/error/message");
    assert_eq!(message, "the session has ended");
    assert_eq!(rig.agent().await.ask(&ping(&id)).await.status, 404);
}

#[tokio::test]
async fn a_session_without_anything_ends_and_one_that_is_listened_to_does_not() {
    let mut rig = Rig::with(Settings {
        session_idle_timeout: Duration::from_millis(500),
        ..patient()
    })
    .await;
    let (held, mut gate_of_held) = rig.session().await;
    let mut listening = rig.agent().await;
    assert_eq!(listening.ask(&listen(&held)).await.status, 200);
    let (idle, mut gate) = rig.session().await;
    assert_eq!(gate.inbox.recv().await, None, "it ends by itself");
    assert_eq!(rig.agent().await.ask(&ping(&idle)).await.status, 404);
    assert!(gate_of_held.hears_nothing().await);
    let mut agent = rig.agent().await;
    agent.send(&ping(&held)).await;
    gate_of_held.answer("{}").await;
    assert_eq!(agent.answer().await.status, 200);
}

#[tokio::test]
async fn a_reply_after_other_messages_comes_on_the_stream_of_its_request_and_ends_it() {
    let mut rig = Rig::new().await;
    let (id, mut gate) = rig.session().await;
    let (stream, mut agent) = streaming(&rig, &id, &mut gate).await;
    gate.note(stream, 2).await;
    gate.reply(stream, RESULT, &reply("7", "{}")).await;
    let number = stream.number();
    let mut expected = vec![(format!("{number}-0"), String::new())];
    for (index, line) in [note(1), note(2), reply("7", "{}")].into_iter().enumerate() {
        expected.push((format!("{number}-{}", index + 1), line));
    }
    for (name, line) in expected {
        let event = agent.message().await.unwrap();
        assert_eq!(field(&event, "id"), Some(&*name));
        assert_eq!(data(&event), line);
    }
    assert_eq!(agent.event().await, None);
    // The connection is good for the next one.
    agent.send(&ping(&id)).await;
    gate.answer("{}").await;
    assert_eq!(agent.answer().await.status, 200);
}

#[tokio::test]
async fn agents_of_before_the_empty_event_do_not_get_it() {
    let mut rig = Rig::new().await;
    let (id, gate) = rig.session().await;
    for version in [None, Some("2025-03-26"), Some("2025-06-18")] {
        let mut agent = rig.agent().await;
        let request = Request::get()
            .session(&id)
            .instead("MCP-Protocol-Version", version);
        assert_eq!(agent.ask(&request).await.status, 200);
        gate.note(Stream::MAIN, 1).await;
        assert_eq!(
            data(&agent.message().await.unwrap()),
            note(1),
            "{version:?}"
        );
    }
}

#[tokio::test]
async fn a_version_that_has_no_sessions_or_is_none_is_refused() {
    let mut rig = Rig::new().await;
    let (id, mut gate) = rig.session().await;
    for version in ["1999-01-01", "latest", "2025-11-24", ""] {
        for request in [Request::post(PING), Request::get()] {
            let request = request.session(&id).header("MCP-Protocol-Version", version);
            assert_eq!(
                rig.agent().await.ask(&request).await.status,
                400,
                "{version}"
            );
        }
    }
    for method in ["GET", "DELETE"] {
        let request = Request::new(method)
            .session(&id)
            .header("Accept", "*/*")
            .header("MCP-Protocol-Version", "2026-07-28");
        let answer = rig.agent().await.ask(&request).await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
    }
    assert!(gate.hears_nothing().await);
}

#[tokio::test]
async fn what_belongs_to_no_request_comes_on_the_stream_of_a_get_and_waits_for_one() {
    let mut rig = Rig::new().await;
    let (id, gate) = rig.session().await;
    gate.note(Stream::MAIN, 1).await;
    gate.note(Stream::numbered(999), 2).await;
    let mut agent = rig.agent().await;
    agent.ask(&listen(&id)).await;
    assert_eq!(field(&agent.message().await.unwrap(), "id"), Some("0-0"));
    for number in [1, 2] {
        assert_eq!(data(&agent.message().await.unwrap()), note(number));
    }
    // A second one takes over, and nothing is told twice.
    let mut second = rig.agent().await;
    second.ask(&listen(&id)).await;
    while agent.event().await.is_some() {}
    gate.note(Stream::MAIN, 3).await;
    assert_eq!(field(&second.message().await.unwrap(), "id"), Some("0-2"));
    assert_eq!(data(&second.message().await.unwrap()), note(3));
}

#[tokio::test]
async fn a_stream_is_resumed_after_the_last_event_that_was_heard() {
    let mut rig = Rig::new().await;
    let (id, mut gate) = rig.session().await;
    let (stream, agent) = streaming(&rig, &id, &mut gate).await;
    // The connection breaks, which ends nothing.
    drop(agent);
    gate.note(stream, 2).await;
    let resume =
        |index: u32| listen(&id).header("Last-Event-ID", &format!("{}-{index}", stream.number()));
    for after in [0, 1, 2] {
        let mut agent = rig.agent().await;
        agent.ask(&resume(after)).await;
        assert_eq!(data(&agent.message().await.unwrap()), "");
        for number in after + 1..=2 {
            assert_eq!(
                data(&agent.message().await.unwrap()),
                note(number),
                "{after}"
            );
        }
    }
    gate.reply(stream, RESULT, &reply("7", "{}")).await;
    // Whoever lost the reply as well gets it again.
    for _ in 0..2 {
        let mut agent = rig.agent().await;
        agent.ask(&resume(1)).await;
        agent.message().await.unwrap();
        assert_eq!(data(&agent.message().await.unwrap()), note(2));
        assert_eq!(data(&agent.message().await.unwrap()), reply("7", "{}"));
        assert_eq!(agent.event().await, None);
    }
    assert!(
        gate.hears_nothing().await,
        "a broken connection is told to nobody"
    );
    for (unknown, expected) in [
        ("999-0", 400),
        ("0-9", 400),
        ("x", 400),
        ("1", 400),
        ("-1-2", 400),
        ("+0-0", 400),
    ] {
        let request = listen(&id).header("Last-Event-ID", unknown);
        assert_eq!(
            rig.agent().await.ask(&request).await.status,
            expected,
            "{unknown}"
        );
    }
}

#[tokio::test]
async fn what_is_kept_for_those_who_come_back_is_limited() {
    let mut rig = Rig::with(Settings {
        stream_bytes: 4000,
        ..patient()
    })
    .await;
    let (id, mut gate) = rig.session().await;
    let (stream, agent) = streaming(&rig, &id, &mut gate).await;
    drop(agent);
    for number in 2..1000 {
        gate.note(stream, number).await;
        gate.note(Stream::MAIN, number).await;
    }
    gate.reply(stream, RESULT, &reply("7", "{}")).await;
    let mut agent = rig.agent().await;
    let name = format!("{}-1", stream.number());
    agent.ask(&listen(&id).header("Last-Event-ID", &name)).await;
    let mut heard = Vec::new();
    while let Some(event) = agent.message().await {
        heard.push(data(&event));
    }
    assert!((10..100).contains(&heard.len()), "{}", heard.len());
    assert_eq!(heard.last().unwrap(), &reply("7", "{}"));
    assert_eq!(heard[heard.len() - 2], note(999));
}

#[tokio::test]
async fn an_agent_that_does_not_read_loses_its_stream_and_holds_up_nobody() {
    let mut rig = Rig::with(Settings {
        stream_bytes: 100_000,
        slow_reader: Duration::from_millis(20),
        ..patient()
    })
    .await;
    let (id, mut gate) = rig.session().await;
    let (stream, mut deaf) = streaming(&rig, &id, &mut gate).await;
    let long = format!(r#"{{"long":"{}"}}"#, "a".repeat(50_000));
    // More than sockets hold on the way.
    for _ in 0..400 {
        gate.reply(stream, crate::agent::http::channel::Piece::Other, &long)
            .await;
    }
    let mut agent = rig.agent().await;
    agent.send(&ping(&id)).await;
    gate.answer("{}").await;
    assert_eq!(agent.answer().await.status, 200);
    let mut heard = 0;
    while deaf.event().await.is_some() {
        heard += 1;
    }
    assert!(heard < 400, "its stream ended: {heard}");
}

#[tokio::test]
async fn a_stream_opens_when_the_reply_takes_long_and_is_kept_alive() {
    let mut rig = Rig::with(Settings {
        stream_after: Duration::from_millis(20),
        keep_alive: Duration::from_millis(20),
        ..patient()
    })
    .await;
    let (id, mut gate) = rig.session().await;
    let mut agent = rig.agent().await;
    let answer = agent.ask(&ping(&id)).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let (stream, _) = gate.frame().await;
    let first = agent.event().await.unwrap();
    assert_eq!(
        field(&first, "id"),
        Some(&*format!("{}-0", stream.number()))
    );
    for _ in 0..2 {
        assert_eq!(agent.event().await, Some(Vec::new()), "a comment");
    }
    gate.reply(stream, RESULT, &reply("7", "{}")).await;
    assert_eq!(data(&agent.message().await.unwrap()), reply("7", "{}"));
    assert_eq!(agent.event().await, None);
}

#[tokio::test]
async fn a_request_that_was_cancelled_leaves_no_connection_waiting() {
    let mut rig = Rig::new().await;
    let (id, mut gate) = rig.session().await;
    let mut agent = rig.agent().await;
    agent.send(&ping(&id)).await;
    let (stream, _) = gate.frame().await;
    gate.streams.close(stream);
    assert_eq!(agent.answer().await.status, 202);
    let (stream, mut agent) = streaming(&rig, &id, &mut gate).await;
    gate.streams.close(stream);
    while agent.event().await.is_some() {}
}

#[tokio::test]
async fn a_frame_of_a_session_that_is_no_message_is_the_gates_to_answer() {
    let mut rig = Rig::new().await;
    let (id, mut gate) = rig.session().await;
    let text = r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}"#;
    let mut agent = rig.agent().await;
    agent.send(&Request::post(text).session(&id)).await;
    let (stream, came) = gate.frame().await;
    assert_eq!(came, text);
    let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}"#;
    gate.reply(stream, refusal(-32600), error).await;
    let answer = agent.answer().await;
    assert_eq!((answer.status, &*answer.body), (400, error));
    // What seems to be a reply is not answered by the gate.
    let text = r#"{"jsonrpc":"2.0","id":"s","result":{},"error":{}}"#;
    assert_eq!(
        agent.ask(&Request::post(text).session(&id)).await.status,
        400
    );
    assert_eq!(gate.frame().await.1, text);
    assert_eq!(rig.refused(), [""; 0], "it is in the gate's records");
}

#[tokio::test]
async fn what_comes_before_the_reply_to_initialize_waits_for_a_get() {
    let mut rig = Rig::new().await;
    let mut agent = rig.agent().await;
    agent.send(&Request::post(INITIALIZE)).await;
    let mut gate = rig.arrival().await;
    let (stream, _) = gate.frame().await;
    gate.note(stream, 1).await;
    gate.reply(stream, RESULT, &reply("0", "{}")).await;
    let answer = agent.answer().await;
    assert_eq!(answer.body, reply("0", "{}"));
    let id = answer.header("mcp-session-id").unwrap().to_owned();
    agent.ask(&listen(&id)).await;
    agent.message().await.unwrap();
    assert_eq!(data(&agent.message().await.unwrap()), note(1));
}

#[tokio::test]
async fn an_agent_that_goes_before_its_session_began_leaves_none() {
    let mut rig = Rig::new().await;
    let mut agent = rig.agent().await;
    agent.send(&Request::post(INITIALIZE)).await;
    let mut gate = rig.arrival().await;
    gate.frame().await;
    drop(agent);
    assert_eq!(gate.inbox.recv().await, None);
}

#[tokio::test]
async fn no_line_end_gets_into_an_event() {
    let mut rig = Rig::new().await;
    let (id, mut gate) = rig.session().await;
    let (stream, mut agent) = streaming(&rig, &id, &mut gate).await;
    for forged in [
        "{}\n\ndata: {\"forged\":1}",
        "{}\revent: forged",
        "{}\r\nid: 9",
    ] {
        gate.reply(stream, crate::agent::http::channel::Piece::Other, forged)
            .await;
    }
    gate.reply(stream, RESULT, &reply("7", "{}")).await;
    agent.message().await.unwrap();
    agent.message().await.unwrap();
    for _ in 0..3 {
        assert_eq!(data(&agent.message().await.unwrap()), "");
    }
    assert_eq!(data(&agent.message().await.unwrap()), reply("7", "{}"));
}

#[tokio::test]
async fn at_the_end_what_waits_is_answered_and_listening_ends() {
    let mut rig = Rig::new().await;
    let (id, mut gate) = rig.session().await;
    let mut listening = rig.agent().await;
    listening.ask(&listen(&id)).await;
    let mut waiting = rig.agent().await;
    waiting.send(&ping(&id)).await;
    let (stream, _) = gate.frame().await;
    rig.stop();
    while listening.event().await.is_some() {}
    gate.reply(stream, RESULT, &reply("7", "{}")).await;
    assert_eq!(waiting.answer().await.status, 200);
    waiting.closed().await;
    (&mut rig.serving).await.unwrap();
    assert_eq!(gate.inbox.recv().await, None);
}

#[tokio::test]
async fn of_many_streams_that_have_ended_only_the_latest_are_kept() {
    let mut rig = Rig::new().await;
    let (id, mut gate) = rig.session().await;
    let mut streams = Vec::new();
    for _ in 0..100 {
        let (stream, agent) = streaming(&rig, &id, &mut gate).await;
        drop(agent);
        gate.reply(stream, RESULT, &reply("7", "{}")).await;
        streams.push(stream);
    }
    let mut known = 0;
    for stream in &streams {
        let name = format!("{}-1", stream.number());
        let request = listen(&id).header("Last-Event-ID", &name);
        known += usize::from(rig.agent().await.ask(&request).await.status == 200);
    }
    assert!((1..=40).contains(&known), "{known}");
}

#[tokio::test]
async fn a_message_that_names_a_revision_with_sessions_is_of_its_session() {
    let mut rig = Rig::new().await;
    let (id, mut gate) = rig.session().await;
    let named = |revision: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"ping","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{revision}"}}}}}}"#
        )
    };
    for revision in ["2025-11-25", "2024-11-05"] {
        let mut agent = rig.agent().await;
        agent
            .send(&Request::post(&named(revision)).session(&id))
            .await;
        gate.answer("{}").await;
        assert_eq!(agent.answer().await.status, 200, "{revision}");
        let nowhere = rig
            .agent()
            .await
            .ask(&Request::post(&named(revision)))
            .await;
        assert_eq!(nowhere.status, 400, "{revision}");
    }
    assert_eq!(rig.refused(), ["session_missing", "session_missing"]);
    for revision in ["2026-07-28", "2027-01-01", "x"] {
        let asked = Request::post(&named(revision)).session(&id);
        assert_eq!(
            rig.agent().await.ask(&asked).await.status,
            400,
            "{revision}"
        );
    }
    assert!(
        gate.hears_nothing().await,
        "nothing of it reached the session"
    );
}
