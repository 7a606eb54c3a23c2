//! Why a server cannot be started.

use super::sandbox::SandboxError;

/// Why a server cannot be started. Restarting would not help.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    #[error("`upstream.command` is empty")]
    Empty,
    #[error("`upstream.command`: `{program}` was not found{place}")]
    NotFound { program: String, place: String },
    #[error("`upstream.command`: `{program}` is not an executable file")]
    NotExecutable { program: String },
    #[error("`upstream.command`: `{program}` cannot be started: {cause}")]
    Refused { program: String, cause: String },
    #[error("the launcher `{launcher}` is not there; is `/proc` mounted?")]
    NoLauncher { launcher: String },
    #[error("`upstream.cwd`: `{directory}` is not a directory")]
    NoDirectory { directory: String },
    /// Windows reads such a path on its current drive, and policies read it as a path of POSIX.
    #[error("`upstream.cwd`: `{directory}` names no drive: write it as in `C:/work`")]
    NoDrive { directory: String },
    #[error("`upstream.env`: `{name}` cannot be the name of a variable")]
    VariableName { name: String },
    /// All that is wrong with it.
    #[error("{}", listed(.0))]
    Sandbox(Vec<SandboxError>),
}

fn listed(problems: &[SandboxError]) -> String {
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    problems.join("; ")
}
