use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use duckdb::Connection;
use serde_json::{Value, json};

use super::calls::RecentCalls;
use super::database::{
    DatabaseError, KEYS, LastRecords, READ_MEMORY, last_records, open_to_read, write,
};
use super::recorder::{Phase, Recorder, RecorderStatus, RecorderWork};
use super::row::{Entry, Row};
use super::*;
use crate::audit;
use crate::audit::read::{Source, read};
use crate::clock::SystemClock;

/// A line of the log with these fields, beside those that each has.
fn line(instance: &str, seq: u64, fields: &Value) -> String {
    let mut line = json!({
        "version": 1,
        "seq": seq,
        "timestamp": "2026-11-21T20:14:03.512881Z",
        "instance": instance,
        "kind": "tool_call",
    });
    let all = line.as_object_mut().unwrap();
    all.extend(fields.as_object().unwrap().clone());
    line.to_string()
}

fn entry(line: &str) -> Entry {
    Entry::of(
        line.as_bytes(),
        EventKinds::Tool,
        &mut RecentCalls::default(),
    )
    .unwrap()
}

fn rows(fields: &Value, kinds: EventKinds) -> Vec<Row> {
    Entry::of(
        line("a1", 1, fields).as_bytes(),
        kinds,
        &mut RecentCalls::default(),
    )
    .unwrap()
    .rows
}

fn call() -> Value {
    json!({
        "agent": {"id": "agent-3"},
        "upstream": "notes",
        "direction": "agent_to_upstream",
        "method": "tools/call",
        "target": "delete_note",
        "decision": "ALLOW",
        "tool": {"digest": "sha256:56", "server_version": "1.4.2"},
        "capabilities": {"needed": ["notes.write"], "held": ["notes.read", "notes.write"]},
        "arguments_digest": "hmac-sha256:c9",
        "duration_us": 1250,
        "correlation": {"job_id": "nightly", "trace_id": "c12d", "workflow_run_id": "w1"},
        "consent": {"required": true, "outcome": "granted"},
        "redactions": ["github-token"],
    })
}

fn with(mut fields: Value, name: &str, value: Value) -> Value {
    fields[name] = value;
    fields
}

#[test]
fn a_permitted_call_is_a_decision_and_a_call_and_another_a_decision_alone() {
    let kinds = |fields: &Value, preset| -> Vec<String> {
        let rows = rows(fields, preset).into_iter();
        rows.map(|row| row.event_kind).collect()
    };
    let (call, tool, mcp) = (call(), EventKinds::Tool, EventKinds::Mcp);
    assert_eq!(kinds(&call, tool), ["mcp.gate.decision", "tool.call"]);
    assert_eq!(kinds(&call, mcp), ["mcp.gate.decision", "mcp.tool_call"]);
    for decision in ["BLOCK", "ERROR"] {
        let denied = with(call.clone(), "decision", json!(decision));
        assert_eq!(kinds(&denied, tool), ["mcp.gate.decision"]);
    }
    let result = with(call.clone(), "kind", json!("tool_result"));
    assert_eq!(kinds(&result, tool), ["tool.result"]);
    assert_eq!(kinds(&result, mcp), ["mcp.tool_result"]);
    let list = json!({"kind": "tools_list", "method": "tools/list", "decision": "ALLOW"});
    assert_eq!(kinds(&list, tool), ["mcp.gate.decision"]);
    assert_eq!(
        kinds(&json!({"kind": "startup"}), tool),
        ["mcp.gate.startup"]
    );
}

