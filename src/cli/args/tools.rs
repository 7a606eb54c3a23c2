//! The lock of tool definitions.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Format;

/// Lock, compare and approve the tool definitions of the server.
///
/// A lock (`tools.lock`, beside the policies) records how the server defines its tools and prompts, and
/// its instructions to models. Policies get types for the arguments from it, and what is no longer as
/// the lock says is neither shown nor used. Of the commands beside `proxy`, these are the only ones that speak to the
/// server: without `--from` they start it, or connect to it.
///
/// Exit codes: 0 done, or no difference; 1 there are differences; 2 nothing could be compared.
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
    /// Write the lock, unless there is one that says something else.
    #[command(after_help = "Example:
  mcp-protector tools lock --config gate.toml")]
    Lock {
        #[command(flatten)]
        source: ToolsSource,

        /// Replace a lock that says something else.
        #[arg(long)]
        force: bool,
    },
    /// Show how the server's definitions differ from the lock.
    #[command(after_help = "Examples:
  mcp-protector tools diff --config gate.toml
  mcp-protector tools diff --lock policies/tools.lock --from tools.json --format json")]
    Diff {
        #[command(flatten)]
        source: ToolsSource,
    },
    /// Take over definitions into the lock: what is named, or with `--all` everything.
    #[command(after_help = "Examples:
  mcp-protector tools approve read_file write_file --config gate.toml
  mcp-protector tools approve --all --config gate.toml")]
    Approve {
        #[command(flatten)]
        source: ToolsSource,

        /// Exact names of tools.
        #[arg(
            value_name = "TOOLS",
            required_unless_present_any = ["prompts", "instructions", "all"]
        )]
        tools: Vec<String>,

        /// Take over the definition of this prompt; may be given several times.
        #[arg(long = "prompt", value_name = "NAME")]
        prompts: Vec<String>,

        /// Take over the server's instructions.
        #[arg(long)]
        instructions: bool,

        /// Take over everything that differs.
        #[arg(long, conflicts_with_all = ["tools", "prompts", "instructions"])]
        all: bool,
    },
}

/// Where definitions come from, and where the lock is.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[group(skip)]
pub struct ToolsSource {
    /// Ask the server that this file names: it is started in the environment that a gate gives it, or
    /// reached over HTTP and shown what a gate shows it.
    #[arg(long, value_name = "FILE", required_unless_present = "from")]
    pub config: Option<PathBuf>,

    /// The lock; by default `tools.lock` in the policy directory of the configuration, and without a
    /// configuration in the current directory.
    #[arg(long, value_name = "FILE")]
    pub lock: Option<PathBuf>,

    /// Ask nobody: read a recorded reply to `tools/list`, or its result, from this file.
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,

    /// How to report.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}
