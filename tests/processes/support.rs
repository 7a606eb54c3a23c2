//! A gate to start and kill, servers as small scripts, and a look at the process table.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mcp_protector::upstream::{
    Backoff, ChildEvents, ChildProcess, ChildSender, Event, Launcher, Settings, StopLadder,
};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::fixtures::fixture;

/// Far beyond what anything here takes on a busy machine; only a failure waits for it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The promise of requirement P4: no process is left five seconds after the gate.
pub(crate) const NO_ORPHANS_AFTER: Duration = Duration::from_secs(5);

/// The program in `gate.rs`. `cargo test` builds it; with `--test` it has to be there already.
pub(crate) fn gate_program() -> PathBuf {
    fixture("processes-gate").into()
}

/// A word in the environment of a server and of all that descends from it.
#[derive(Debug, Clone)]
pub(crate) struct Mark(String);

impl Mark {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let own = std::process::id();
        Self(format!(
            "MARK=processes-{own}-{}",
            NEXT.fetch_add(1, Ordering::Relaxed)
        ))
    }

    pub(crate) fn variable(&self) -> &str {
        &self.0
    }

    /// Every living process with the mark, and the launchers above them, which show their environment
    /// only to `CAP_SYS_PTRACE`. The dead have none.
    pub(crate) fn processes(&self) -> Vec<Process> {
        let marked = |process: &Process| {
            let environment = fs::read(format!("/proc/{}/environ", process.pid));
            let environment = environment.unwrap_or_default();
            let mut variables = environment.split(|byte| *byte == 0);
            variables.any(|variable| variable == self.0.as_bytes())
        };
        let mut processes = Process::all();
        let known: Vec<Process> = processes.iter().filter(|it| marked(it)).cloned().collect();
        processes.retain(|process| {
            let is_above = || known.iter().any(|it| it.parent == process.pid);
            known.iter().any(|it| it.pid == process.pid)
                || process.name == "mcp-launch" && is_above()
        });
        processes
    }

    pub(crate) fn assert_gone(&self) {
        wait_until(NO_ORPHANS_AFTER, "every process has gone", || {
            self.processes().is_empty()
        });
    }
}

impl Drop for Mark {
    /// A failed test leaves nothing to disturb the next one.
    fn drop(&mut self) {
        for process in self.processes() {
            process.kill(Signal::KILL);
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) name: String,
    pub(crate) state: char,
    pub(crate) parent: i32,
}

impl Process {
    pub(crate) fn all() -> Vec<Self> {
        let entries = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            Self::of(pid)
        });
        entries.collect()
    }

    fn of(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (front, back) = stat.rsplit_once(')')?;
        let mut fields = back.split_whitespace();
        Some(Self {
            pid,
            name: front.split_once('(')?.1.to_owned(),
            state: fields.next()?.chars().next()?,
            parent: fields.next()?.parse().ok()?,
        })
    }

    pub(crate) fn children_of(parent: i32) -> Vec<Self> {
        let mut all = Self::all();
        all.retain(|process| process.parent == parent);
        all
    }

    pub(crate) fn kill(&self, signal: Signal) {
        kill(self.pid, signal);
    }
}

pub(crate) fn kill(pid: i32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
}

#[track_caller]
pub(crate) fn wait_until(patience: Duration, what: &str, mut reached: impl FnMut() -> bool) {
    let step = Duration::from_millis(10);
    for _ in 0..patience.as_millis() / step.as_millis() {
        if reached() {
            return;
        }
        std::thread::sleep(step);
    }
    assert!(reached(), "{what}: not within {patience:?}");
}

/// A running gate, and an agent's end of its pipes.
pub(crate) struct Gate {
    pub(crate) child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: BufReader<ChildStdout>,
}

