//! One started server process and its group: signals to it, and its end.

use std::fmt;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::settings::Launcher;
use super::start_error::StartError;

/// How a server's process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// It ended by itself, or through a signal: 128 and the signal's number, as in a shell.
    Code(i32),
    /// The command could not be executed at all.
    CannotStart(StartError),
    /// It is still there although it was killed: the operating system holds it.
    Stuck,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code @ 129..=192) => {
                write!(f, "exit code {code} (signal {})", code.saturating_sub(128))
            }
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::CannotStart(error) => write!(f, "{error}"),
            Self::Stuck => f.write_str("cannot be killed"),
        }
    }
}

/// How hard to push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Push {
    /// SIGTERM to the group.
    Terminate,
    /// The launcher kills everything below it, also what left the group. Without one: SIGKILL.
    Sweep,
    /// SIGKILL to the group.
    Kill,
}

/// The three streams of a new process.
#[derive(Debug)]
pub(super) struct Streams {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

/// Ends the group when dropped: a task that is dropped with its runtime must not leave a server.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    #[cfg(unix)]
    ends: tokio::signal::unix::Signal,
    #[cfg(target_os = "linux")]
    launcher: Launcher,
    reaped: Option<ExitStatus>,
}

impl Process {
    /// `stdin` is the server's where it is not that of the process that is started.
    pub(super) fn start(
        mut command: Command,
        stdin: Option<ChildStdin>,
        launcher: &Launcher,
    ) -> io::Result<(Self, Streams)> {
        #[cfg(not(target_os = "linux"))]
        let _ = launcher;
        // Before the process exists, so that no end goes unheard.
        #[cfg(unix)]
        let ends = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::child())?;
        let mut child = command.spawn()?;
        let stdin = stdin.or(child.stdin.take());
        let streams = (stdin, child.stdout.take(), child.stderr.take());
        let process = Self {
            #[cfg(unix)]
            ends,
            #[cfg(target_os = "linux")]
            launcher: launcher.clone(),
            child,
            reaped: None,
        };
        match streams {
            (Some(stdin), Some(stdout), Some(stderr)) => Ok((
                process,
                Streams {
                    stdin,
                    stdout,
                    stderr,
                },
            )),
            (_, _, _) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    pub(super) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Waits for the end, without reaping: as long as the process is unreaped its number, which is
    /// also its group's, cannot belong to anyone else.
    ///
    /// A pidfd would say it more directly, but tokio can watch one only through unsafe code.
    #[cfg(unix)]
    pub(super) async fn exited(&mut self) {
        use rustix::process::{WaitId, WaitIdOptions, waitid};

        let Some(pid) = self.pid() else {
            return;
        };
        let peek = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // An error says that there is nothing to wait for.
        while matches!(waitid(WaitId::Pid(pid), peek), Ok(None)) {
            if self.ends.recv().await.is_none() {
                return;
            }
        }
    }

    #[cfg(not(unix))]
    pub(super) async fn exited(&mut self) {
        self.reaped = self.child.wait().await.ok();
    }

    /// Collects the exit status; waits at most `patience` for it.
    pub(super) async fn reap(&mut self, patience: Duration) -> Exit {
        let status = match self.reaped {
            Some(status) => Ok(Ok(status)),
            None => tokio::time::timeout(patience, self.child.wait()).await,
        };
        match status {
            Ok(Ok(status)) => {
                self.reaped = Some(status);
                Exit::Code(code(status))
            }
            Ok(Err(_)) | Err(_) => Exit::Stuck,
        }
    }

    #[cfg(unix)]
    pub(super) fn push(&self, push: Push) {
        use rustix::process::{Signal, kill_process_group};

        // INVARIANT: `process_group(0)` made the process the leader of a group of its own.
        let Some(pid) = self.pid() else {
            return;
        };
        let sent = match push {
            Push::Terminate => kill_process_group(pid, Signal::TERM),
            #[cfg(target_os = "linux")]
            Push::Sweep if self.launcher != Launcher::Absent => {
                rustix::process::kill_process(pid, Signal::QUIT)
            }
            Push::Sweep | Push::Kill => kill_process_group(pid, Signal::KILL),
        };
        match sent {
            // No such process: everyone has gone by themselves.
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => tracing::warn!(%pid, %error, ?push, "the server could not be signalled"),
        }
    }

    /// `None` once it is reaped: tokio forgets the number then.
    #[cfg(unix)]
    fn pid(&self) -> Option<rustix::process::Pid> {
        rustix::process::Pid::from_raw(i32::try_from(self.child.id()?).ok()?)
    }

    #[cfg(not(unix))]
    pub(super) fn push(&mut self, push: Push) {
        // There is no gentle way, and no group without a job object.
        if push != Push::Terminate
            && let Err(error) = self.child.start_kill()
        {
            tracing::warn!(%error, "the server could not be killed");
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.reaped.is_none() {
            self.push(Push::Sweep);
        }
    }
}

#[cfg(unix)]
fn code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status
        .code()
        .or_else(|| status.signal().map(|signal| signal.saturating_add(128)))
        .unwrap_or(-1)
}

#[cfg(not(unix))]
fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or(-1)
}