#[test]
fn a_row_has_each_word_of_its_record_and_the_line_itself() {
    let fields = with(call(), "arguments", json!({"id": 7}));
    let row = rows(&fields, EventKinds::Tool).pop().unwrap();
    let payload: Value = row.payload.parse().unwrap();
    let expected = json!({
        "tool_name": "delete_note",
        "tool_version": "1.4.2",
        "inputs": {"id": 7},
        "status": "started",
        "duration_ms": 1.25,
        "job_id": "nightly",
        "workflow_run_id": "w1",
        "trace_id": "c12d",
        "capability_id": "notes.write",
        "server_id": "notes",
        "method": "tools/call",
        "tool_arguments_schema_id": "sha256:56",
        "capabilities": {"needed": ["notes.write"], "held": ["notes.read", "notes.write"]},
        "consent_required": true,
        "decision": "ALLOW",
        "redactions_applied": ["github-token"],
        "record": line("a1", 1, &fields).parse::<Value>().unwrap(),
    });
    assert_eq!(payload, expected);
    let columns = (
        row.job_id.as_deref(),
        &*row.source,
        &*row.level,
        &*row.message,
    );
    let expected = (
        Some("nightly"),
        "agent-3",
        "info",
        "tools/call delete_note ALLOW",
    );
    assert_eq!(columns, expected);
    assert_eq!(row.ts, "2026-11-21T20:14:03.512881Z");
    // Without recorded arguments, their digest.
    let row = rows(&call(), EventKinds::Tool).pop().unwrap();
    let payload: Value = row.payload.parse().unwrap();
    assert_eq!(payload["inputs"], "hmac-sha256:c9");
}

#[test]
fn a_result_says_how_the_call_ended() {
    let check = |fields: Value, status: &str| {
        let result = with(call(), "kind", json!("tool_result"));
        let mut result = result.as_object().unwrap().clone();
        result.extend(fields.as_object().unwrap().clone());
        let row = rows(&Value::Object(result), EventKinds::Tool)
            .pop()
            .unwrap();
        let payload: Value = row.payload.parse().unwrap();
        assert_eq!(payload["status"], status, "{fields}");
        payload
    };
    let content = json!({"content": [{"type": "text", "text": "done"}]});
    let payload = check(json!({"result": content}), "success");
    assert_eq!(payload["outputs"], content);
    check(json!({"error_class": "retryable"}), "error");
    let payload = check(json!({"error_code": -32603}), "error");
    assert_eq!(payload["error_code"], -32603);
    check(json!({"decision": "BLOCK"}), "denied");
    check(json!({"decision": "ERROR"}), "error");
}

#[test]
fn log_messages_and_progress_have_columns_of_their_own() {
    let notification = |method: &str, params: &Value| {
        json!({
            "kind": "notification",
            "upstream": "notes",
            "direction": "upstream_to_agent",
            "method": method,
            "decision": "ALLOW",
            "params": params,
        })
    };
    let check = |method: &str, params: Value, expected: [&str; 4]| {
        let rows = rows(&notification(method, &params), EventKinds::Tool);
        let [row] = &rows[..] else { panic!("{rows:?}") };
        let columns = [&*row.event_kind, &*row.source, &*row.level, &*row.message];
        assert_eq!(columns, expected, "{params}");
    };
    let log = |params: Value, expected| check("notifications/message", params, expected);
    log(
        json!({"level": "notice", "logger": "index", "data": "rebuilt"}),
        ["mcp.logging", "index", "notice", "rebuilt"],
    );
    log(
        json!({"level": "error", "data": {"message": "it failed", "code": 5}}),
        ["mcp.logging", "notes", "error", "it failed"],
    );
    log(
        json!({"data": {"code": 5}}),
        ["mcp.logging", "notes", "info", "{\"code\":5}"],
    );
    // Kind and source that the message names.
    let fields = json!({"event_kind": "index.rebuilt", "server_id": "notes-2", "message": "done"});
    let own = ["index.rebuilt", "notes-2", "info", "done"];
    log(json!({"level": "info", "data": {"fields": fields}}), own);
    log(
        json!({"level": "info", "fields": fields, "data": "done"}),
        own,
    );
    // A server cannot write events of the gate.
    for kind in [
        "mcp.gate.decision",
        "tool.call",
        "mcp.tool_call",
        "",
        "a b",
        &"x".repeat(65),
    ] {
        log(
            json!({"level": "info", "data": {"message": "m", "fields": {"event_kind": kind}}}),
            ["mcp.logging", "notes", "info", "m"],
        );
    }
    let progress = |params: Value, expected| check("notifications/progress", params, expected);
    progress(
        json!({"progressToken": 1, "progress": 3, "total": 10, "message": "copying"}),
        ["mcp.progress", "notes", "info", "3/10 copying"],
    );
    progress(
        json!({"progress": 0.5}),
        ["mcp.progress", "notes", "info", "0.5"],
    );
}

