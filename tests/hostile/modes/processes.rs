//! Servers that are deaf, dying, or do not want to die.

use super::{After, converse, each};
use crate::hostile::dialogue::{DENIED, SAFE_RAN, Talk};

/// For requests that are no calls and are to run out of time.
const LITTLE_TIME: &str = r#"request_timeout = "4s""#;

pub(super) const HANDSHAKES: &[(&str, &str)] = &[
    ("initialize-error", "out of order"),
    (
        "initialize-unknown-version",
        "the upstream server's answer was refused: it answers `initialize` with the version",
    ),
    (
        "initialize-no-version",
        "it answers `initialize` without a version",
    ),
    ("stall-initialize", "did not answer within"),
    ("deaf", "did not answer within"),
    ("exit-in-initialize", "ended before it answered"),
    // It may be gone before it is asked.
    ("exit-at-start", "the upstream server "),
];

#[test]
fn without_a_handshake_nothing_is_listed_and_nothing_called() {
    each(
        HANDSHAKES,
        |row| row.0,
        |(mode, problem)| {
            let heard = converse(mode, &[LITTLE_TIME], After::Dead);
            heard.saw_nothing_forged();
            assert!(heard.opened.contains(problem), "{}", heard.opened);
            for answer in [&heard.listed, &heard.called] {
                assert!(answer.contains(r#""code":-32600,"#), "{answer}");
            }
            assert!(!heard.past.received.contains("tools/"));
        },
    );
}

pub(super) const DEAF: &[&str] = &["list-stall", "deaf-after-initialize"];

#[test]
fn a_server_that_does_not_list_its_tools_gets_no_calls() {
    each(
        DEAF,
        |mode| mode,
        |mode| {
            let heard = converse(mode, &[LITTLE_TIME], After::Dead);
            assert!(
                heard.listed.contains("did not answer within"),
                "{}",
                heard.listed
            );
            // The call waits for the list no longer than for its answer.
            heard.call_failed_with("did not answer within");
            assert!(!heard.past.received.contains("tools/call"));
        },
    );
}

#[test]
fn a_server_that_reads_no_more_stops_neither_timeouts_nor_the_end() {
    let mut talk = Talk::with("deaf-after-initialize", &[r#"request_timeout = "1s""#]);
    talk.open();
    // A pipe and a queue are full after two of them.
    let large = format!(r#""ping","params":{{"x":"{}"}}"#, "x".repeat(1 << 20));
    let ids = ["1", "2", "3"].map(|id| format!("\"large {id}\""));
    let writing = talk.request_aside_and_close(&ids, &large);
    for id in &ids {
        let answer = talk.answer(id);
        assert!(answer.contains(r#""code":-32603,"#), "{answer}");
    }
    assert_eq!(talk.end().ended.code, Some(0));
    writing.join().unwrap();
}

#[test]
fn what_is_not_for_a_server_that_reads_no_more_does_not_wait_for_it() {
    let mut talk = Talk::with("deaf-after-initialize", &[r#"request_timeout = "60s""#]);
    talk.open();
    let large = format!(r#""ping","params":{{"x":"{}"}}"#, "x".repeat(2 << 20));
    let writing = talk.request_aside(&["\"large\"".to_owned()], &large);
    talk.gate.input = Some(writing.join().unwrap());
    for id in 1..=15 {
        talk.request(&format!("\"stuck {id}\""), r#""ping""#);
    }
    talk.call("\"denied\"", "evil", DENIED);
    let denied = talk.answer("\"denied\"");
    assert!(denied.contains("Unknown tool"), "{denied}");
    let before = &talk.gate.seen;
    assert!(!before.iter().any(|it| it.contains("stuck")), "{before:?}");
    for id in 1..=15 {
        let answer = talk.answer(&format!("\"stuck {id}\""));
        assert!(answer.contains("does not read"), "{answer}");
    }
    talk.call("\"later\"", "evil", DENIED);
    talk.answer("\"later\"");
    talk.close();
}

pub(super) const DYING: &[(&str, &str)] = &[
    ("die-in-call", "ended before it answered"),
    ("die-cleanly-in-call", "ended before it answered"),
    ("die-leaving-grandchild", "ended before it answered"),
    ("abort-in-call", "ended before it answered"),
    ("half-frame-then-die", "answer was refused: syntax"),
    ("close-stdout", "ended before it answered"),
];

#[test]
fn a_server_that_dies_in_a_call_is_told_once_and_started_again() {
    each(
        DYING,
        |row| row.0,
        |(mode, problem)| {
            let heard = converse(mode, &[], After::Recovers);
            heard.is_clean().call_failed_with(problem);
            let hello = heard
                .past
                .received
                .matches(r#""method":"initialize""#)
                .count();
            assert_eq!(hello, 2, "the new server was told what was agreed on");
        },
    );
}

#[test]
fn a_server_that_dies_after_its_reply_is_started_again() {
    let heard = converse("die-after-reply", &[], After::Recovers);
    assert_eq!(heard.is_clean().called, SAFE_RAN);
}

pub(super) const DISAGREEING: &[&str] =
    &["restart-refuses", "restart-other-version", "restart-stalls"];

#[test]
fn a_restarted_server_that_does_not_agree_again_is_restarted_until_one_does() {
    each(
        DISAGREEING,
        |mode| mode,
        |mode| {
            let heard = converse(mode, &[LITTLE_TIME], After::Recovers);
            heard
                .is_clean()
                .call_failed_with("ended before it answered");
            let past = &heard.past;
            let count = |method: &str| past.received.matches(method).count();
            assert_eq!(count(r#""method":"initialize""#), 3, "{}", past.received);
            // What did not agree was told nothing more.
            assert_eq!(count(r#""notifications/initialized""#), 2);
            let restarted = past.of_kind("upstream_state");
            let restarted = restarted.filter(|it| it["event"] == "restarted");
            assert_eq!(restarted.count(), 2);
        },
    );
}

pub(super) const STUBBORN: &[&str] = &[
    "ignore-end",
    "ignore-sigterm",
    "ignore-end-and-signals",
    "grandchild",
    "grandchild-own-group",
];

#[test]
fn a_server_that_does_not_want_to_end_is_ended_with_all_that_it_started() {
    each(
        STUBBORN,
        |mode| mode,
        |mode| {
            let heard = converse(mode, &[], After::Works);
            assert_eq!(heard.is_clean().called, SAFE_RAN);
        },
    );
}

#[test]
fn a_server_that_dies_after_every_handshake_answers_nothing_and_harms_nobody() {
    let heard = converse("exit-after-initialize", &[], After::Dead);
    for answer in [&heard.listed, &heard.called] {
        assert!(answer.contains(r#""code":-32603,"#), "{answer}");
    }
    heard.saw_nothing_forged();
}

#[test]
fn a_server_that_never_completes_a_handshake_is_given_up() {
    let mut talk = Talk::with("exit-at-start", &[]);
    while talk.gate.receive().is_some() {}
    let past = talk.end();
    assert_eq!(past.ended.code, Some(2), "{}", past.ended.stderr);
    let events: Vec<_> = past
        .of_kind("upstream_state")
        .map(|it| &it["event"])
        .collect();
    assert_eq!(events.iter().filter(|event| **event == "down").count(), 5);
}
