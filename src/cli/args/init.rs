//! A gate for the servers of MCP clients.

use std::path::PathBuf;

use clap::Args;

/// Protect the servers of your MCP clients.
///
/// Reads the configurations of Claude Desktop, Claude Code, Cursor, VS Code, Windsurf, Zed, Codex and
/// Hermes, starts each server once for its list of tools, and writes a configuration of the gate with
/// policies, labels, tests and a lock of the tools. Secret variables and headers move to a file of their own. Existing files are never overwritten.
///
/// Exit codes: 0 done; 1 something is not protected, or nothing was changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(after_help = "Examples:
  mcp-protector init
  mcp-protector init --from ~/.cursor/mcp.json --dir gate --wrap
  mcp-protector init --unwrap")]
pub struct InitArgs {
    /// A client's configuration, instead of all that are found; may be repeated. Its name and its keys
    /// tell the client.
    #[arg(long, value_name = "FILE")]
    pub from: Vec<PathBuf>,

    /// A new or empty directory for the configuration of the gate. With `--wrap`, also one that this
    /// command has written before. By default `~/.config/mcp-protector`.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,

    /// Have the clients start their servers through the gate. Each file gets a backup beside it.
    #[arg(long)]
    pub wrap: bool,

    /// Restore the clients' files as they were before `--wrap`.
    #[arg(long, conflicts_with_all = ["wrap", "dir", "yes"])]
    pub unwrap: bool,

    /// Do not ask before servers are started and files are changed.
    #[arg(long)]
    pub yes: bool,
}
