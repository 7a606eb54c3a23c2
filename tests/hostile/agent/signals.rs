//! Ends: of the gate by signals, of the agent in the middle of something.

use std::fs;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

use crate::hostile::dialogue::{SAFE_RAN, Talk};
use crate::hostile::envelope::Envelope;
use crate::support::fixtures::fixture;
use crate::support::peer::Peer;
use crate::support::processes;
use crate::support::setup::{ALLOW_ALL, Setup};

fn signal(gate: &Peer, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(gate.child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// A gate with a call of `slow` in flight: the server has it.
fn in_flight(milliseconds: u64, limit: &str) -> Talk {
    let mut setup = Setup::of([fixture("everything-server")]).policies(ALLOW_ALL);
    limit.clone_into(&mut setup.limits);
    let log = setup.path("received");
    let mut talk = Talk::through(setup);
    talk.open();
    talk.request(
        "7",
        &format!(
            r#""tools/call","params":{{"name":"slow","arguments":{{"steps":1,"delay_ms":{milliseconds}}}}}"#
        ),
    );
    processes::eventually(|| {
        let received = fs::read_to_string(&log).unwrap_or_default();
        if received.contains("tools/call") {
            Ok(())
        } else {
            Err(format!("the call did not arrive: {received}"))
        }
    });
    talk
}

#[test]
fn a_signal_lets_what_is_in_flight_finish_and_ends_with_zero() {
    for sent in [Signal::TERM, Signal::INT] {
        let mut talk = in_flight(500, "");
        signal(&talk.gate, sent);
        let answer = talk.answer("7");
        assert!(answer.contains("1 steps done"), "{answer}");
        // The agent has not closed its end: the gate ends by itself.
        assert_eq!(talk.gate.receive(), None);
        let past = talk.end();
        assert_eq!(past.ended.code, Some(0), "{sent:?}: {}", past.ended.stderr);
        let kinds: Vec<_> = past
            .audit
            .iter()
            .map(|it| it["kind"].as_str().unwrap())
            .collect();
        assert_eq!(kinds[kinds.len() - 2..], ["session_end", "shutdown"]);
    }
}

#[test]
fn what_does_not_finish_before_the_deadline_is_answered_with_an_error() {
    let mut talk = in_flight(600_000, r#"shutdown_grace_period = "300ms""#);
    signal(&talk.gate, Signal::TERM);
    let answer = talk.answer("7");
    assert!(answer.contains(r#""error":{"code":-32603,"#), "{answer}");
    let past = talk.end();
    assert_eq!(past.ended.code, Some(0), "{}", past.ended.stderr);
}

#[test]
fn a_server_hears_that_nobody_waits_when_the_deadline_passes() {
    let mut talk = in_flight(600_000, r#"shutdown_grace_period = "300ms""#);
    signal(&talk.gate, Signal::TERM);
    talk.answer("7");
    let past = talk.end();
    assert_eq!(past.ended.code, Some(0), "{}", past.ended.stderr);
    past.server_was_told_to_cancel("slow");
}

#[test]
fn a_second_signal_ends_the_patience() {
    let mut talk = in_flight(600_000, r#"shutdown_grace_period = "10m""#);
    signal(&talk.gate, Signal::TERM);
    // Pending signals of one kind are one; two kinds are two.
    signal(&talk.gate, Signal::INT);
    let answer = talk.answer("7");
    assert!(answer.contains(r#""error":{"code":-32603,"#), "{answer}");
    assert_eq!(talk.end().ended.code, Some(0));
}

#[test]
fn a_killed_gate_leaves_no_process_behind() {
    let modes = [
        "proper",
        "ignore-end",
        "ignore-end-and-signals",
        "ignore-sigterm",
        "grandchild",
        "grandchild-own-group",
    ];
    for mode in modes {
        let setup = Setup::of([&fixture("hostile-server"), mode]).allow(&["safe"]);
        let mut gate = Peer::start(setup.gate());
        gate.send(
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"agent","version":"1"}}}"#,
        );
        assert!(gate.receive().unwrap().contains("hostile-server"));
        // The gate, two launchers or the server in place of one, and perhaps a grandchild.
        let running = processes::marked(setup.mark());
        assert!(running.len() >= 3, "{mode}: {running:?}");
        // Not SIGHUP, which the parent of the tests may have set to ignored.
        signal(&gate, Signal::KILL);
        let ended = gate.end();
        assert_eq!(ended.code, None, "{mode}: {}", ended.stderr);
        processes::all_end(setup.mark());
    }
}

#[test]
fn an_agent_that_closes_its_end_still_gets_the_answers() {
    let mut talk = in_flight(400, "");
    talk.gate.close();
    let answer = talk.answer("7");
    assert!(answer.contains("1 steps done"), "{answer}");
    let past = talk.end();
    assert_eq!(past.ended.code, Some(0), "{}", past.ended.stderr);
}

#[test]
fn an_agent_that_reads_no_more_ends_the_gate() {
    let setup = Setup::of([&fixture("hostile-server"), "flood-notifications"]).allow(&["safe"]);
    let script =
        r#"printf '%s\n' "$1" "$2" "$3" | "$0" proxy --config "$4" | head -c 1000 >/dev/null"#;
    let [_, _, config] = setup.arguments().try_into().unwrap();
    let mut pipe = Command::new("sh");
    pipe.args(["-c", script, crate::support::setup::GATE])
        .arg(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"agent","version":"1"}}}"#)
        .arg(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .arg(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"safe"}}"#)
        .arg(config)
        .env(crate::support::setup::MARK, setup.mark());
    let ended = Peer::start(pipe).end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    processes::all_end(setup.mark());
    let audit = setup.audit_text();
    let last = audit.lines().last().unwrap();
    assert!(last.contains(r#""kind":"shutdown""#), "{last}");
}

#[test]
fn a_gate_with_few_descriptors_works() {
    let setup = Setup::of([&fixture("hostile-server"), "proper"]).allow(&["safe"]);
    let [_, _, config] = setup.arguments().try_into().unwrap();
    let mut limited = Command::new("sh");
    limited
        .args([
            "-c",
            r#"ulimit -n 32; exec "$0" proxy --config "$1""#,
            crate::support::setup::GATE,
        ])
        .arg(config);
    let mut gate = Peer::start(limited);
    gate.send(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"agent","version":"1"}}}"#);
    gate.send(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"safe"}}"#);
    assert!(Envelope::read(gate.receive().unwrap()).result.is_some());
    assert_eq!(gate.receive(), Some(SAFE_RAN));
    assert_eq!(gate.end().code, Some(0));
}
