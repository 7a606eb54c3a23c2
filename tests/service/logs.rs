//! The log of a gate, for operators who follow it.

use crate::support::fixtures::fixture;
use crate::support::peer::Peer;
use crate::support::setup::Setup;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"agent","version":"1"}}}"#;

/// A conversation with the hostile server in this mode: a call that is permitted, and one that is not. Yields
/// what the gate has written to its standard error.
fn said(mode: &str, level: &str) -> String {
    let setup = Setup::of([&*fixture("hostile-server"), mode]).allow(&["safe"]);
    let mut command = setup.gate();
    command.env("RUST_LOG", format!("mcp_protector={level}"));
    let mut gate = Peer::start(command);
    let mut ask = |line: &str| {
        gate.send(line);
        gate.receive().unwrap();
    };
    ask(INITIALIZE);
    ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    for (id, tool) in [(2, "safe"), (3, "evil")] {
        ask(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"text":"argument-{tool}"}}}}}}"#
        ));
    }
    gate.end().stderr
}

fn has(said: &str, words: &[&str]) -> bool {
    let has = |line: &str| words.iter().all(|word| line.contains(word));
    said.lines().any(has)
}

#[test]
fn whoever_follows_a_gate_sees_sessions_decisions_and_the_server_and_no_arguments() {
    let said = said("proper", "debug");
    for words in [
        &[
            "a session begins",
            "transport=\"stdio\"",
            "session_id=",
            "upstream=",
        ][..],
        &[
            "kind=\"tool_call\"",
            "target=\"safe\"",
            "decision=\"ALLOW\"",
            "record=",
            "session_id=",
        ],
        &[
            "kind=\"tool_call\"",
            "target=\"evil\"",
            "decision=\"BLOCK\"",
            "reason=\"not_permitted\"",
            "record=",
        ],
        &[
            "kind=\"upstream_state\"",
            "event=\"started\"",
            "session_id=",
        ],
        &["a session ended", "session_id="],
    ] {
        assert!(has(&said, words), "{words:?}\n{said}");
    }
    assert!(!said.contains("argument-"), "{said}");
    let last = said.lines().last().unwrap();
    assert!(has(last, &["event=\"shutdown\"", "sessions=1"]), "{said}");
}

#[test]
fn a_gate_with_nothing_to_warn_of_is_silent() {
    let said = said("proper", "warn");
    // Records go there too.
    let lines = said.lines().filter(|line| !line.starts_with('{'));
    assert_eq!(lines.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn whatever_is_wrong_with_an_answer_is_told_once_with_its_server_method_reason_and_record() {
    for (mode, method, reason) in [
        ("neither-result-nor-error", "tools/call", "shape"),
        ("old-version", "tools/call", "jsonrpc_version"),
        ("result-not-object", "tools/call", "result_not_object"),
        ("duplicate-result", "tools/call", "duplicate_key"),
        ("half-frame-then-die", "tools/call", "syntax"),
        ("die-in-call", "tools/call", "upstream"),
        ("unsolicited-reply", "", "stray"),
        (
            "initialize-unknown-version",
            "initialize",
            "invalid_upstream_response",
        ),
    ] {
        let said = said(mode, "warn");
        let (method, reason) = (format!("method={method}"), format!("reason=\"{reason}\""));
        let mut words = vec![
            "WARN",
            "an answer of the server is refused",
            "server=\"",
            &reason,
            "record=\"",
        ];
        if method != "method=" {
            words.push(&method);
        }
        assert!(has(&said, &words), "{mode}: {words:?}\n{said}");
    }
}

#[test]
fn the_reason_why_a_configuration_is_refused_is_an_error_of_the_log() {
    let mut setup = Setup::of([&*fixture("hostile-server"), "proper"]);
    "request_timeout = 7".clone_into(&mut setup.limits);
    let ended = Peer::start(setup.gate()).end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(
        has(&ended.stderr, &["ERROR", "limits.request_timeout"]),
        "{}",
        ended.stderr
    );
}

#[test]
fn the_reason_why_a_gate_cannot_go_on_is_an_error_before_its_last_line() {
    let setup = Setup::of([&*fixture("hostile-server"), "exit-at-start"]);
    let mut gate = Peer::start(setup.gate());
    // It ends by itself, when its server was started often enough.
    while gate.receive().is_some() {}
    let ended = gate.end();
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    let said = &ended.stderr;
    assert!(has(said, &["ERROR", "the gate cannot go on"]), "{said}");
    let last = said.lines().last().unwrap();
    assert!(last.contains("event=\"shutdown\""), "{said}");
}
