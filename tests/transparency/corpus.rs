//! The corpus of members, numbers and spellings that no schema names, both ways and in both eras.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::script::{Bindings, Row, Script, Step};
use crate::support::chain::Way;
use crate::support::fixtures::fixture;
use crate::support::peer::{PATIENCE, Peer};
use crate::support::setup::{ALLOW_ALL, READING, Setup};

/// Plays the agent's part of every row, and compares what comes back with the script's bytes. The
/// server does the same with what it gets, and answers an error to what is not in the script.
/// Yields what the server received.
fn play(command: Command, log: &Path, script: &Script, way: Way) -> Vec<String> {
    let mut server = Peer::start(command);
    let mut cancelled = 0;
    for (number, row) in script.rows.iter().enumerate() {
        play_row(&mut server, log, number, row, way);
        // No peer answers a cancellation, and over HTTP what comes next may overtake it.
        let is_cancelled =
            |step: &Step| matches!(step, Step::Agent(text) if text.contains(CANCELLED));
        cancelled += row.steps.iter().filter(|step| is_cancelled(step)).count();
        until_received(log, CANCELLED, cancelled);
    }
    let ended = server.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let expected = script.rows.iter().flat_map(|row| &row.steps);
    let expected = expected.filter(|step| matches!(step, Step::Upstream(_)));
    assert_eq!(ended.lines.len(), expected.count(), "{:#?}", ended.lines);
    let received = fs::read_to_string(log).unwrap();
    received.lines().map(str::to_owned).collect()
}

const CANCELLED: &str = "notifications/cancelled";

/// The request of each script that waits to be cancelled.
const FOREVER: &str = r#""forever":"#;

/// Waits until the server has got so many lines of a kind.
fn until_received(log: &Path, kind: &str, count: usize) {
    const PAUSE: Duration = Duration::from_millis(5);
    let tries = PATIENCE.as_millis() / PAUSE.as_millis();
    let received = || {
        let log = fs::read_to_string(log).unwrap_or_default();
        log.matches(kind).count() >= count
    };
    let came = (0..tries).any(|_| {
        received() || {
            thread::sleep(PAUSE);
            false
        }
    });
    assert!(came, "the server got no `{kind}`");
}

fn play_row(server: &mut Peer, log: &Path, number: usize, row: &Row, way: Way) {
    let mut bindings = Bindings::default();
    // Both types of ids, and spellings that must come back as they were.
    let ids = [
        (format!("{number}"), format!("\"second {number}\"")),
        (format!("\"{number}\""), format!("-{number}1")),
        (format!("\"\\u0061\\/{number}\""), format!("\"é {number}\"")),
    ];
    let (first, second) = &ids[number % ids.len()];
    bindings.bind("ID", first);
    bindings.bind("ID2", second);
    let is_said_by_one =
        |one: &Step, other: &Step| matches!(one, Step::Agent(_)) == matches!(other, Step::Agent(_));
    for turn in row.steps.chunk_by(is_said_by_one) {
        let mut expected = Vec::new();
        for step in turn {
            match step {
                Step::Agent(text) => {
                    if text.contains(CANCELLED) {
                        // One that comes in time need not reach the server.
                        until_received(log, FOREVER, 1);
                    }
                    server.send(bindings.fill(text));
                }
                Step::Upstream(text) => expected.push(text),
            }
        }
        while !expected.is_empty() {
            let line = server.receive().unwrap_or("nothing");
            // Over HTTP what belongs to no request has a stream of its own, and no order with
            // what is on others.
            let candidates = if way.is_over_http() {
                expected.len()
            } else {
                1
            };
            let mut candidates = expected.iter().take(candidates);
            let found = candidates.position(|text| bindings.matches(text, line));
            let Some(found) = found else {
                panic!("{}\n{line}\nis none of\n{expected:#?}", row.name);
            };
            expected.remove(found);
        }
    }
}

fn is_modern(script: &str) -> bool {
    script.starts_with("modern")
}

/// Which gate stands between.
#[derive(Debug, Clone, Copy)]
enum Through {
    /// One that permits everything.
    Policy,
    /// One that permits the tools of the script by their names.
    Allowlist,
}