/// A directory with a log and a database.
struct TestDirectory(tempfile::TempDir);

impl TestDirectory {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn log(&self) -> PathBuf {
        self.0.path().join("audit.jsonl")
    }

    fn database(&self) -> PathBuf {
        self.0.path().join("flight.duckdb")
    }

    fn recorder(&self) -> Recorder {
        Recorder::new(settings(self.0.path()))
    }

    fn numbers(&self) -> Vec<u64> {
        let records: Vec<Value> = lines(&self.database());
        let numbers = records.iter().map(|record| record["seq"].as_u64().unwrap());
        numbers.collect()
    }
}

fn settings(directory: &Path) -> FlightRecorderSettings {
    FlightRecorderSettings {
        database: directory.join("flight.duckdb"),
        log: directory.join("audit.jsonl"),
        event_kinds: EventKinds::Tool,
    }
}

/// Starts a recorder and stops it.
async fn run(place: &TestDirectory) {
    let recorder = FlightRecorder::start(settings(place.0.path())).unwrap();
    recorder.stop(Duration::from_mins(1)).await;
}

/// The records that are read back from a database.
fn lines(database: &Path) -> Vec<Value> {
    let mut found = Vec::new();
    let map = |piece: &crate::audit::read::Piece| -> Vec<Value> {
        let lines = piece.lines();
        lines
            .map(|(_, line)| std::str::from_utf8(line).unwrap().parse().unwrap())
            .collect()
    };
    let source = Source::File(database.to_owned());
    read(&[source], map, |_, lines| {
        found.extend(lines);
        std::ops::ControlFlow::<()>::Continue(())
    })
    .unwrap();
    found
}

fn append(path: &Path, lines: &[String]) {
    use std::io::Write as _;
    let mut file = fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .unwrap();
    for line in lines {
        writeln!(file, "{line}").unwrap();
    }
}

fn calls(instance: &str, numbers: std::ops::RangeInclusive<u64>) -> Vec<String> {
    numbers.map(|seq| line(instance, seq, &call())).collect()
}

#[tokio::test]
async fn each_record_is_there_once_however_often_a_recorder_begins() {
    let place = TestDirectory::new();
    append(&place.log(), &calls("a1", 1..=3));
    run(&place).await;
    assert_eq!(place.numbers(), [1, 2, 3]);
    // The same log, longer; of another run too.
    append(&place.log(), &calls("a1", 4..=5));
    append(&place.log(), &calls("a2", 1..=1));
    run(&place).await;
    run(&place).await;
    assert_eq!(place.numbers(), [1, 2, 3, 4, 5, 1]);
    let connection = open_to_read(&place.database(), READ_MEMORY).unwrap();
    let count = |kind: &str| -> u64 {
        let count = "SELECT count(*) FROM fr_events WHERE event_kind = ?";
        connection
            .query_row(count, [kind], |row| row.get(0))
            .unwrap()
    };
    assert_eq!((count("mcp.gate.decision"), count("tool.call")), (6, 6));
}

#[test]
fn a_database_that_cannot_be_written_delays_rows_and_loses_none() {
    let place = TestDirectory::new();
    append(&place.log(), &calls("a1", 1..=1));
    let recorder = place.recorder();
    let mut work = RecorderWork::default();
    recorder.bring(&mut work, &|_| Phase::Stopping);
    assert_eq!(work.status, RecorderStatus::Works);
    let aside = place.0.path().join("aside.duckdb");
    fs::rename(place.database(), &aside).unwrap();
    fs::create_dir(place.database()).unwrap();
    for number in 2..=4 {
        append(&place.log(), &calls("a1", number..=number));
        recorder.bring(&mut work, &|_| Phase::Stopping);
        assert_eq!(work.status, RecorderStatus::Fails);
    }
    fs::remove_dir(place.database()).unwrap();
    fs::rename(&aside, place.database()).unwrap();
    recorder.bring(&mut work, &|_| Phase::Stopping);
    assert_eq!(work.status, RecorderStatus::Works);
    assert_eq!(place.numbers(), [1, 2, 3, 4]);
}

