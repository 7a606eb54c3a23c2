//! Why the audit log could not be opened, or cannot be written.

use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

/// The log cannot be opened: the author of the configuration acts.
#[derive(Debug, Error)]
pub enum OpenError {
    #[error("the directory `{}` of the audit file does not exist", .0.display())]
    NoDirectory(PathBuf),
    #[error("the audit file `{}` is not a regular file (symbolic links are not followed)", .0.display())]
    NotAFile(PathBuf),
    #[error("cannot open the audit file `{}`: {error}", path.display())]
    File {
        path: PathBuf,
        error: std::io::Error,
    },
    #[error("cannot use {stream} for audit records: {error}")]
    Stream {
        stream: &'static str,
        error: std::io::Error,
    },
    #[error("the signing key `{}` {error}", path.display())]
    SigningKey {
        path: PathBuf,
        error: super::checkpoint::KeyError,
    },
    #[error("cannot start writing audit records: {0}")]
    Start(std::io::Error),
}

/// The log cannot be written: the operator must act.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AuditFault {
    /// A write or a sync failed, and no later one has worked yet.
    #[error("cannot write audit records to {sink}: {problem}")]
    Write { sink: Arc<str>, problem: Arc<str> },
    /// Nothing failed, and nothing went on for as long as a caller has patience.
    #[error("audit records are not being written: the log has stalled")]
    Stalled,
    /// The deadline of a flush passed with records unwritten.
    #[error("{unwritten} audit records were not written in time")]
    Unwritten { unwritten: u64 },
    /// The log was closed, or the thread that writes it is gone.
    #[error("the audit log is closed")]
    Closed,
}

/// Whether the writer may say in the diagnostics that writing fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultReports {
    Tell,
    /// Standard error is what fails, perhaps: telling would fail too, or never return.
    Silent,
}
