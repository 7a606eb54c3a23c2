//! The reasons for which a demo ends early.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

#[derive(Debug, thiserror::Error)]
pub(super) enum DemoFailure {
    #[error("this is not so: {statement}\n  expected: {expected:?}\n  found:    {found:?}")]
    False {
        statement: String,
        expected: Vec<String>,
        found: Vec<String>,
    },
    #[error("cannot {action}: {cause}")]
    Io {
        action: &'static str,
        cause: io::Error,
    },
    #[error("timeout after {seconds} s: the demo waits for {event}")]
    Timeout { event: &'static str, seconds: u64 },
    #[error("the gate has ended with {0}")]
    GateExited(ExitStatus),
    #[error("the gate's configuration is not valid: {0}")]
    Config(String),
    #[error("the gate's HTTP response has no body")]
    NoAnswer,
    #[error("the gate's policies are not valid: {0}")]
    Policies(String),
    #[error("this is not JSON: {0}")]
    NotJson(String),
    #[error("{failure}\nThe files of this run are in {}.", .directory.display())]
    InDirectory {
        failure: Box<DemoFailure>,
        directory: PathBuf,
    },
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
}

impl DemoFailure {
    pub(super) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Io { action, cause }
    }

    /// Names the directory of the logs, unless the reader of the demo has left.
    pub(super) fn in_directory(self, directory: PathBuf) -> Self {
        if matches!(self, Self::Output(_)) {
            return self;
        }
        Self::InDirectory {
            failure: Box::new(self),
            directory,
        }
    }
}