#[test]
fn a_database_that_is_removed_or_replaced_gets_what_it_lacks() {
    let place = TestDirectory::new();
    append(&place.log(), &calls("a1", 1..=3));
    let recorder = place.recorder();
    let mut work = RecorderWork::default();
    let mut bring = |numbers, expected: &[u64]| {
        append(&place.log(), &calls("a1", numbers));
        // The first look finds another database, the second begins again.
        for _ in 0..2 {
            recorder.bring(&mut work, &|_| Phase::Stopping);
        }
        assert_eq!(work.status, RecorderStatus::Works);
        assert_eq!(place.numbers(), expected);
    };
    bring(4..=4, &[1, 2, 3, 4]);
    let backup = place.0.path().join("backup");
    fs::copy(place.database(), &backup).unwrap();
    fs::remove_file(place.database()).unwrap();
    bring(5..=5, &[1, 2, 3, 4, 5]);
    fs::copy(&backup, place.database()).unwrap();
    bring(6..=6, &[1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_result_has_the_arguments_of_its_call_also_after_a_restart() {
    let place = TestDirectory::new();
    let with_arguments = with(call(), "arguments", json!({"id": 7}));
    let result = json!({"kind": "tool_result", "method": "tools/call", "decision": "ALLOW"});
    // Each is brought by another recorder.
    for (seq, fields) in [(1, with_arguments), (2, result)] {
        let fields = with(fields, "reference", json!("r-1"));
        append(&place.log(), &[line("a1", seq, &fields)]);
        let mut work = RecorderWork::default();
        place.recorder().bring(&mut work, &|_| Phase::Stopping);
    }
    let connection = open_to_read(&place.database(), READ_MEMORY).unwrap();
    let select = "SELECT inputs::VARCHAR FROM fr_event_fields WHERE event_kind = 'tool.result'";
    let inputs: String = connection.query_row(select, [], |row| row.get(0)).unwrap();
    assert_eq!(inputs, "{\"id\":7}");
}

#[test]
fn a_line_that_is_no_record_is_left_out() {
    let place = TestDirectory::new();
    let half = line("a1", 2, &call());
    let (half, _) = half.split_at(40);
    let no_time = line("a1", 2, &call()).replace("2026-11-21T20:14:03", "yesterday");
    let strange = [half, "no record", "{}", "{\"version\":2}", &no_time].map(str::to_owned);
    let [first, third] = [1, 3].map(|number| line("a1", number, &call()));
    append(&place.log(), &[&[first][..], &strange, &[third]].concat());
    let mut work = RecorderWork::default();
    place.recorder().bring(&mut work, &|_| Phase::Stopping);
    assert_eq!(work.status, RecorderStatus::Works);
    assert_eq!(place.numbers(), [1, 3]);
}

const DIRECTORY: &str = "FLIGHT_RECORDER_TEST_DIRECTORY";

#[test]
#[ignore = "the process that `a_kill_loses_no_row_and_doubles_none` kills"]
fn brings_records_until_it_is_killed() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let recorder = Recorder::new(settings(Path::new(&directory)));
    let mut work = RecorderWork::default();
    println!("begun");
    loop {
        recorder.bring(&mut work, &|_| Phase::Stopping);
    }
}

/// `MCP_PROTECTOR_KILLS` is the number of kills; `.ci/flight-recorder` asks for more.
#[tokio::test]
async fn a_kill_loses_no_row_and_doubles_none() {
    let place = TestDirectory::new();
    let audit_settings = audit::Settings {
        file: Some(place.log()),
        rotation: audit::Rotation {
            max_size: Some(20_000),
            max_age: None,
        },
        stream: audit::Stream::None,
        durability: audit::Durability::Strict,
        on_fault: audit::OnFault::Deny,
        checkpoints: None,
    };
    let clock = Arc::new(SystemClock::new());
    let none = audit::Redactor::default();
    let log = audit::Audit::open(&audit_settings, Vec::new(), clock, none).unwrap();
    let kills = std::env::var("MCP_PROTECTOR_KILLS").map_or(10, |kills| kills.parse().unwrap());
    let mut written: u64 = 0;
    for round in 0..kills {
        let test = "audit::flight_recorder::tests::brings_records_until_it_is_killed";
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--ignored", "--nocapture"])
            .env(DIRECTORY, place.0.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(output.any(|line| line.unwrap().contains("begun")));
        // The more, the later the kill.
        for _ in 0..=(7 * round % 64) {
            let record = audit::Record::new(audit::Kind::ToolCall);
            let record = record.decision(audit::Decision::Allow, "forward");
            log.record(record).await.unwrap();
            written += 1;
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let mut work = RecorderWork::default();
    place.recorder().bring(&mut work, &|_| Phase::Stopping);
    assert_eq!(work.status, RecorderStatus::Works);
    assert_eq!(place.numbers(), (1..=written).collect::<Vec<_>>());
    let connection = open_to_read(&place.database(), READ_MEMORY).unwrap();
    let count = "SELECT count(*) FROM fr_events";
    let count: u64 = connection.query_row(count, [], |row| row.get(0)).unwrap();
    assert_eq!(count, 2 * written);
}

#[test]
fn gates_that_share_a_log_write_each_record_once() {
    let place = TestDirectory::new();
    let entries = |numbers| -> Vec<Entry> {
        let lines = calls("a1", numbers).into_iter();
        lines.map(|line| entry(&line)).collect()
    };
    prepare(&place.database()).unwrap();
    write(&place.database(), &entries(1..=3), &LastRecords::new()).unwrap();
    write(&place.database(), &entries(2..=5), &LastRecords::new()).unwrap();
    write(&place.database(), &entries(1..=5), &LastRecords::new()).unwrap();
    assert_eq!(place.numbers(), [1, 2, 3, 4, 5]);
    assert_eq!(last_records(&place.database()).unwrap()["a1"], 5);
}

#[test]
fn a_table_of_others_is_used_as_it_is_or_refused() {
    let check_table = |columns: &str, expected: &str| {
        let place = TestDirectory::new();
        let connection = Connection::open(place.database()).unwrap();
        connection
            .execute_batch(&format!("CREATE TABLE fr_events ({columns})"))
            .unwrap();
        drop(connection);
        let said = prepare(&place.database());
        let said = said.map_or_else(|error| error.to_string(), |()| String::new());
        assert!(
            said.starts_with(expected) && expected.is_empty() == said.is_empty(),
            "{columns}: {said}"
        );
        // Constraints show only when rows are tried.
        let found = check(&place.database()).map_err(|error| error.to_string());
        assert!(
            found == Ok(()) || found == Err(said),
            "{columns}: {found:?}"
        );
        if expected.is_empty() {
            let entry = entry(&line("a1", 1, &call()));
            prepare(&place.database()).unwrap();
            write(&place.database(), &[entry], &LastRecords::new()).unwrap();
            assert_eq!(place.numbers(), [1]);
        }
    };
    let rest = "event_kind TEXT, job_id TEXT, source TEXT, level TEXT, message TEXT";
    check_table(&format!("ts TIMESTAMPTZ, {rest}, payload JSON"), "");
    check_table(
        &format!("id INTEGER DEFAULT 7, payload TEXT, ts TIMESTAMP NOT NULL, {rest}, note TEXT"),
        "",
    );
    check_table(
        &format!("ts TIMESTAMPTZ, {rest}"),
        "its table `fr_events` has no column `payload`",
    );
    let required = rest.replace("job_id TEXT", "job_id TEXT NOT NULL");
    check_table(
        &format!("ts TIMESTAMPTZ, {required}, payload JSON"),
        "its tables refuse the gate's rows: Constraint Error: NOT NULL",
    );
    check_table(
        &format!("ts TIMESTAMPTZ UNIQUE, {rest}, payload JSON"),
        "its tables refuse the gate's rows: Constraint Error: PRIMARY KEY or UNIQUE",
    );
    check_table(
        &format!("rowid TEXT, ts TIMESTAMPTZ, {rest}, payload JSON"),
        "its table `fr_events` has a column `rowid`, which hides the order of its rows",
    );
    check_table(
        &format!("ts BIGINT, {rest}, payload JSON"),
        "the column `ts` of its table `fr_events` has the type BIGINT, not TIMESTAMP WITH TIME ZONE",
    );
    check_table(
        &format!("ts TIMESTAMPTZ, {rest}, payload JSON, run INTEGER NOT NULL"),
        "the column `run` of its table `fr_events` may not be null and has no default: the gate has no value for it",
    );
}

#[test]
fn what_is_no_database_is_named_and_left_alone() {
    let place = TestDirectory::new();
    let said = |path: &Path| {
        let said = [check(path), prepare(path)];
        said.map(|said| said.unwrap_err().to_string())
    };
    fs::write(place.database(), "no database, ".repeat(1000)).unwrap();
    for said in said(&place.database()) {
        assert!(said.contains("not a valid DuckDB database file"), "{said}");
    }
    assert!(
        fs::read(place.database())
            .unwrap()
            .starts_with(b"no database")
    );
    for said in said(place.0.path()) {
        assert_eq!(said, "it is no file");
    }
    let [said, _] = said(&place.0.path().join("absent/flight.duckdb"));
    assert_eq!(said, DatabaseError::NoDirectory.to_string());
    // A look creates nothing.
    check(&place.0.path().join("new.duckdb")).unwrap();
    assert!(!place.0.path().join("new.duckdb").exists());
}

#[cfg(unix)]
#[test]
fn a_new_database_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = TestDirectory::new();
    prepare(&place.database()).unwrap();
    let mode = fs::metadata(place.database()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn the_view_has_each_word_as_a_column() {
    let with_arguments = with(call(), "arguments", json!({"id": 7}));
    for fields in [with_arguments, call()] {
        let place = TestDirectory::new();
        prepare(&place.database()).unwrap();
        let entry = entry(&line("a1", 1, &fields));
        let words: Value = entry.rows[1].payload.parse().unwrap();
        write(&place.database(), &[entry], &LastRecords::new()).unwrap();
        let connection = open_to_read(&place.database(), READ_MEMORY).unwrap();
        for (word, value) in words.as_object().unwrap() {
            let known = word == "job_id" || KEYS.iter().any(|(key, _)| key == word);
            assert!(known, "{word}");
            let select = format!(
                "SELECT to_json({word})::VARCHAR FROM fr_event_fields WHERE event_kind = 'tool.call'"
            );
            let found: String = connection.query_row(&select, [], |row| row.get(0)).unwrap();
            assert_eq!(&found.parse::<Value>().unwrap(), value, "{word}");
        }
    }
}

#[test]
fn an_answer_may_be_larger_than_the_memory_of_the_database() {
    let place = TestDirectory::new();
    prepare(&place.database()).unwrap();
    let database = SqlDatabase::open(&place.database()).unwrap();
    let query = "SELECT repeat('a', 10000) AS a FROM range(30000)";
    let mut rows = database.rows(query, None).unwrap();
    let mut bytes = 0;
    while let Some(page) = rows.next_rows().unwrap() {
        bytes += page.iter().flatten().map(String::len).sum::<usize>();
    }
    assert_eq!(bytes, 300_000_000);
    // What it takes to sort, it has: more than to read, but not all.
    let sorted = |rows| {
        let query = format!("SELECT repeat('a', 10000) AS a FROM range({rows}) ORDER BY random()");
        database.rows(&query, None).is_ok()
    };
    assert!(sorted(10_000));
    assert!(!sorted(30_000));
}

#[test]
fn a_line_comes_back_byte_by_byte() {
    let place = TestDirectory::new();
    let odd = line("a1", 1, &json!({"target": "x"})).replace("\"x\"", r#""\u202e\u0000é""#);
    let odd = odd.replace("\"version\":1", "\"version\":1,\"later\":[1.0,1e400]");
    prepare(&place.database()).unwrap();
    let entry = entry(&odd);
    write(&place.database(), &[entry], &LastRecords::new()).unwrap();
    let mut text = Vec::new();
    let mut back = DatabaseLines::open(&place.database()).unwrap();
    std::io::Read::read_to_end(&mut back, &mut text).unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), odd + "\n");
}
