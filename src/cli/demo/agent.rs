//! The scripted agent: it starts the gate as any agent starts a stdio server, and writes and reads lines.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use super::failure::DemoFailure;
use super::files::{DIAGNOSTICS, PACK};

/// The longest wait for a line. A line takes about a millisecond on an idle machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Lines that may wait to be read; the demo reads each before it asks for the next.
const MAX_LINES: usize = 64;

/// The agent's end of a session with the gate. A drop kills the gate.
pub(super) struct DemoAgent {
    gate: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl DemoAgent {
    /// Starts the gate, which starts the server.
    pub(super) fn start(directory: &Path) -> Result<Self, DemoFailure> {
        let start = || {
            let mut gate = Command::new(std::env::current_exe()?)
                .args(["proxy", "--config"])
                .arg(directory.join(PACK).join("gate.toml"))
                .env_remove("RUST_LOG")
                .current_dir(directory)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(File::create(directory.join(DIAGNOSTICS))?)
                .spawn()?;
            let (sender, lines) = sync_channel(MAX_LINES);
            let output = gate.stdout.take();
            thread::spawn(move || {
                let lines = output.into_iter().flat_map(|it| BufReader::new(it).lines());
                for line in lines.map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        break;
                    }
                }
            });
            Ok(Self {
                input: gate.stdin.take(),
                gate,
                lines,
            })
        };
        start().map_err(DemoFailure::io("start the gate"))
    }

    pub(super) fn send(&mut self, line: &str) -> Result<(), DemoFailure> {
        let sent = match &mut self.input {
            Some(input) => writeln!(input, "{line}").and_then(|()| input.flush()),
            None => Ok(()),
        };
        sent.map_err(DemoFailure::io("write to the gate"))
    }

    /// The next line from the gate; `None` after the gate has closed its output.
    pub(super) fn receive(&mut self) -> Result<Option<String>, DemoFailure> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Ok(Some(line)),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => Err(DemoFailure::Timeout {
                event: "a line from the gate",
                seconds: PATIENCE.as_secs(),
            }),
        }
    }

    /// Closes the agent's output, as an agent does that has finished.
    pub(super) fn close(&mut self) {
        self.input = None;
    }

    pub(super) fn wait(&mut self) -> Result<ExitStatus, DemoFailure> {
        let ended = self.gate.wait();
        ended.map_err(DemoFailure::io("wait for the end of the gate"))
    }
}

impl Drop for DemoAgent {
    fn drop(&mut self) {
        // Both fail for a gate that has ended.
        let _ = self.gate.kill();
        let _ = self.gate.wait();
    }
}
