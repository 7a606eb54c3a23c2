//! What other processes see: standard streams, and the file after a kill.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::super::*;
use super::faulty::FaultySink;
use super::log::{FOREVER, call, lines, log, quick, settings, targets};
use crate::clock::FixedClock;

const FILE: &str = "AUDIT_TEST_FILE";
const STREAM: &str = "AUDIT_TEST_STREAM";

/// This test program, to run one of its ignored tests.
fn child(test: &str) -> Command {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", &format!("audit::tests::processes::{test}")]);
    child.args(["--ignored", "--nocapture"]);
    child
}

fn open(path: PathBuf) -> Audit {
    let settings = Settings {
        file: Some(path),
        ..settings(Durability::Strict, OnFault::Deny)
    };
    let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
    Audit::open(&settings, clock, Redactor::default()).unwrap()
}

/// Records until it is killed, and says which records were taken.
#[tokio::test]
#[ignore = "the process that `what_strict_has_taken_survives_a_kill` kills"]
async fn records_until_it_is_killed() {
    let Some(path) = std::env::var_os(FILE) else {
        return;
    };
    let audit = open(path.into());
    for number in 0.. {
        let target = format!("{}-{number}", std::process::id());
        audit.record(call(&target)).await.unwrap();
        println!("taken {target}");
    }
}

#[tokio::test]
async fn what_strict_has_taken_survives_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let mut taken = Vec::new();
    let kills = 10;
    for round in 0..kills {
        let mut child = child("records_until_it_is_killed")
            .env(FILE, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        let said = |line: String| {
            line.split_once("taken ")
                .map(|(_, target)| target.to_owned())
        };
        taken.extend(
            output
                .by_ref()
                .map_while(Result::ok)
                .filter_map(said)
                .take(1 + 7 * round),
        );
        child.kill().unwrap();
        child.wait().unwrap();
        // What it said before it died.
        taken.extend(output.map_while(Result::ok).filter_map(said));
    }
    let audit = open(path.clone());
    audit.record(call("afterwards")).await.unwrap();
    audit.close(FOREVER).await.unwrap();

    let text = std::fs::read_to_string(&path).unwrap();
    let (whole, torn): (Vec<_>, Vec<_>) = text
        .lines()
        .map(str::parse::<Value>)
        .partition(Result::is_ok);
    assert!(torn.len() <= kills, "{} torn lines", torn.len());
    let there: HashSet<String> = whole
        .iter()
        .flatten()
        .map(|line| line["target"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(there.len(), whole.len(), "a record is there twice");
    assert!(taken.len() >= kills);
    for target in &taken {
        assert!(there.contains(target), "{target} was taken and is lost");
    }
    assert!(there.contains("afterwards"));
    let mut chain = verify::ChainVerifier::default();
    chain.read("log", &mut text.as_bytes()).unwrap();
    assert_eq!(chain.half_lines().0.len(), torn.len());
    assert!(chain.runs().len() > kills, "{:?}", chain.runs());
}

#[tokio::test]
#[ignore = "the process that `a_record_goes_to_the_stream_that_is_named_and_no_other` reads"]
async fn records_to_a_standard_stream() {
    let stream = match std::env::var(STREAM).as_deref() {
        Ok("stdout") => Stream::Stdout,
        Ok("stderr") => Stream::Stderr,
        _ => return,
    };
    let settings = Settings {
        stream,
        ..settings(Durability::Strict, OnFault::Deny)
    };
    let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
    let audit = Audit::open(&settings, clock, Redactor::default()).unwrap();
    audit.record(call("one")).await.unwrap();
    audit.record(call("two")).await.unwrap();
    audit.close(FOREVER).await.unwrap();
}

#[test]
fn a_record_goes_to_the_stream_that_is_named_and_no_other() {
    let targets = |bytes: &[u8]| -> Vec<String> {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        // The test program prints lines of its own.
        let lines = text.lines().filter_map(|line| line.parse::<Value>().ok());
        lines
            .filter_map(|line| line["target"].as_str().map(str::to_owned))
            .collect()
    };
    for (stream, on_stdout, on_stderr) in [("stdout", 2, 0), ("stderr", 0, 2)] {
        let output = child("records_to_a_standard_stream")
            .env(STREAM, stream)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let (out, err) = (targets(&output.stdout), targets(&output.stderr));
        assert_eq!((out.len(), err.len()), (on_stdout, on_stderr), "{output:?}");
        assert_eq!([out, err].concat(), ["one", "two"]);
    }
}

/// Records into a file that its parent has limited, until that fails, and after the limit is gone.
#[cfg(unix)]
#[tokio::test]
#[ignore = "the process that `a_real_file_that_cannot_grow_is_whole_when_it_can_again` limits"]
async fn records_to_a_file_that_cannot_grow() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let Some(path) = std::env::var_os(FILE) else {
        return;
    };
    let audit = open(path.into());
    let mut taken = 0;
    let fault = loop {
        match audit.record(call(&format!("before {taken}"))).await {
            Ok(()) => taken += 1,
            Err(fault) => break fault,
        }
    };
    assert!(matches!(fault, AuditFault::Write { .. }), "{fault}");
    audit.record(call("refused")).await.unwrap_err();
    let mut limit = getrlimit(Resource::Fsize);
    limit.current = limit.maximum;
    setrlimit(Resource::Fsize, limit).unwrap();
    audit.flush(FOREVER).await.unwrap();
    audit.record(call("after")).await.unwrap();
    audit.close(FOREVER).await.unwrap();
    println!("taken {taken}");
}

#[cfg(unix)]
#[test]
fn a_real_file_that_cannot_grow_is_whole_when_it_can_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let script = r#"trap "" XFSZ; ulimit -S -f 4; exec "$0" "$@""#;
    let child = child("records_to_a_file_that_cannot_grow");
    let output = Command::new("sh")
        .args(["-c", script])
        .arg(child.get_program())
        .args(child.get_args())
        .env(FILE, &path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    let (_, taken) = said.split_once("taken ").unwrap();
    let taken: usize = taken.split_whitespace().next().unwrap().parse().unwrap();

    let text = std::fs::read_to_string(&path).unwrap();
    let lines = lines(&text);
    let mut expected: Vec<String> = (0..=taken)
        .map(|number| format!("before {number}"))
        .collect();
    expected.push("after".into());
    assert_eq!(targets(&lines), expected);
    let lost: u64 = lines.iter().filter_map(|line| line["lost"].as_u64()).sum();
    assert_eq!(lost, 1);
}

#[tokio::test]
#[ignore = "the process whose diagnostics `an_outage_is_told_once_and_its_end_too` reads"]
async fn has_two_outages() {
    if std::env::var_os(STREAM).is_none() {
        return;
    }
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
    let sink = FaultySink::default();
    let audit = log(Durability::Async, OnFault::Warn, sink.clone(), quick());
    for _ in 0..2 {
        sink.fill_up();
        let before = sink.failures();
        audit.record(call("x")).await.unwrap();
        while sink.failures() < before + 5 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        sink.with_unlimited_space();
        audit.flush(FOREVER).await.unwrap();
    }
}

#[test]
fn an_outage_is_told_once_and_its_end_too() {
    let output = child("has_two_outages")
        .env(STREAM, "none")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    let count = |level: &str, words: &str| {
        text.lines()
            .filter(|line| line.contains(level) && line.contains(words))
            .count()
    };
    assert_eq!(
        count("ERROR", "cannot write audit records to the faulty sink"),
        2,
        "{text}"
    );
    assert_eq!(
        count("WARN", "audit records are being written again"),
        2,
        "{text}"
    );
}
