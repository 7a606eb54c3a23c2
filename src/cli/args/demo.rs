//! The demo, and the server that it starts.

use std::path::PathBuf;

use clap::Args;

/// Show the gate at work: a scripted agent, this gate and a small server.
///
/// Needs only this program, and opens no port. Checks each statement against the audit log and the log
/// of the server.
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

/// The notes server of the demo, on standard input and output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(after_help = "Example:
  mcp-protector demo-server --log received.jsonl")]
pub struct DemoServerArgs {
    /// Append each byte that arrives to this file, before the server acts on it.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
}
