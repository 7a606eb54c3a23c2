//! The reasons why nothing was changed.

use std::io::{self, Write};
use std::path::PathBuf;

use crate::cli::report;
use crate::cli::suggest::SuggestFailure;
use crate::clients::ClientErrors;
use crate::config::ConfigErrors;
use crate::findings::printable;
use crate::policy::PolicyErrors;

/// The reason why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub(super) enum InitFailure {
    #[error("no configuration of an MCP client was found: name one with `--from FILE`")]
    NoFiles,
    #[error("no client's configuration names a server that the gate can start or reach")]
    NoServers,
    #[error("no server answered: `--from FILE` names other files")]
    NoAnswer,
    #[error("`{}` is in no form of a client: expected `mcpServers`, `servers`, `context_servers` or `mcp_servers`", .0.display())]
    NoForm(PathBuf),
    #[error("neither `XDG_CONFIG_HOME` nor `HOME` names a directory: say `--dir DIR`")]
    NoHome,
    #[error("`{}` cannot be made absolute: {}", .0.display(), .1)]
    Path(PathBuf, io::Error),
    #[error("`{}` is not UTF-8, as clients' files are: say `--dir DIR`", .0.display())]
    NotUtf8(PathBuf),
    #[error(
        "there is no terminal to ask whether these servers may be started: name the files with `--from FILE`, or say `--yes`"
    )]
    StartsUnasked,
    #[error("there is no terminal to ask whether these files may be rewritten: say `--yes`")]
    WrapsUnasked,
    #[error("nothing was changed")]
    Refused,
    #[error("`{}` has no `[servers.{}]`: write a new configuration with `--dir DIR`", .0.display(), .1)]
    Missing(PathBuf, String),
    #[error(
        "`{}`: `[servers.{}]` has another `{}` than the client's configuration: make the two alike, or write a new \
         configuration with `--dir DIR`", .0.display(), .1, .2
    )]
    Differs(PathBuf, String, &'static str),
    #[error("more than 32 servers: name fewer files with `--from FILE`")]
    TooMany,
    #[error(transparent)]
    Client(#[from] ClientErrors),
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    #[error(transparent)]
    Policies(#[from] PolicyErrors),
    #[error(transparent)]
    Directory(#[from] SuggestFailure),
    #[error("the report could not be written: {0}")]
    Report(#[from] io::Error),
}

impl InitFailure {
    /// The exit code remains if the reader has closed the stream.
    pub(super) fn tell(&self, stderr: &mut dyn Write) {
        let text = match self {
            Self::Client(errors) => report::text(errors),
            Self::Config(errors) => report::text(errors),
            Self::Policies(errors) => report::text(errors),
            Self::Directory(failure) => {
                failure.tell(stderr);
                return;
            }
            Self::NoFiles
            | Self::NoServers
            | Self::NoAnswer
            | Self::NoForm(_)
            | Self::NoHome
            | Self::Path(..)
            | Self::NotUtf8(_)
            | Self::StartsUnasked
            | Self::WrapsUnasked
            | Self::Refused
            | Self::Missing(..)
            | Self::Differs(..)
            | Self::TooMany
            | Self::Report(_) => format!("error: {}", printable(&self.to_string())),
        };
        let _ = writeln!(stderr, "{text}");
    }
}