fn check(name: &str, gate: Through, way: Way) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/corpus/vendor")
        .join(name);
    let script = Script::load(&path).unwrap();
    let server = fixture("vendor-server");
    let path = path.to_str().unwrap();
    let mut setup = Setup::of([server.as_str(), path]);
    // Some resources of the corpus are not one for all who read their URIs.
    setup.guards.push_str("uris = \"off\"\n");
    let setup = match gate {
        Through::Policy => setup.policies(ALLOW_ALL).agentic().labels(READING),
        Through::Allowlist => {
            let tools = script.tools.trim_matches(['[', ']']).split(',');
            let tools: Vec<&str> = tools.map(|tool| tool.trim_matches('"')).collect();
            setup.allow(&tools)
        }
    };

    let log = setup.path("direct");
    let mut command = Command::new(&server);
    command.arg(path).env("FIXTURE_LOG", &log);
    let direct = play(command, &log, &script, Way::Stdio);

    let log = setup.path("through");
    let setup = setup.env("FIXTURE_LOG", log.to_str().unwrap());
    let chain = way.to(setup);
    let through = play(chain.first, &log, &script, way);

    // What has no answer is compared here: notifications, and answers to the server.
    let mut received = through.iter();
    for row in &script.rows {
        let mut bindings = Bindings::default();
        for step in &row.steps {
            let Step::Agent(text) = step else { continue };
            // MCP 2026-07-28 over HTTP has no such message: a closed connection cancels, and what
            // was said with it is lost.
            let is_closed =
                way.is_over_http() && is_modern(name) && text.contains("notifications/cancelled");
            let text = if is_closed {
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"$ID","reason":"$REASON"}}"#
            } else {
                text
            };
            let found = received.by_ref().find(|line| bindings.matches(text, line));
            assert!(
                found.is_some(),
                "{}: the server did not get\n{text}",
                row.name
            );
        }
    }
    for line in through.iter().filter(|line| line.contains(r#""method""#)) {
        let (_, after) = line.split_once(r#""id":"#).unwrap_or(("", "0"));
        assert!(after.starts_with(|c: char| c.is_ascii_digit()), "{line}");
    }
    for gate in &chain.behind {
        let audit = gate.setup().audit_text();
        assert!(!audit.is_empty(), "a gate has recorded nothing");
    }
    let own = through.len() - direct.len();
    assert!(
        own <= way.gates(),
        "each gate asks for the list once: {through:#?}"
    );
}

#[test]
fn what_a_session_says_passes_byte_for_byte() {
    check("legacy.jsonl", Through::Policy, Way::Stdio);
    check("legacy.jsonl", Through::Allowlist, Way::Stdio);
    check("legacy.jsonl", Through::Policy, Way::Http);
    check("legacy.jsonl", Through::Policy, Way::Routed);
    check("legacy.jsonl", Through::Policy, Way::Attached);
}

#[test]
fn what_a_session_is_asked_passes_byte_for_byte() {
    check("legacy-asks.jsonl", Through::Policy, Way::Stdio);
    check("legacy-asks.jsonl", Through::Policy, Way::Http);
    check("legacy-asks.jsonl", Through::Policy, Way::Routed);
    check("legacy-asks.jsonl", Through::Policy, Way::Attached);
}

#[test]
fn what_stateless_requests_say_passes_byte_for_byte() {
    check("modern.jsonl", Through::Policy, Way::Stdio);
    check("modern.jsonl", Through::Allowlist, Way::Stdio);
    check("modern.jsonl", Through::Policy, Way::Http);
    check("modern.jsonl", Through::Policy, Way::Routed);
    check("modern.jsonl", Through::Policy, Way::Attached);
}

#[test]
fn what_unfinished_results_ask_passes_byte_for_byte() {
    check("modern-asks.jsonl", Through::Policy, Way::Stdio);
    check("modern-asks.jsonl", Through::Policy, Way::Http);
    check("modern-asks.jsonl", Through::Policy, Way::Routed);
    check("modern-asks.jsonl", Through::Policy, Way::Attached);
}
