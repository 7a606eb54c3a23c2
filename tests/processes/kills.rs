//! A gate that is killed while calls are under way.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::processes::support::Gate;
use crate::support::fixtures::fixture;
use crate::support::json::json;
use crate::support::processes::all_end;
use crate::support::setup::{ALLOW_ALL, GATE, Setup};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}}"#;

/// Calls that wait for their answer at once.
const WINDOW: u64 = 16;

/// A gate whose handshake is done.
fn started(setup: &Setup) -> Gate {
    let mut gate = Gate::spawn(&mut setup.gate());
    gate.send(INITIALIZE);
    assert!(gate.line().contains(r#""id":"hello""#));
    gate.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    gate
}

fn call(text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"{text}","method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{text}"}}}}}}"#
    )
}

fn length(log: &Path) -> u64 {
    fs::metadata(log).unwrap().len()
}

/// The calls of which a server got all bytes.
fn received(log: &Path) -> Vec<String> {
    let text = fs::read_to_string(log).unwrap();
    let (whole, _torn) = text.rsplit_once('\n').unwrap_or_default();
    let calls = whole.lines().map(json).filter_map(|message| {
        let text = message["params"]["arguments"]["text"].as_str()?;
        Some(text.to_owned())
    });
    calls.collect()
}

/// The calls that the log says were permitted, and the number of half lines.
fn recorded(text: &str) -> (HashSet<String>, usize) {
    let (mut calls, mut halves) = (HashSet::new(), 0);
    for line in text.lines() {
        let Ok(record) = line.parse::<Value>() else {
            halves += 1;
            continue;
        };
        if record["kind"] == "tool_call" {
            assert_eq!(record["decision"], "ALLOW", "{record}");
            let text = record["arguments"]["text"].as_str().unwrap();
            assert!(calls.insert(text.to_owned()), "there twice: {record}");
        }
    }
    (calls, halves)
}

/// `MCP_PROTECTOR_KILLS` is the number of kills; `.ci/run` asks for more.
#[test]
fn each_call_that_a_server_got_is_on_record_whenever_its_gate_is_killed() {
    let kills = std::env::var("MCP_PROTECTOR_KILLS").map_or(10, |kills| kills.parse().unwrap());
    let mut setup = Setup::of([fixture("everything-server")])
        .policies(ALLOW_ALL)
        .env("FIXTURE_LOG", "");
    setup.trial = Some(false);
    setup.audit = "durability = \"strict\"\narguments = \"redacted\"\n".to_owned();
    let mut received_calls = Vec::new();
    for round in 0..kills {
        let server_log = setup.path(&format!("server-{round}"));
        setup.env.last_mut().unwrap().1 = server_log.to_str().unwrap().to_owned();
        let mut gate = started(&setup);
        let answers = 1 + 7 * round % 64;
        for number in 0..WINDOW + answers {
            if number >= WINDOW {
                assert!(gate.line().contains(r#""result""#));
            }
            gate.send(&call(&format!("call-{round}-{number}")));
        }
        if round % 3 == 0 {
            std::thread::sleep(Duration::from_micros(37 * round % 500));
        } else {
            // Just after the server got one: a record that comes later than its call is missing then.
            let before = length(&server_log);
            gate.send(&call(&format!("call-{round}-last")));
            while length(&server_log) == before {
                std::thread::yield_now();
            }
        }
        gate.child.kill().unwrap();
        gate.child.wait().unwrap();
        // The server has read all that the gate sent it.
        all_end(setup.mark());
        received_calls.extend(received(&server_log));
        if round % 2 == 1 {
            // A kill seldom hits the middle of a write: this is what it leaves then.
            let mut file = OpenOptions::new().append(true).open(setup.audit_file());
            let half = br#"{"version":1,"seq":1000,"timestamp":"2026"#;
            file.as_mut().unwrap().write_all(half).unwrap();
        }
    }
    let mut gate = started(&setup);
    gate.send(&call("afterwards"));
    assert!(gate.line().contains(r#""result""#));
    drop(gate.stdin.take());
    assert!(gate.wait().success());

    let (calls, halves) = recorded(&setup.audit_text());
    assert!(received_calls.len() as u64 >= kills);
    for text in &received_calls {
        assert!(calls.contains(text), "the server got {text}");
    }
    assert!(calls.contains("afterwards"));
    assert!(halves as u64 >= kills / 2, "{halves} half lines");
    let verify = Command::new(GATE)
        .args(["audit", "verify"])
        .arg(setup.audit_file())
        .output()
        .unwrap();
    let report = String::from_utf8(verify.stdout).unwrap();
    assert!(verify.status.success(), "{report}");
    assert!(
        report.matches("half a line").count() >= halves.min(64),
        "{report}"
    );
}