impl Gate {
    pub(crate) fn start(options: &[&str], server: &[&str]) -> Self {
        let mut command = Command::new(gate_program());
        command.arg("gate").args(options).arg("--").args(server);
        Self::spawn(&mut command)
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            stdin,
            stdout,
        }
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    pub(crate) fn send(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        wait_until(PATIENCE, "the gate exits", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }

    /// Starts a gate before a server in Python.
    pub(crate) fn python(options: &[&str], script: &str) -> Self {
        let server = python(script);
        Self::start(
            options,
            &server.iter().map(String::as_str).collect::<Vec<_>>(),
        )
    }

    /// All of stderr, after the end.
    pub(crate) fn complaints(mut self) -> String {
        drop(self.stdin.take());
        let mut text = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        std::io::Read::read_to_string(&mut stderr, &mut text).unwrap();
        self.wait();
        text
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The command line of a server in Python. Names the interpreter itself: `python3` may be a shell
/// script that looks for one, and adds to the environment on its way.
pub(crate) fn python(script: &str) -> Vec<String> {
    static INTERPRETER: OnceLock<String> = OnceLock::new();
    let find = || {
        let show = Command::new("python3")
            .args(["-c", "import sys; print(sys.executable)"])
            .output();
        String::from_utf8(show.unwrap().stdout)
            .unwrap()
            .trim()
            .to_owned()
    };
    [INTERPRETER.get_or_init(find), "-u", "-c", script]
        .map(str::to_owned)
        .to_vec()
}

/// Settings for a server inside the test's own process.
pub(crate) fn settings(command: Vec<String>) -> Settings {
    Settings {
        launcher: Launcher::Program(gate_program()),
        backoff: Backoff {
            first: Duration::from_millis(20),
            max: Duration::from_millis(150),
            seed: Some(1),
            ..Backoff::default()
        },
        stop: StopLadder {
            after_close: Duration::from_millis(200),
            after_terminate: Duration::from_millis(200),
        },
        ..Settings::new("test", command)
    }
}

/// A server whose events are copied, and whose waiting is bounded.
pub(crate) struct Server {
    pub(crate) sender: ChildSender,
    pub(crate) events: ChildEvents,
}

impl Server {
    pub(crate) fn start(settings: Settings) -> Self {
        let (sender, events) = ChildProcess::start(settings).unwrap();
        Self { sender, events }
    }

    /// A server in Python.
    pub(crate) fn python(script: &str) -> Self {
        Self::start(settings(python(script)))
    }

    pub(crate) async fn next(&mut self) -> Happened {
        let event = tokio::time::timeout(PATIENCE, self.events.next()).await;
        match event.expect("something happens") {
            Event::Line(line) => Happened::Line(String::from_utf8(line.to_vec()).unwrap()),
            Event::Unread(why) => Happened::Other(Event::Unread(why)),
            Event::Answered(request, why) => Happened::Other(Event::Answered(request, why)),
            Event::Restarted => Happened::Other(Event::Restarted),
            Event::Died {
                exit,
                will_restart_in,
            } => Happened::Other(Event::Died {
                exit,
                will_restart_in,
            }),
            Event::GaveUp { reason } => Happened::Other(Event::GaveUp { reason }),
        }
    }

    pub(crate) async fn line(&mut self) -> String {
        match self.next().await {
            Happened::Line(line) => line,
            Happened::Other(event) => panic!("no line but {event:?}"),
        }
    }

    pub(crate) async fn event(&mut self) -> Event<'static> {
        match self.next().await {
            Happened::Other(event) => event,
            Happened::Line(line) => panic!("no event but {line:?}"),
        }
    }

    pub(crate) async fn send(&self, line: &str) {
        let sent = tokio::time::timeout(PATIENCE, self.sender.send(line.to_owned())).await;
        sent.expect("the queue takes it").unwrap();
    }
}

pub(crate) enum Happened {
    Line(String),
    Other(Event<'static>),
}

/// Runs one test's future on a runtime of its own; a bound for all that it waits for.
pub(crate) fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        tokio::time::timeout(PATIENCE * 2, test)
            .await
            .expect("the test ends");
    });
}
