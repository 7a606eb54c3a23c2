//! What other processes see: standard streams, and the file after a kill.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::super::*;
use super::log::{FOREVER, call, settings};
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
