//! The reasons why nothing was done.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::cli::report;
use crate::cli::tools::ToolsFailure;
use crate::cli::validate_config::InvalidConfig;
use crate::config::ConfigErrors;
use crate::findings::printable;
use crate::policy::{PolicyErrors, ServerKey};

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum ServersFailure {
    #[error("the configuration is not usable")]
    Config(#[from] ConfigErrors),
    #[error("the policies are not usable")]
    Policies(#[from] PolicyErrors),
    #[error("the configuration is not valid")]
    Invalid(InvalidConfig),
    #[error(
        "`{}` names no directory for servers: write `servers_dir = \"servers.d\"` above its tables, and make the directory",
        .0.display()
    )]
    NoDirectory(PathBuf),
    #[error("`{key}` is written in `{}`, line {line}: edit it there, or move it to `{}`", gate.display(), file.display())]
    InGate {
        key: ServerKey,
        gate: PathBuf,
        line: usize,
        file: PathBuf,
    },
    #[error("`{key}` is written in `{}`, line {line}, and the configuration names no `servers_dir`: edit it there", gate.display())]
    InGateAlone {
        key: ServerKey,
        gate: PathBuf,
        line: usize,
    },
    #[error("`{}` exists: `servers update {key}` changes it", file.display())]
    Exists { key: ServerKey, file: PathBuf },
    #[error("there is no `{}`: `servers add {key}` writes it", file.display())]
    Absent { key: ServerKey, file: PathBuf },
    #[error("the configuration has no server `{key}`{}", listed(keys))]
    NoServer {
        key: ServerKey,
        keys: Vec<ServerKey>,
    },
    #[error("`{}` has no table `[servers.{key}]` that can be read", file.display())]
    NoTable { key: ServerKey, file: PathBuf },
    #[error(transparent)]
    Tools(#[from] ToolsFailure),
    #[error("{0}; nothing was written: `--no-handshake` writes without asking the server")]
    NoAnswer(ToolsFailure),
    #[error("the tools could not be evaluated: {0}")]
    NotEvaluated(String),
    #[error(
        "nothing was written, since there is no terminal to ask on: `--yes` writes without asking"
    )]
    NoTerminal,
    #[error("nothing was written")]
    Refused,
    #[error("`{}` has changed in the meantime: nothing was written", .0.display())]
    Changed(PathBuf),
    #[error("`{}`: {error}", file.display())]
    File { file: PathBuf, error: io::Error },
    #[error("the report could not be written: {0}")]
    Report(#[from] io::Error),
}

fn listed(keys: &[ServerKey]) -> String {
    let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    match keys.as_slice() {
        [] => ": it has `[upstream]`".to_owned(),
        keys => format!("; the servers are {}", keys.join(", ")),
    }
}

impl ServersFailure {
    pub(super) fn file(file: &Path, error: io::Error) -> Self {
        let file = file.to_owned();
        Self::File { file, error }
    }

    pub(super) fn tell(&self, out: &mut dyn Write) {
        // The exit code remains if the output is closed.
        let _ = match self {
            Self::Config(errors) => writeln!(out, "{}", report::text(errors)),
            Self::Policies(errors) => writeln!(out, "{}", report::text(errors)),
            Self::Invalid(invalid) => write!(out, "{}", invalid.report),
            Self::Tools(failure) => failure.tell(out),
            Self::NoDirectory(_)
            | Self::InGate { .. }
            | Self::InGateAlone { .. }
            | Self::Exists { .. }
            | Self::Absent { .. }
            | Self::NoServer { .. }
            | Self::NoTable { .. }
            | Self::NoAnswer(_)
            | Self::NotEvaluated(_)
            | Self::NoTerminal
            | Self::Refused
            | Self::Changed(_)
            | Self::File { .. }
            | Self::Report(_) => writeln!(out, "error: {}", printable(&self.to_string())),
        };
    }
}
