//! What the gate and its launcher agree on; the launcher itself is [`crate::cli::launch`].

use std::ffi::OsString;

use super::{open_files, sandbox};

/// The hidden subcommand.
pub const SUBCOMMAND: &str = "launch";

/// The shell's exit code for a command that was found and could not be executed.
pub const NOT_EXECUTABLE: u8 = 126;

/// The shell's exit code for a command that was not found.
pub const NOT_FOUND: u8 = 127;

/// Begins the line on stderr in which the launcher says why it could not execute the command. Such
/// a line counts only together with one of the two exit codes: a server can write it as well, and
/// gains nothing but its own end.
pub const CANNOT_START: &str = "mcp-protector launch: cannot start: ";

/// Which of the launcher's two processes to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Step {
    /// Stays beside the server and ends all that descends from it.
    Supervise,
    /// Becomes the server.
    Execute,
    /// Ends when it has entered a network of its own: whether there can be one.
    TryNetwork,
}

/// What stands before the server's own command line. `parent` is the caller's process id.
pub fn arguments(step: Step, parent: u32, sandbox: &sandbox::Arguments) -> Vec<OsString> {
    let step = match step {
        Step::Supervise => "supervise",
        Step::Execute => "execute",
        Step::TryNetwork => "try-network",
    };
    let parent = parent.to_string();
    let own = [SUBCOMMAND, "--parent", &parent, "--step", step];
    let mut arguments: Vec<OsString> = own.map(OsString::from).into();
    arguments.extend(sandbox.to_command_line());
    if let Some(before) = open_files::before() {
        arguments.extend(["--open-files".into(), before.to_string().into()]);
    }
    arguments.push("--".into());
    arguments
}
