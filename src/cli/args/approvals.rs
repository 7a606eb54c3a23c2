//! What waits for a person's answer.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Format;

/// List, approve and deny waiting requests.
///
/// Connects to the admin listener of a running gate (`[admin]` with `approvers`), like the page
/// `/approvals`. You need an approver's token, in the environment or in a file. Arguments contain no
/// token, because other users of the machine can read them.
///
/// Exit codes: 0 done; 1 no such request waits, or the gate refuses; 2 the gate cannot be reached.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Examples:
  mcp-protector approvals list --url http://127.0.0.1:9090
  mcp-protector approvals approve 3f0a91c27e --url http://127.0.0.1:9090
  mcp-protector approvals deny 3f0a91c27e --url http://127.0.0.1:9090 --token-file anna.token"
)]
pub struct ApprovalsArgs {
    #[command(subcommand)]
    pub command: ApprovalsCommand,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum ApprovalsCommand {
    /// List waiting requests, oldest first, with their exact arguments.
    #[command(after_help = "Example:
  mcp-protector approvals list --url http://127.0.0.1:9090 --format json")]
    List {
        #[command(flatten)]
        gate: GateArgs,
    },
    /// Approve the request of this number.
    #[command(after_help = "Example:
  mcp-protector approvals approve 3f0a91c27e --url http://127.0.0.1:9090")]
    Approve {
        /// The number that `list` shows.
        #[arg(value_name = "NUMBER")]
        id: String,

        #[command(flatten)]
        gate: GateArgs,
    },
    /// Deny the request of this number.
    #[command(after_help = "Example:
  mcp-protector approvals deny 3f0a91c27e --url http://127.0.0.1:9090")]
    Deny {
        /// The number that `list` shows.
        #[arg(value_name = "NUMBER")]
        id: String,

        #[command(flatten)]
        gate: GateArgs,
    },
}

/// The gate and the credentials.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[group(skip)]
pub struct GateArgs {
    /// The admin listener of the gate: scheme, host and port.
    #[arg(long, value_name = "URL", env = "MCP_PROTECTOR_ADMIN_URL")]
    pub url: String,

    /// A file with only the token. By default the token is the value of the variable
    /// `MCP_PROTECTOR_APPROVER_TOKEN`.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// PEM file of additional trusted authorities, for an `https` URL.
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,

    /// Format of the report.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}
