//! The reasons why there is no draft.

use std::io::{self, Write};
use std::path::PathBuf;

use crate::audit::query::LineError;
use crate::audit::read::{Position, ReadError};
use crate::cli::exit::Exit;
use crate::cli::report;
use crate::cli::test_policy::ReplayFailure;
use crate::cli::tools::ToolsFailure;
use crate::findings::printable;
use crate::policy::PolicyErrors;

/// The reason why there is no draft.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum SuggestFailure {
    #[error("`{}` exists and is not empty: name a new directory", .0.display())]
    Taken(PathBuf),
    #[error("`{}` is no directory: name a new one", .0.display())]
    NoDirectory(PathBuf),
    #[error("standard input can be read only once: give files")]
    StandardInput,
    /// A pipe or a device.
    #[error("`{}` can be read only once: give files", .0.display())]
    Stream(PathBuf),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("{at}: {error}")]
    Line { at: Position, error: LineError },
    #[error(transparent)]
    Replay(#[from] ReplayFailure),
    #[error("the log has no message of an agent that passed")]
    NothingPassed,
    /// A log of a gate of several servers, or of several gates.
    #[error("the log has messages of several servers ({}): name their configuration with `--config`", .0.join(", "))]
    SeveralServers(Vec<String>),
    /// Of the configuration or the server.
    #[error(transparent)]
    Server(#[from] ToolsFailure),
    #[error("no server has a tool that a draft can hold")]
    NoTools,
    #[error("`{}` cannot be written: {cause}", file.display())]
    Write { file: PathBuf, cause: io::Error },
    /// A defect of the draft.
    #[error(transparent)]
    Draft(#[from] PolicyErrors),
}

impl SuggestFailure {
    /// The exit code remains if the reader has closed the stream.
    pub(in crate::cli) fn tell(&self, stderr: &mut dyn Write) -> Exit {
        match self {
            Self::Draft(errors) => {
                report::policies(errors);
                return Exit::Findings;
            }
            Self::Server(failure) => {
                let _ = failure.tell(stderr);
            }
            Self::Taken(_)
            | Self::NoDirectory(_)
            | Self::StandardInput
            | Self::Stream(_)
            | Self::Read(_)
            | Self::Line { .. }
            | Self::Replay(_)
            | Self::NothingPassed
            | Self::SeveralServers(_)
            | Self::NoTools
            | Self::Write { .. } => {
                let _ = writeln!(stderr, "error: {}", printable(&self.to_string()));
            }
        }
        Exit::NotChecked
    }
}
