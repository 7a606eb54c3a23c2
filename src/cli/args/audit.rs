//! The arguments of `audit`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Examine audit logs; changes nothing.
///
/// Exit codes: 0 intact, 1 a record is changed or missing, 2 a file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Example:
  mcp-protector audit verify audit.jsonl"
)]
pub struct AuditArgs {
    #[command(subcommand)]
    pub command: AuditCommand,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum AuditCommand {
    /// Check that no record was changed, removed, inserted, repeated or moved.
    ///
    /// Names the first line that breaks the chain of hashes. It cannot notice records removed from the end
    /// of a run, an added run, or records rewritten with all that follow them.
    #[command(after_help = "Examples:
  mcp-protector audit verify audit.jsonl
  mcp-protector audit verify audit.jsonl.2 audit.jsonl.1 audit.jsonl")]
    Verify {
        /// The files of one log, oldest first.
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
}
