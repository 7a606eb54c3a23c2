//! What waits for a person's answer.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Format;

/// List and answer what agents wait for.
///
/// Speaks to the admin listener of a running gate (`[admin]` with `approvers`), as the page under
/// `/approvals` does. Who answers shows a token of their own, from the environment or from a file: it
/// is never an argument, which everybody on the machine could read.
///
/// Exit codes: 0 done; 1 nothing of that name waits any more, or the gate refuses; 2 the gate could
/// not be asked.
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
    /// Show what waits, oldest first, with its exact arguments.
    #[command(after_help = "Example:
  mcp-protector approvals list --url http://127.0.0.1:9090 --format json")]
    List {
        #[command(flatten)]
        gate: GateArgs,
    },
    /// Agree to the request of this number.
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

/// Which gate, and who asks it.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[group(skip)]
pub struct GateArgs {
    /// The admin listener of the gate: scheme, host and port.
    #[arg(long, value_name = "URL", env = "MCP_PROTECTOR_ADMIN_URL")]
    pub url: String,

    /// A file that holds nothing but the token; without it, the token is the value of the variable
    /// `MCP_PROTECTOR_APPROVER_TOKEN`.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// PEM file of authorities that are trusted besides those of the system, where the URL is `https`.
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,

    /// How to report.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}
