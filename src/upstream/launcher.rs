//! What the gate and its launcher agree on; the launcher itself is [`crate::cli::launch`].

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
}

/// What stands before the server's own command line. `parent` is the caller's process id.
pub fn arguments(step: Step, parent: u32) -> [String; 6] {
    let step = match step {
        Step::Supervise => "supervise",
        Step::Execute => "execute",
    };
    [
        SUBCOMMAND,
        "--parent",
        &parent.to_string(),
        "--step",
        step,
        "--",
    ]
    .map(str::to_owned)
}
