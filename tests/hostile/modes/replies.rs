//! Replies: stray, malformed, late, odd, and bytes that are none.

use super::{After, converse, each};
use crate::hostile::dialogue::{SAFE_RAN, Talk};
use crate::support::processes;

/// For calls that are to run out of time; whatever else is asked has a minute.
const SOON: &str = r#"tool_timeouts = { safe = "700ms" }"#;

pub(super) const STRAY: &[&str] = &[
    "id-other-type",
    "id-float",
    "id-null",
    "id-missing",
    "id-structured",
    "duplicate-reply",
    "unsolicited-reply",
    "ask-unreadable-same-id",
    "initialize-twice",
    "garbage-lines",
    "blank-lines",
    "utf-16",
    "long-line",
    "deep-without-end",
    "slow",
    "hostile-stderr",
    "flood-stderr",
];

#[test]
fn what_answers_nothing_is_dropped_and_the_proper_reply_arrives() {
    each(
        STRAY,
        |mode| mode,
        |mode| {
            let heard = converse(mode, &[], After::Works);
            assert_eq!(heard.is_clean().called, SAFE_RAN);
        },
    );
}

#[test]
fn replies_that_were_guessed_before_anybody_asked_are_dropped() {
    let mut talk = Talk::with("guessed-replies", &[]);
    talk.open();
    let strays = |talk: &Talk| {
        let audit = talk.audit();
        let strays = audit.iter().filter(|it| it["reason"]["code"] == "stray");
        strays.count()
    };
    processes::eventually(|| match strays(&talk) {
        100 => Ok(()),
        count => Err(format!("{count} of 100 replies were noticed")),
    });
    talk.call("7", "safe", "x");
    assert_eq!(talk.answer("7"), SAFE_RAN);
    assert_eq!(talk.end().agent_saw("forged"), [""; 0]);
}

pub(super) const ONE_LINE: &[(&str, &str, After)] = &[
    ("proper", SAFE_RAN, After::Works),
    ("byte-by-byte", SAFE_RAN, After::Works),
    ("split-frame", SAFE_RAN, After::Works),
    ("two-frames-in-one-write", SAFE_RAN, After::Works),
    ("crlf", SAFE_RAN, After::Works),
    ("frame-without-end", SAFE_RAN, After::Recovers),
    (
        "whitespace",
        r#"{"jsonrpc":"2.0","id":7,"result":{"content":[],"x":[1,2]}}"#,
        After::Works,
    ),
    (
        "cr-smuggling",
        r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"safe ran"}],"x":{"jsonrpc":"2.0","id":777777,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}}}"#,
        After::Works,
    ),
    (
        "line-separators",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\u{2028}b\u{2029}c\u{85}d\\u000ce\\u000bf\"}]}}",
        After::Works,
    ),
];

#[test]
fn however_a_reply_is_written_it_arrives_as_one_line() {
    each(
        ONE_LINE,
        |row| row.0,
        |(mode, line, after)| {
            let heard = converse(mode, &[], *after);
            assert_eq!(heard.is_clean().called, *line);
        },
    );
}

pub(super) const REFUSED: &[(&str, &str)] = &[
    ("result-and-error", "shape"),
    ("neither-result-nor-error", "shape"),
    ("result-not-object", "result_not_object"),
    ("error-not-object", "malformed_error"),
    ("error-code-text", "malformed_error"),
    ("no-version", "jsonrpc_version"),
    ("old-version", "jsonrpc_version"),
    ("duplicate-result", "duplicate_key"),
    ("duplicate-escaped", "duplicate_key"),
    ("duplicate-nested", "duplicate_key"),
    ("duplicate-folded", "look_alike_key"),
    ("key-with-nul", "control_in_key"),
    ("lone-surrogate", "lone_surrogate"),
    ("deep", "too_deep (`limits.max_depth` is 64)"),
    ("deep-objects", "too_deep"),
    ("cr-only", "trailing_text"),
    ("invalid-utf8", "not_utf8"),
    ("cesu-8", "not_utf8"),
    ("byte-order-mark", "byte_order_mark"),
    ("control-in-text", "syntax"),
    ("trailing-document", "trailing_text"),
    (
        "many-values",
        "too_many_values (`limits.max_nodes` is 50000)",
    ),
    ("many-keys", "too_many_values (`limits.max_nodes` is 50000)"),
    (
        "huge",
        "it is longer than `limits.max_message_bytes_to_agent`",
    ),
    ("input-required", "not_negotiated"),
    ("input-without-type", "not_negotiated"),
    ("input-complete", "not_negotiated"),
    ("task", "a task that was not asked for"),
    ("unknown-result-type", "`resultType`"),
];

#[test]
fn a_reply_that_is_no_valid_reply_is_refused_at_once_and_the_agent_told_so() {
    each(
        REFUSED,
        |row| row.0,
        |(mode, problem)| {
            let heard = converse(mode, &[], After::Works);
            heard.is_clean().call_failed_with(problem);
            let outcome = heard.past.of_kind("tool_result").next().unwrap();
            assert_ne!(outcome["decision"], "ALLOW");
        },
    );
}

pub(super) const TIMED_OUT: &[(&str, After)] = &[
    ("wrong-id", After::Works),
    ("method-and-result", After::Works),
    ("stall", After::Works),
    ("late-reply", After::Works),
    ("batch-reply", After::Works),
    ("duplicate-id", After::Works),
    ("overlong-utf8", After::Works),
    ("nul-bytes", After::Works),
    ("half-frame", After::Dead),
    ("endless-line", After::Dead),
];

#[test]
fn a_call_that_gets_no_readable_reply_ends_with_its_timeout_and_is_cancelled() {
    each(
        TIMED_OUT,
        |row| row.0,
        |(mode, after)| {
            let heard = converse(mode, &[SOON], *after);
            heard.is_clean().call_failed_with("did not answer within");
            let outcome = heard.past.of_kind("tool_result").next().unwrap();
            assert_eq!(outcome["reason"]["code"], "timeout");
            if *after == After::Works {
                let told = heard.past.received.contains("notifications/cancelled");
                assert!(told, "{}", heard.past.received);
            }
        },
    );
}

pub(super) const ODD: &[(&str, &str)] = &[
    (
        "unknown-content",
        r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"hologram","data":"AAAA"},{"text":"untyped"},7]}}"#,
    ),
    (
        "hidden-text",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"visible\u{200b}\u{202e}\u{e0061}\\u001b[8mhidden\\u001b[0m<!-- hidden --><IMPORTANT>hidden</IMPORTANT>\"}]}}",
    ),
    (
        "forged-refusal",
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"denied by policy","data":{"reason":"not ours"}}}"#,
    ),
];

#[test]
fn an_odd_but_valid_result_passes_as_the_server_wrote_it() {
    each(
        ODD,
        |row| row.0,
        |(mode, line)| {
            assert_eq!(converse(mode, &[], After::Works).is_clean().called, *line);
        },
    );
    let called = converse("long-number", &[], After::Works).called;
    let digits = called.trim_start_matches(r#"{"jsonrpc":"2.0","id":7,"result":{"x":1"#);
    assert_eq!(digits.trim_start_matches('0'), "}}");
    assert_eq!(digits.len(), 1_000_002);
}
