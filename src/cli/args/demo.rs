//! The demo, and the server that it starts.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

/// Show the gate at work: a scripted agent, this gate and small servers, in two stories.
///
/// Needs only this program. The first story, of notes, opens no port. The second, of a workspace with
/// private data, opens ports of this machine; its servers are sandboxed, so that it is skipped where the
/// system has no sandbox. Checks each statement against the audit log and the logs of the servers.
///
/// Exit codes: 0 each statement is true; 1 a statement is false, or the demo cannot run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(after_help = "Examples:
  mcp-protector demo
  mcp-protector demo --keep demo-files")]
pub struct DemoArgs {
    /// Keep the configuration, the policies and the logs in this new or empty directory.
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
}

/// A server of the demo, on standard input and output. Without `--workspace` it keeps notes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(after_help = "Example:
  mcp-protector demo-server --log received.jsonl")]
pub struct DemoServerArgs {
    /// Append each byte that arrives to this file, before the server acts on it.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,

    /// Serve files, orders, customers and pages instead. This port stands for the network.
    #[arg(long, value_name = "ADDRESS")]
    pub workspace: Option<SocketAddr>,
}
