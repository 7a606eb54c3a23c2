//! Agents that write whatever bytes they like, in front of a server that records what it gets.

mod bytes;
mod cancel;
mod ends;
mod existence;
mod identity;
mod ids;
mod params;
mod samples;
mod secrets;
mod signals;

use crate::hostile::dialogue::{Past, Talk};
use crate::hostile::envelope::Envelope;

/// A frame, and the answer to it: the JSON text of its id, and its code.
struct Attack<'a> {
    frame: &'a [u8],
    answer: Option<(&'a str, i64)>,
}

const fn attack<'a>(frame: &'a [u8], id: &'a str, code: i64) -> Attack<'a> {
    Attack {
        frame,
        answer: Some((id, code)),
    }
}

/// For what is no request: nothing is said about it, nothing is done.
const fn dropped(frame: &[u8]) -> Attack<'_> {
    Attack {
        frame,
        answer: None,
    }
}

/// Plays attacks in one session. Each is answered as its row says, once; none reaches the server;
/// each is recorded; and after each one the next valid request works.
fn none_of(attacks: &[Attack<'_>]) -> Past {
    let mut talk = Talk::with("proper", &[]);
    talk.open();
    talk.ask("\"list\"", r#""tools/list""#);
    for (number, attack) in attacks.iter().enumerate() {
        let shown = String::from_utf8_lossy(attack.frame);
        let shown: String = shown.chars().take(200).collect();
        talk.gate.write(attack.frame);
        talk.gate.write(b"\n");
        if let Some((id, code)) = attack.answer {
            let answer = talk.gate.receive().unwrap().to_owned();
            let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"#);
            assert!(answer.starts_with(&start), "{shown}\n{answer}");
        }
        let id = format!("\"next-{number}\"");
        talk.request(&id, r#""ping""#);
        let answer = talk.gate.receive().unwrap();
        let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        assert_eq!(answer, expected, "after {shown}");
    }
    let past = talk.close();
    assert_eq!(past.ended.code, Some(0));
    past.server_got_nothing_denied();
    let received = past.received.lines().count();
    // The handshake is two messages, the list is one, and there is a ping after each attack.
    assert_eq!(received, 3 + attacks.len(), "{}", past.received);
    let refused = past.audit.iter().filter(|record| {
        let decision = record.get("decision");
        decision.is_some_and(|decision| decision != "ALLOW")
    });
    assert_eq!(refused.count(), attacks.len(), "{:#?}", past.audit);
    past
}

/// The messages with this method that the server received.
fn received(past: &Past, method: &str) -> Vec<String> {
    let lines = past.received.lines();
    lines
        .filter(|line| Envelope::read(line).method.as_deref() == Some(method))
        .map(str::to_owned)
        .collect()
}
