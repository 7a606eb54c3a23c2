//! What other processes see: standard streams, and the file after a kill.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::super::checkpoint::KeyFiles;
use super::super::*;
use super::faulty::FaultySink;
use super::log::{FOREVER, call, log, quick, settings};
#[cfg(unix)]
use super::log::{lines, targets};
use crate::clock::{FixedClock, SystemClock};

const FILE: &str = "AUDIT_TEST_FILE";
const STREAM: &str = "AUDIT_TEST_STREAM";

/// This test program, to run one of its ignored tests.
fn child(test: &str) -> Command {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", &format!("audit::tests::processes::{test}")]);
    child.args(["--ignored", "--nocapture"]);
    child
}

/// A log that is signed, and rotated often.
fn open(directory: &Path) -> Audit {
    let settings = Settings {
        file: Some(directory.join("audit.jsonl")),
        rotation: Rotation {
            max_size: Some(20_000),
            max_age: None,
        },
        checkpoints: Some(Checkpoints {
            key_file: KeyFiles::at(directory).private(),
            interval: Duration::from_millis(1),
        }),
        ..settings(Durability::Strict, OnFault::Deny)
    };
    let clock = Arc::new(SystemClock::new());
    Audit::open(&settings, Vec::new(), clock, Redactor::default()).unwrap()
}

/// Records until it is killed, and says which records were taken.
#[tokio::test]
#[ignore = "the process that `what_strict_has_taken_survives_a_kill` kills"]
async fn records_until_it_is_killed() {
    let Some(directory) = std::env::var_os(FILE) else {
        return;
    };
    let audit = open(Path::new(&directory));
    for number in 0.. {
        let target = format!("{}-{number}", std::process::id());
        audit.record(call(&target)).await.unwrap();
        println!("taken {target}");
    }
}

/// `MCP_PROTECTOR_KILLS` is the number of kills; `.ci/run` asks for more.
#[tokio::test]
async fn what_strict_has_taken_survives_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let keys = KeyFiles::new_in(directory.path());
    let mut taken = Vec::new();
    let kills = std::env::var("MCP_PROTECTOR_KILLS").map_or(10, |kills| kills.parse().unwrap());
    for round in 0..kills {
        let mut child = child("records_until_it_is_killed")
            .env(FILE, directory.path())
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
                .take(1 + 7 * round % 64),
        );
        child.kill().unwrap();
        child.wait().unwrap();
        // What it said before it died.
        taken.extend(output.map_while(Result::ok).filter_map(said));
    }
    let audit = open(directory.path());
    audit.record(call("afterwards")).await.unwrap();
    audit.close(FOREVER).await.unwrap();

    let plain = |older: &rotation::OlderFile| older.form == rotation::FileForm::Plain;
    while rotation::older_files(&path).iter().any(plain) {
        compression::compress_all(&path);
        std::thread::yield_now();
    }
    let names = std::fs::read_dir(directory.path()).unwrap();
    let names = names.map(|entry| entry.unwrap().path());
    let mut names: Vec<_> = names
        .filter(|path| path.extension() != Some("pem".as_ref()))
        .collect();
    names.sort();
    assert!(names.len() > 1, "{names:?}");
    let sources: Vec<_> = names.into_iter().map(read::Source::File).collect();

    let (mut whole, mut torn) = (0, 0);
    let mut there = HashSet::new();
    let lines = |piece: &read::Piece| {
        let lines = piece
            .lines()
            .map(|(_, line)| String::from_utf8_lossy(line).into_owned());
        lines.collect::<Vec<_>>()
    };
    let read_to_end: Option<()> = read::read(&sources, lines, |_, lines| {
        for line in lines {
            match line.parse::<Value>() {
                Ok(record) if record["kind"] == "checkpoint" => {}
                Ok(record) => {
                    whole += 1;
                    there.insert(record["target"].as_str().unwrap().to_owned());
                }
                Err(_) => torn += 1,
            }
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(read_to_end, None);
    assert!(torn <= kills, "{torn} torn lines");
    assert_eq!(there.len(), whole, "a record is there twice");
    assert!(taken.len() >= kills);
    for target in &taken {
        assert!(there.contains(target), "{target} was taken and is lost");
    }
    assert!(there.contains("afterwards"));
    let mut chain = verify::ChainVerifier::with_keys(vec![keys.read().1]);
    chain.read(&sources).unwrap();
    chain.finish().unwrap();
    let (few, more) = chain.half_lines();
    assert_eq!(few.len() + usize::try_from(more).unwrap(), torn);
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
    let audit = Audit::open(&settings, Vec::new(), clock, Redactor::default()).unwrap();
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
    let settings = Settings {
        file: Some(path.into()),
        ..settings(Durability::Strict, OnFault::Deny)
    };
    let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
    let audit = Audit::open(&settings, Vec::new(), clock, Redactor::default()).unwrap();
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
