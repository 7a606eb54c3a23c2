//! The arguments of `attach`.

use std::path::PathBuf;

use clap::Args;

/// Connect an agent's standard streams to one server of the user's gate.
///
/// One gate serves all agents of this user that use the configuration, which has `[servers]` and
/// `listen.transport = "local"`. The first `attach` starts it; it ends a while after the last one.
///
/// Exit codes: 0 the agent closed its end, or a signal, 1 the gate refuses the configuration, a policy or
/// the server, 2 the gate cannot be reached, or has ended.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = "Examples:
  mcp-protector attach files --config gate.toml
  mcp-protector attach files")]
pub struct AttachArgs {
    /// The key of the server in `[servers]`.
    #[arg(value_name = "KEY")]
    pub server: String,

    /// The configuration; by default `.config/mcp-protector/gate.toml` in the user's home directory.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}
