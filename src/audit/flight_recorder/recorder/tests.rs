use std::cell::{Cell, RefCell};
use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use tracing::subscriber::with_default;

use super::*;
use crate::audit::flight_recorder::database::{READ_MEMORY, open_to_read};
use crate::audit::flight_recorder::{EventKinds, FlightRecorderSettings};

fn settings(directory: &Path) -> FlightRecorderSettings {
    FlightRecorderSettings {
        database: directory.join("flight.duckdb"),
        log: directory.join("audit.jsonl"),
        event_kinds: EventKinds::Tool,
    }
}

/// A log of so many records.
fn write_log(directory: &Path, records: u64) {
    let line = |seq| {
        format!(
            r#"{{"version":1,"seq":{seq},"timestamp":"2026-11-21T20:14:03Z","instance":"a","kind":"tool_call"}}"#
        ) + "\n"
    };
    let log: String = (1..=records).map(line).collect();
    fs::write(directory.join("audit.jsonl"), log).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_a_thread_that_has_panicked() {
    let shared = Arc::new(RecorderShared::default());
    let ending = Arc::clone(&shared);
    let thread = thread::spawn(move || {
        let _ended = EndNotice(&ending);
        panic!("a defect");
    });
    assert!(thread.join().is_err());
    let stop = FlightRecorder(shared).stop(Duration::from_mins(1));
    assert!(timeout(Duration::from_secs(1), stop).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_stop_waits_for_a_thread_no_longer_than_it_may() {
    for (limit, is_in_time) in [(4, false), (6, true)] {
        let never_ends = FlightRecorder(Arc::default());
        let stop = never_ends.stop(Duration::from_secs(5));
        let stopped = timeout(Duration::from_secs(limit), stop).await;
        assert_eq!(stopped.is_ok(), is_in_time, "{limit} s");
    }
}

const DATABASE: &str = "MCP_PROTECTOR_HELD_DATABASE";

#[test]
#[ignore = "the process that holds the database of `a_database_that_others_hold_is_reported_after_ten_tries`"]
fn holds_a_database_until_it_is_killed() {
    let Some(path) = std::env::var_os(DATABASE) else {
        return;
    };
    let _connection = open_to_read(Path::new(&path), READ_MEMORY).unwrap();
    println!("held");
    loop {
        thread::park();
    }
}

/// Another process that has the database open.
fn holder(database: &Path) -> Child {
    let test = "audit::flight_recorder::recorder::tests::holds_a_database_until_it_is_killed";
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env(DATABASE, database)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(output.any(|line| line.unwrap().contains("held")));
    child
}

#[derive(Clone, Default)]
struct Diagnostics(Arc<Mutex<Vec<u8>>>);

impl io::Write for Diagnostics {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is reported while others hold the database for so many tries.
#[track_caller]
fn check_held_for(tries: u32, reports: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let settings = settings(directory.path());
    let database = settings.database.clone();
    let recorder = Recorder::new(settings);
    let mut work = RecorderWork::default();
    write_log(directory.path(), 1);
    recorder.bring(&mut work, &|_| Phase::Stopping);
    write_log(directory.path(), 2);
    let holder = RefCell::new(holder(&database));
    let failed = Cell::new(0);
    let wait = |_| {
        failed.set(failed.get() + 1);
        if failed.get() == tries {
            let mut holder = holder.borrow_mut();
            holder.kill().unwrap();
            holder.wait().unwrap();
        }
        Phase::Running
    };
    let written = Diagnostics::default();
    let writer = written.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .finish();
    with_default(subscriber, || recorder.bring(&mut work, &wait));
    assert_eq!(failed.get(), tries);
    assert_eq!(last_records(&database).unwrap()["a"], 2);
    let written = written.0.lock().unwrap();
    let written = String::from_utf8_lossy(&written);
    let lines: Vec<&str> = written.lines().collect();
    assert_eq!(lines.len(), reports.len(), "{written}");
    for (line, report) in lines.iter().zip(reports) {
        assert!(line.contains(report), "{line}");
    }
}

#[test]
fn a_database_that_others_hold_is_reported_after_ten_tries() {
    check_held_for(PATIENCE - 1, &[]);
    let reports = [
        "another process has it open",
        "the flight recorder writes again",
    ];
    check_held_for(PATIENCE, &reports);
    check_held_for(PATIENCE + 2, &reports);
}
