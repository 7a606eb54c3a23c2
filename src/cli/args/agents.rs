//! What `agents.toml` says of agents.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Format;

/// Show and change what `agents.toml` says of agents.
///
/// The file is in the policy directory of the configuration. A gate that runs reads it again.
///
/// Exit codes: 0 done; 1 the configuration, the policies or the change are invalid, and nothing is changed.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Examples:
  mcp-protector agents list --config gate.toml
  mcp-protector agents show nightly --config gate.toml
  mcp-protector agents set nightly --servers crm,mail --config gate.toml"
)]
pub struct AgentsArgs {
    #[command(subcommand)]
    pub command: AgentsCommand,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum AgentsCommand {
    /// Show the agents, their roles and the servers that they have.
    #[command(after_help = "Example:
  mcp-protector agents list --config gate.toml")]
    List {
        #[command(flatten)]
        source: AgentsSource,
    },
    /// Show one agent, which the file need not name.
    #[command(after_help = "Example:
  mcp-protector agents show nightly --config gate.toml")]
    Show {
        /// The agent's id.
        #[arg(value_name = "NAME")]
        name: String,

        #[command(flatten)]
        source: AgentsSource,
    },
    /// Replace lists of one agent. The rest of the file, its owner and its permissions stay as they are.
    #[command(after_help = "Examples:
  mcp-protector agents set nightly --servers crm,mail --not-servers \"\" --config gate.toml
  mcp-protector agents set nightly --deny-tool mail/send --config gate.toml")]
    Set {
        /// The agent's id.
        #[arg(value_name = "NAME")]
        name: String,

        #[command(flatten)]
        changes: AgentChanges,

        #[command(flatten)]
        source: AgentsSource,
    },
}

/// Lists that replace those of the file.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[group(required = true, multiple = true)]
pub struct AgentChanges {
    /// The servers that the agent may use, and no others: keys with commas, or repeated. An empty list (`""`)
    /// leaves it none.
    #[arg(long, value_name = "KEYS", value_delimiter = ',')]
    pub servers: Option<Vec<String>>,

    /// Servers that it may not use. An empty list ends that.
    #[arg(long, value_name = "KEYS", value_delimiter = ',')]
    pub not_servers: Option<Vec<String>>,

    /// Tools that it may call beyond the policies (`allow`): exact names, as in `crm/find_customer`.
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    pub allow_tool: Option<Vec<String>>,

    /// Tools that it may not call (`deny`).
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    pub deny_tool: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[group(skip)]
pub struct AgentsSource {
    /// The configuration that names the policy directory and the servers.
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,

    /// Format of the report.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}
