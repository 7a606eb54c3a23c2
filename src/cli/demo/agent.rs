//! The scripted agent: it starts the gate, and writes and reads messages, as any agent does.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use hyper::StatusCode;

use super::failure::DemoFailure;
use super::http::DemoHttp;
use super::logs::DIAGNOSTICS;
use super::story::{DemoSetting, DemoStory, DemoToken};

/// The longest wait for a line. A line takes about a millisecond on an idle machine.
const LINE_TIMEOUT: Duration = Duration::from_secs(20);

/// Lines that may wait to be read; the demo reads each before it asks for the next.
const MAX_LINES: usize = 64;

/// The variable with the agent's token, which the configuration names.
const TOKEN: &str = "DEMO_TOKEN";

/// The agent's end of a session with the gate. A drop kills the gate.
pub(super) struct DemoAgent {
    gate: Child,
    transport: DemoTransport,
}

/// How messages reach the gate.
enum DemoTransport {
    Stdio {
        input: Option<ChildStdin>,
        lines: Receiver<String>,
    },
    Http(Box<DemoHttp>),
}

impl DemoAgent {
    /// Starts the gate, which starts the server.
    pub(super) fn start(story: &DemoStory, directory: &Path) -> Result<Self, DemoFailure> {
        let token = DemoHttp::token()?;
        let stdin = match story.setting {
            DemoSetting::Stdio => Stdio::piped(),
            DemoSetting::Sandboxed => Stdio::null(),
        };
        let start = || {
            Command::new(std::env::current_exe()?)
                .args(["proxy", "--config"])
                .arg(directory.join(story.pack).join("gate.toml"))
                .env_remove("RUST_LOG")
                .env(TOKEN, &token)
                .current_dir(directory)
                .stdin(stdin)
                .stdout(Stdio::piped())
                .stderr(File::create(directory.join(DIAGNOSTICS))?)
                .spawn()
        };
        let mut gate = start().map_err(DemoFailure::io("start the gate"))?;
        let transport = match story.setting {
            DemoSetting::Stdio => DemoTransport::stdio(&mut gate),
            DemoSetting::Sandboxed => match DemoHttp::open(directory, &mut gate, token) {
                Ok(http) => DemoTransport::Http(Box::new(http)),
                Err(failure) => {
                    let _ = gate.kill();
                    return Err(failure);
                }
            },
        };
        Ok(Self { gate, transport })
    }

    /// Sends a message; over HTTP, the status of the response.
    pub(super) fn send(
        &mut self,
        line: &str,
        token: DemoToken,
    ) -> Result<Option<StatusCode>, DemoFailure> {
        let input = match &mut self.transport {
            DemoTransport::Stdio { input, .. } => input,
            DemoTransport::Http(http) => return http.post(line, token).map(Some),
        };
        let sent = match input {
            Some(input) => writeln!(input, "{line}").and_then(|()| input.flush()),
            None => Ok(()),
        };
        sent.map(|()| None)
            .map_err(DemoFailure::io("write to the gate"))
    }

    /// The next line from the gate; `None` if no more will come.
    pub(super) fn receive(&mut self) -> Result<Option<String>, DemoFailure> {
        let lines = match &mut self.transport {
            DemoTransport::Stdio { lines, .. } => lines,
            DemoTransport::Http(http) => return Ok(http.next_answer()),
        };
        match lines.recv_timeout(LINE_TIMEOUT) {
            Ok(line) => Ok(Some(line)),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => Err(DemoFailure::Timeout {
                event: "a line from the gate",
                seconds: LINE_TIMEOUT.as_secs(),
            }),
        }
    }

    /// The failure for a missing answer.
    pub(super) fn silence(&mut self) -> Result<DemoFailure, DemoFailure> {
        match &self.transport {
            DemoTransport::Stdio { .. } => self.wait().map(DemoFailure::GateExited),
            DemoTransport::Http(_) => Ok(DemoFailure::NoAnswer),
        }
    }

    /// Closes the agent's output, as a finished agent does. Over HTTP it sends the gate SIGTERM.
    pub(super) fn close(&mut self) -> Result<(), DemoFailure> {
        match &mut self.transport {
            DemoTransport::Stdio { input, .. } => *input = None,
            DemoTransport::Http(_) => {
                stop(&mut self.gate).map_err(DemoFailure::io("stop the gate"))?;
            }
        }
        Ok(())
    }

    pub(super) fn wait(&mut self) -> Result<ExitStatus, DemoFailure> {
        let ended = self.gate.wait();
        ended.map_err(DemoFailure::io("wait for the end of the gate"))
    }
}

impl DemoTransport {
    fn stdio(gate: &mut Child) -> Self {
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
        Self::Stdio {
            input: gate.stdin.take(),
            lines,
        }
    }
}

/// As an operator stops it.
#[cfg(unix)]
fn stop(gate: &mut Child) -> std::io::Result<()> {
    use rustix::process::{Pid, Signal, kill_process};
    kill_process(Pid::from_child(gate), Signal::TERM).map_err(Into::into)
}

/// No story gets here: those over HTTP need Linux.
#[cfg(not(unix))]
fn stop(gate: &mut Child) -> std::io::Result<()> {
    gate.kill()
}

impl Drop for DemoAgent {
    fn drop(&mut self) {
        // Both fail for a gate that has ended.
        let _ = self.gate.kill();
        let _ = self.gate.wait();
    }
}
