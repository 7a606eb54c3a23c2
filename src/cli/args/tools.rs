//! The lock of tool definitions.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Format;

/// Lock, compare and approve the tool definitions of the servers.
///
/// A lock (`tools.lock`, beside the policies) contains the servers' definitions of tools and prompts, and
/// their instructions to models. It gives arguments in policies their types. The gate hides and denies
/// tools and prompts that differ from it. Without `--from`, these commands start the servers or connect
/// to them.
///
/// Exit codes: 0 done, or no difference; 1 differences; 2 no comparison.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Examples:
  mcp-protector tools lock --config gate.toml
  mcp-protector tools diff --config gate.toml
  mcp-protector tools approve read_file --config gate.toml"
)]
pub struct ToolsArgs {
    #[command(subcommand)]
    pub command: ToolsCommand,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum ToolsCommand {
    /// Write the lock, unless a different one exists.
    #[command(after_help = "Example:
  mcp-protector tools lock --config gate.toml")]
    Lock {
        #[command(flatten)]
        source: ToolsSource,

        /// Replace a different lock.
        #[arg(long)]
        force: bool,
    },
    /// Show which locked tools an agent would be shown, and why it is not shown the others.
    ///
    /// At the beginning of a session: nothing has been read, and no token makes claims. Contacts no server.
    #[command(after_help = "Examples:
  mcp-protector tools list --agent nightly --config gate.toml
  mcp-protector tools list --agent nightly --role auditor --server crm --config gate.toml")]
    List(ToolsOfAgent),
    /// Show the differences between the servers' definitions and the lock.
    #[command(after_help = "Examples:
  mcp-protector tools diff --config gate.toml
  mcp-protector tools diff --lock policies/tools.lock --from tools.json --format json")]
    Diff {
        #[command(flatten)]
        source: ToolsSource,
    },
    /// Approve named definitions in the lock, or all with `--all`.
    #[command(after_help = "Examples:
  mcp-protector tools approve read_file write_file --config gate.toml
  mcp-protector tools approve --all --config gate.toml")]
    Approve {
        #[command(flatten)]
        source: ToolsSource,

        /// Exact names of tools, with several servers as in `crm/read_file`.
        #[arg(
            value_name = "TOOLS",
            required_unless_present_any = ["prompts", "instructions", "all"]
        )]
        tools: Vec<String>,

        /// Approve the definition of this prompt; may be repeated.
        #[arg(long = "prompt", value_name = "NAME")]
        prompts: Vec<String>,

        /// Approve the server's instructions; with several servers as in `--instructions=crm`, which may be
        /// repeated.
        #[arg(long, value_name = "KEY", num_args = 0..=1, require_equals = true, default_missing_value = "")]
        instructions: Vec<String>,

        /// Approve all differences.
        #[arg(long, conflicts_with_all = ["tools", "prompts", "instructions"])]
        all: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ToolsOfAgent {
    /// The agent's id.
    #[arg(long, value_name = "NAME")]
    pub agent: String,

    /// A role or group of its token; may be repeated.
    #[arg(long = "role", value_name = "ROLE")]
    pub roles: Vec<String>,

    /// The key of the server, of several.
    #[arg(long, value_name = "KEY")]
    pub server: Option<String>,

    /// The configuration that names the policy directory, with its lock, and the servers.
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,

    /// Format of the report.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// The source of the definitions, and the lock.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[group(skip)]
pub struct ToolsSource {
    /// The configuration that names the servers. The command starts each server that is enabled with its
    /// environment, or connects over HTTP with its credentials.
    #[arg(long, value_name = "FILE", required_unless_present = "from")]
    pub config: Option<PathBuf>,

    /// The lock. By default `tools.lock` in the policy directory of the configuration, or without one in
    /// the current directory.
    #[arg(long, value_name = "FILE")]
    pub lock: Option<PathBuf>,

    /// A file with a recorded reply to `tools/list`, or its result. The command contacts no server. Not with
    /// several servers.
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,

    /// Format of the report.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}
