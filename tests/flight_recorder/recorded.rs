//! A gate with a flight recorder, from its first record to the questions about it.

use std::process::{Command, Output};

use duckdb::{AccessMode, Config, Connection};

use crate::support::fixtures::fixture;
use crate::support::peer::Peer;
use crate::support::setup::{GATE, Setup};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"agent","version":"1"}}}"#;

fn setup() -> Setup {
    let mut setup = Setup::of([&*fixture("hostile-server"), "proper"]).allow(&["safe"]);
    "arguments = \"redacted\"\nresults = \"redacted\"\ndurability = \"strict\""
        .clone_into(&mut setup.audit);
    "[flight_recorder]\nfile = \"flight.duckdb\"".clone_into(&mut setup.more);
    setup
}

/// A gate that has been asked for a permitted call and another.
fn called(setup: &Setup) -> Peer {
    let mut gate = Peer::start(setup.gate());
    let mut ask = |line: &str| {
        gate.send(line);
        gate.receive().unwrap();
    };
    ask(INITIALIZE);
    ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    for (id, tool) in [(2, "safe"), (3, "evil")] {
        ask(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"text":"a text"}},"_meta":{{"mcp-protector/job_id":"nightly"}}}}}}"#
        ));
    }
    gate
}

fn query(setup: &Setup, arguments: &[&str]) -> Output {
    Command::new(GATE)
        .args(["audit", "query"])
        .arg(setup.path("flight.duckdb"))
        .args(arguments)
        .output()
        .unwrap()
}

fn sql(setup: &Setup, format: &str, select: &str) -> String {
    let output = query(setup, &["--format", format, "--sql", select]);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn check_whole(setup: &Setup) {
    let output = query(setup, &["--format", "json"]);
    assert!(output.status.success(), "{output:?}");
    let read = String::from_utf8(output.stdout).unwrap();
    assert_eq!(read, setup.audit_text());
}

#[test]
fn a_database_has_the_log_line_by_line_and_answers_questions() {
    let setup = setup();
    let ended = called(&setup).end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    check_whole(&setup);
    let calls = "SELECT event_kind, tool_name, job_id, inputs->>'$.text' AS text, status \
                 FROM fr_event_fields WHERE job_id = 'nightly' ORDER BY ts, status DESC;";
    let expected = "event_kind,tool_name,job_id,text,status\n\
                    mcp.gate.decision,safe,nightly,\"a text\",started\n\
                    tool.call,safe,nightly,\"a text\",started\n\
                    tool.result,safe,nightly,\"a text\",success\n\
                    mcp.gate.decision,evil,nightly,\"a text\",denied\n";
    assert_eq!(sql(&setup, "csv", calls), expected);
    let traces = "SELECT count(DISTINCT trace_id) AS traces, count(outputs) AS outputs \
                  FROM fr_event_fields WHERE tool_name = 'safe'";
    assert_eq!(
        sql(&setup, "json", traces),
        "{\"traces\":1,\"outputs\":1}\n"
    );
    assert_eq!(sql(&setup, "table", traces), "traces  outputs\n1       1\n");
    // What changes, reaches elsewhere or is no query is refused.
    for (select, told) in [
        ("DELETE FROM fr_events", "syntax error"),
        (
            "SELECT * FROM read_text('/etc/hostname')",
            "disabled by configuration",
        ),
        ("SELECT 1; SELECT 2", "syntax error"),
        (
            "SELECT 1); SET threads = 4; SELECT * FROM (SELECT 1",
            "the configuration has been locked",
        ),
        ("SELECT nothing FROM fr_events", "nothing"),
        (
            "SELECT repeat('a', 10000) AS a FROM range(30000) ORDER BY random()",
            "the query needs too much memory",
        ),
    ] {
        let output = query(&setup, &["--sql", select]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.to_lowercase().contains(told), "{select}: {stderr}");
    }
    check_whole(&setup);
}

#[test]
fn a_killed_gate_leaves_no_record_out_and_none_twice() {
    let setup = setup();
    for _ in 0..3 {
        // It is killed.
        drop(called(&setup));
    }
    called(&setup).end();
    check_whole(&setup);
    let output = query(&setup, &["--kind", "startup", "--format", "json"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 4);
}

#[test]
fn a_reader_holds_up_rows_and_no_call() {
    let setup = setup();
    called(&setup).end();
    let read_only = || Config::default().access_mode(AccessMode::ReadOnly).unwrap();
    let reader = Connection::open_with_flags(setup.path("flight.duckdb"), read_only()).unwrap();
    let count = "SELECT count(*) FROM fr_events";
    let rows = || -> u64 { reader.query_row(count, [], |row| row.get(0)).unwrap() };
    let before = rows();
    let ended = called(&setup).end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let told = "the flight recorder lacks records until this is solved";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    assert_eq!(rows(), before);
    drop(reader);
    called(&setup).end();
    check_whole(&setup);
}
