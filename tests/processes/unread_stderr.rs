//! The gate itself, started by an agent that leaves its stderr unread.

use std::fs;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use tempfile::TempDir;

use crate::processes::support::{PATIENCE, python, wait_until};

const CALLS: usize = 20;

const SERVER: &str = r#"
import json, sys
results = {
    "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                   "serverInfo": {"name": "echo", "version": "1"}},
    "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": []},
}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": results[asked["method"]]}))
"#;

#[test]
fn an_unread_stderr_neither_stops_the_gate_nor_keeps_records_from_the_file() {
    for durability in ["async", "strict"] {
        let (unread, full) = full_pipe();
        let mut gate = Gate::start(durability, full);
        gate.call_often();
        // It still runs: nothing here is owed to its end.
        wait_until(PATIENCE, "the file has every call", || {
            count(&gate.records(), r#""kind":"tool_result""#) == CALLS
        });
        let records = gate.end();
        assert_eq!(count(&records, r#""kind":"tool_call""#), CALLS);
        assert!(records.last().unwrap().contains(r#""kind":"shutdown""#));
        drop(unread);
    }
}

#[test]
fn a_stderr_that_is_read_late_has_every_record_of_the_file() {
    let (mut late, full) = full_pipe();
    let mut gate = Gate::start("async", full);
    gate.call_often();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        late.read_to_string(&mut text).unwrap();
        text
    });
    let records = gate.end();
    let text = reader.join().unwrap();
    // The gate's diagnostics stand between them.
    let streamed: Vec<_> = text
        .lines()
        .filter(|line| line.contains("{\"version\""))
        .collect();
    let streamed: Vec<_> = streamed
        .iter()
        .map(|line| line.trim_start_matches('x'))
        .collect();
    assert_eq!(streamed, records);
}

/// A pipe that takes nothing more until somebody reads what it holds: only `x`.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let flags = fcntl_getfl(&writer).unwrap();
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).unwrap();
    while writer.write(&[b'x'; 4096]).is_ok() {}
    fcntl_setfl(&writer, flags).unwrap();
    (reader, writer)
}

fn count(records: &[String], text: &str) -> usize {
    records
        .iter()
        .filter(|record| record.contains(text))
        .count()
}

struct Gate {
    directory: TempDir,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Gate {
    fn start(durability: &str, stderr: PipeWriter) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let configuration = directory.path().join("gate.toml");
        let text = format!(
            "[upstream]\ncommand = {:?}\n[policy]\nallow = [\"echo\"]\n\
             [audit]\nfile = \"audit.jsonl\"\ndurability = {durability:?}\n",
            python(SERVER),
        );
        fs::write(&configuration, text).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_mcp-protector"))
            .args([Path::new("proxy"), Path::new("--config"), &configuration])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self {
            directory,
            child,
            input,
            output,
        }
    }

    fn call_often(&mut self) {
        self.ask(
            r#""id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}"#,
        );
        self.send(r#""method":"notifications/initialized""#);
        for id in 1..=CALLS {
            self.ask(&format!(
                r#""id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{}}}}"#
            ));
        }
    }

    fn send(&mut self, members: &str) {
        writeln!(self.input, r#"{{"jsonrpc":"2.0",{members}}}"#).unwrap();
    }

    fn ask(&mut self, members: &str) {
        self.send(members);
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        assert!(answer.contains(r#""result""#), "{members}: {answer}");
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("audit.jsonl")
    }

    /// What the file holds so far.
    fn records(&self) -> Vec<String> {
        let text = fs::read_to_string(self.file()).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// Closes the gate's stdin; answers all of the file.
    fn end(mut self) -> Vec<String> {
        drop(self.input);
        let mut status = None;
        wait_until(PATIENCE, "the gate exits", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        assert_eq!(status.unwrap().code(), Some(0));
        let text = fs::read_to_string(self.directory.path().join("audit.jsonl")).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}
