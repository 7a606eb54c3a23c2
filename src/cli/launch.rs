//! `launch`: runs the server's command so that it cannot outlive the gate. Hidden; the gate calls
//! it, see [`crate::upstream::Launcher`].
//!
//! Two processes of ours stand between the gate and the server's `exec`:
//!
//! - the *supervisor* stays. It adopts whatever descends from the server and is orphaned
//!   (`PR_SET_CHILD_SUBREAPER`), reaps it, and kills all of it when the server ends, when the gate
//!   says so (SIGQUIT), and when the gate is dead (`PR_SET_PDEATHSIG`). The streams are inherited;
//!   no byte passes through it.
//!   The cost: a daemon that the server starts on purpose (an `ssh` master, a build daemon) ends with
//!   it as well.
//! - the *executor* becomes the server, after asking the kernel to kill it when the supervisor dies,
//!   and, where there is a sandbox, after confining itself. The supervisor is not confined, so that
//!   it can end whatever the server becomes; the server can neither signal nor trace it.
//!
//! The parent-death signal is sent when the *thread* that started us ends. The supervisor looks
//! whether its parent is still the same process, so it does not matter which thread that was.

mod arguments;
#[cfg(target_os = "linux")]
mod linux;

use std::process::ExitCode;

pub use arguments::Launch;

impl Launch {
    /// Does its step. Call it before any thread is started and before anything is printed.
    ///
    /// The exit code is the server's own, or 128 and the number of the signal that killed it.
    pub fn run(self) -> ExitCode {
        #[cfg(target_os = "linux")]
        return linux::run(&self);
        #[cfg(not(target_os = "linux"))]
        return ExitCode::FAILURE;
    }
}
