//! Every way in which the hostile server misbehaves, and what the agent gets to see of it.

mod lists;
mod processes;
mod replies;
mod requests;

use std::collections::BTreeSet;
use std::process::Command;
use std::thread;

use crate::hostile::dialogue::{DENIED, Past, Talk};
use crate::support::fixtures::fixture;
use crate::support::json::json;

/// The list as the agent is to see it: `evil` is not in it.
const LIST: &str = r#"{"jsonrpc":"2.0","id":"list","result":{"tools":[{"name":"safe","description":"Does no harm.","inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"Any text."}}}}]}}"#;

/// Whether a session goes on after what was done to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    Works,
    /// It does once the server was started again.
    Recovers,
    /// The server's output is past repair, or the server does not read its input.
    Dead,
}

/// A conversation: a handshake, a list, a call that is denied, and a call that is not.
struct Heard {
    opened: String,
    listed: String,
    called: String,
    past: Past,
}

fn converse(mode: &str, limits: &[&str], after: After) -> Heard {
    let mut talk = Talk::with(mode, limits);
    let opened = talk.open();
    let listed = talk.ask("\"list\"", r#""tools/list""#);
    talk.call("\"denied\"", "evil", DENIED);
    let denied = talk.answer("\"denied\"");
    assert!(denied.contains(r#""error":{"code":-326"#), "{denied}");
    talk.call("7", "safe", "x");
    let called = talk.answer("7");
    match after {
        After::Works => {
            let answer = talk.ask("\"after\"", r#""ping""#);
            assert_eq!(answer, r#"{"jsonrpc":"2.0","id":"after","result":{}}"#);
        }
        After::Recovers => talk.recover(),
        After::Dead => {}
    }
    let past = talk.end();
    assert_eq!(past.ended.code, Some(0), "{}", past.ended.stderr);
    Heard {
        opened,
        listed,
        called,
        past,
    }
}

impl Heard {
    /// Everything up to the call went as it should, and nothing forged arrived.
    fn is_clean(&self) -> &Self {
        assert!(self.opened.contains(r#""name":"hostile-server""#));
        assert_eq!(self.listed, LIST);
        self.saw_nothing_forged()
    }

    fn saw_nothing_forged(&self) -> &Self {
        assert_eq!(self.past.agent_saw("forged"), [""; 0]);
        self
    }

    fn call_failed_with(&self, problem: &str) {
        let error = &json(&self.called)["error"];
        assert_eq!(error["code"], -32603, "{}", self.called);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(problem), "{message}");
    }
}

/// Plays rows side by side, a few at a time, and names all that fail.
fn each<R: Sync>(rows: &[R], name: fn(&R) -> &str, play: impl Fn(&R) + Sync) {
    let mut failed = Vec::new();
    for rows in rows.chunks(4) {
        thread::scope(|scope| {
            let play = &play;
            let playing: Vec<_> = rows
                .iter()
                .map(|row| scope.spawn(move || play(row)))
                .collect();
            for (row, played) in rows.iter().zip(playing) {
                if played.join().is_err() {
                    failed.push(name(row));
                }
            }
        });
    }
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn every_mode_of_the_fixture_is_played() {
    let listed = Command::new(fixture("hostile-server"))
        .arg("--list")
        .output();
    let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
    let readme = include_str!("../../../fixtures/README.md");
    let mut names = BTreeSet::new();
    for line in listed.lines() {
        let (name, about) = line.split_once(' ').unwrap();
        assert!(names.insert(name), "`{name}` names two modes");
        assert!(!about.trim().is_empty(), "`{name}` says nothing of itself");
        let quoted = format!("`{name}`");
        assert!(readme.contains(&quoted), "{quoted} is not in the readme");
    }
    let alone = [
        "guessed-replies",
        "long-number",
        "hostile-log",
        "flood-notifications",
        "flood-list-changed",
        "ask-many",
        "die-after-reply",
        "exit-after-initialize",
        "ask-ping-as-another",
        "deaf-after-list",
    ];
    let alike = [
        replies::STRAY,
        requests::NEWS,
        processes::DEAF,
        processes::DISAGREEING,
        processes::STUBBORN,
    ];
    let pairs = [
        replies::REFUSED,
        replies::ODD,
        processes::HANDSHAKES,
        processes::DYING,
    ];
    let played: BTreeSet<&str> = alike
        .into_iter()
        .chain([&alone[..]])
        .flatten()
        .copied()
        .chain(pairs.into_iter().flatten().map(|row| row.0))
        .chain(replies::ONE_LINE.iter().map(|row| row.0))
        .chain(replies::TIMED_OUT.iter().map(|row| row.0))
        .chain(lists::LISTS.iter().map(|row| row.0))
        .chain(requests::ASKS.iter().map(|row| row.0))
        .collect();
    assert_eq!(played, names);
}
