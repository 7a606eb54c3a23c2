//! A process that is spoken to in lines, with nothing between the test and the bytes.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Nothing here takes nearly so long, even on a busy machine: a peer that waits longer hangs.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// The other end of a process's standard streams.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) child: Child,
    pub(crate) input: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    stderr: Option<JoinHandle<Vec<u8>>>,
    /// Every line that was received so far.
    pub(crate) seen: Vec<String>,
}

/// What is left of a process.
#[derive(Debug)]
pub(crate) struct Ended {
    /// `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    /// Every line that it wrote.
    pub(crate) lines: Vec<String>,
    pub(crate) stderr: String,
}

impl Peer {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut stderr = child.stderr.take().unwrap();
        let (sender, lines) = sync_channel(1024);
        thread::spawn(move || {
            for line in stdout.split(b'\n').map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let stderr = thread::spawn(move || {
            let mut text = Vec::new();
            // What came before a failure is all there is to be told.
            let _ = stderr.read_to_end(&mut text);
            text
        });
        Self {
            input: child.stdin.take(),
            child,
            lines,
            stderr: Some(stderr),
            seen: Vec::new(),
        }
    }

    /// Writes bytes as they are. A process that reads no more is no failure of the test's.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        if let Some(input) = &mut self.input {
            let _ = input.write_all(bytes).and_then(|()| input.flush());
        }
    }

    pub(crate) fn send(&mut self, line: impl AsRef<str>) {
        self.write(format!("{}\n", line.as_ref()).as_bytes());
    }

    /// The next line; `None` at the end.
    pub(crate) fn receive(&mut self) -> Option<&str> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => {
                self.seen.push(String::from_utf8(line).unwrap());
                self.seen.last().map(String::as_str)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                let _ = self.child.kill();
                panic!("no line came; so far: {:#?}", tail(&self.seen))
            }
        }
    }

    /// Closes the process's standard input.
    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    /// Closes its input and reads everything to its end.
    pub(crate) fn end(mut self) -> Ended {
        self.close();
        while self.receive().is_some() {}
        let code = self.child.wait().unwrap().code();
        let stderr = self.stderr.take().unwrap().join().unwrap();
        Ended {
            code,
            lines: std::mem::take(&mut self.seen),
            stderr: String::from_utf8(stderr).unwrap(),
        }
    }
}

/// A test that fails leaves nothing behind: when a gate is killed its server is as well.
impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn tail(lines: &[String]) -> Vec<String> {
    let last = lines.len().saturating_sub(5);
    lines
        .iter()
        .skip(last)
        .map(|line| line.chars().take(300).collect())
        .collect()
}
