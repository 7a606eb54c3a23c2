use std::fs::{self, OpenOptions};
use std::path::Path;

use super::*;
use crate::cli::args::AuditFilters;

/// The line of a decision, whose agent is the number.
fn line(number: u32) -> String {
    format!(
        r#"{{"version":1,"seq":{number},"timestamp":"2026-11-21T20:14:03.512881Z","instance":"00000000000000a1","kind":"tool_call","agent":{{"id":"a{number}"}},"decision":"ALLOW"}}"#
    ) + "\n"
}

fn args(file: &Path, lines: usize) -> AuditTailArgs {
    AuditTailArgs {
        file: file.to_owned(),
        filters: AuditFilters::default(),
        lines,
        follow: true,
        no_follow: false,
    }
}

fn append(file: &Path, text: &str) {
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(file)
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// The agents of the rows.
fn agents(out: &[u8]) -> Vec<String> {
    let rows = std::str::from_utf8(out).unwrap().lines();
    rows.map(|row| row.split_whitespace().nth(3).unwrap().to_owned())
        .collect()
}

/// A tail, and the agents that it has printed since the last look.
struct Watched(Tail);

impl Watched {
    fn begin(file: &Path) -> Self {
        Self(Tail::begin(&args(file, 10), Style::Plain, &mut Vec::new()).unwrap())
    }

    #[track_caller]
    fn check(&mut self, expected: &[&str]) {
        let mut out = Vec::new();
        self.0.poll(&mut out).unwrap();
        assert_eq!(agents(&out), expected);
    }
}

#[test]
fn the_last_decisions_are_found_from_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log");
    let check = |text: &str, number: usize, expected: &[&str]| {
        fs::write(&file, text).unwrap();
        let mut out = Vec::new();
        Tail::begin(&args(&file, number), Style::Plain, &mut out).unwrap();
        assert_eq!(agents(&out), expected);
    };
    let few: String = (1..=3).map(line).collect();
    check("", 10, &[]);
    check(&few, 10, &["a1", "a2", "a3"]);
    check(&few, 2, &["a2", "a3"]);
    check(&few, 0, &[]);
    check(&(few.clone() + "{\"version\":1,\"se"), 2, &["a2", "a3"]);
    // No decisions: several steps back, over lines of every length.
    let other = line(4).replace("decision", "other");
    let many = other.repeat(30_000) + &other.replace("a4", &"x".repeat(2 << 20));
    check(&(few.clone() + &many), 2, &["a2", "a3"]);
    check(&(few.clone() + &many + &line(5)), 2, &["a3", "a5"]);
}

#[test]
fn new_lines_are_printed_when_they_are_whole() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log");
    append(&file, &line(1));
    let mut tail = Watched::begin(&file);
    tail.check(&[]);
    append(&file, &line(2));
    tail.check(&["a2"]);
    let next = line(3);
    let (begin, end) = next.split_at(40);
    append(&file, begin);
    tail.check(&[]);
    append(&file, end);
    tail.check(&["a3"]);
}

#[test]
fn a_rotated_file_is_read_to_its_end_before_the_new_one() {
    let directory = tempfile::tempdir().unwrap();
    let [file, old] = ["log", "log.1"].map(|name| directory.path().join(name));
    append(&file, &line(1));
    let mut tail = Watched::begin(&file);
    fs::rename(&file, &old).unwrap();
    append(&old, &line(2));
    // The path names no file yet.
    tail.check(&["a2"]);
    append(&old, &line(3));
    append(&old, "{\"version\":1,\"half of a killed gate");
    append(&file, &line(4));
    tail.check(&["a3", "a4"]);
    append(&old, &line(9));
    append(&file, &line(5));
    tail.check(&["a5"]);
    fs::remove_file(&file).unwrap();
    tail.check(&[]);
    append(&file, &line(6));
    tail.check(&["a6"]);
}

#[test]
fn a_truncated_file_begins_again() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log");
    append(&file, &(line(1) + &line(2) + "{\"version\":1,\"se"));
    let mut tail = Watched::begin(&file);
    OpenOptions::new()
        .write(true)
        .open(&file)
        .unwrap()
        .set_len(0)
        .unwrap();
    tail.check(&[]);
    append(&file, &line(3));
    tail.check(&["a3"]);
}

#[test]
fn a_line_that_is_no_record_or_too_long_ends_the_tail() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log");
    let check = |text: &str, expected: &str| {
        fs::write(&file, line(1)).unwrap();
        let mut tail = Watched::begin(&file);
        append(&file, text);
        let error = tail.0.poll(&mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(
            error.contains(&format!("at byte {}:", line(1).len())),
            "{error}"
        );
    };
    check("no record\n", "the line is no record");
    let long = "x".repeat(crate::audit::read::MAX_LINE_BYTES + 1);
    check(&long, "the line is longer than");
    check(&(long + "\n"), "the line is longer than");
}

#[test]
fn decisions_are_coloured_for_a_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log");
    let words = ["ALLOW", "BLOCK", "ERROR", "\\u001b[2J"];
    let lines = words.map(|word| line(1).replace("ALLOW", word));
    fs::write(&file, lines.concat()).unwrap();
    let mut out = Vec::new();
    Tail::begin(&args(&file, 10), Style::Colored, &mut out).unwrap();
    let found = String::from_utf8(out).unwrap();
    let colors = ["32m", "31m", "33m"].map(|color| format!("\u{1b}[{color}"));
    let rows: Vec<&str> = found.lines().collect();
    for (row, color) in rows.iter().zip(&colors) {
        assert_eq!(
            (row.matches('\u{1b}').count(), row.contains(color)),
            (2, true),
            "{row:?}"
        );
    }
    assert!(!rows[3].contains('\u{1b}'), "{:?}", rows[3]);
}
