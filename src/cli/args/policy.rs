//! The arguments of `policy`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};

use super::CheckFormat;

/// Print the schema or the allowlist, draft policies, or write a `MANIFEST`.
///
/// Only `suggest --live` starts a server or connects to one.
///
/// Exit codes: 0 done, 1 the policies have errors, 2 a file cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = "Examples:
  mcp-protector policy schema policies/starter
  mcp-protector policy allowlist --config gate.toml
  mcp-protector policy suggest --audit audit.jsonl --output policies
  mcp-protector policy manifest policies/starter")]
pub struct PolicyArgs {
    #[command(subcommand)]
    pub command: PolicyCommand,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum PolicyCommand {
    /// Print the Cedar schema of policies, with the types that `tools.lock` adds.
    #[command(after_help = "Examples:
  mcp-protector policy schema
  mcp-protector policy schema policies/starter > gate.cedarschema")]
    Schema {
        /// The policy directory whose `tools.lock` adds types.
        #[arg(value_name = "DIR", conflicts_with = "config")]
        dir: Option<PathBuf>,

        /// Use the policy directory of this configuration.
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
    /// Print the allowlist of a configuration (`policy.allow`) as Cedar policies.
    #[command(after_help = "Example:
  mcp-protector policy allowlist --config gate.toml")]
    Allowlist {
        /// The configuration.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
    },
    /// Draft a policy directory with tests, for review, from audit logs or the servers' tools.
    ///
    /// From logs: tools whose names tell that they read are permitted, others ask a person. Paths, hosts and
    /// values are narrowed to those seen if `audit.arguments` is "redacted". From servers: tools that only
    /// read are permitted with any arguments, those that write ask a person, those that connect are denied, and
    /// `tools.lock` holds their definitions. With several servers, the draft names tools as `KEY/name`.
    ///
    /// Exit codes: 0 done; 1 the draft would deny what the log allowed, leaves out tools, or has definitions that
    /// instruct a model; 2 a file cannot be read or written, or a server gives no list.
    #[command(group = ArgGroup::new("source").args(["audit", "live"]).required(true))]
    #[command(after_help = "Examples:
  mcp-protector policy suggest --audit audit.jsonl --output policies
  mcp-protector policy suggest --audit audit.jsonl --config gate.toml --output policies
  mcp-protector policy suggest --live gate.toml --output policies")]
    Suggest {
        /// An audit log, read twice.
        #[arg(long, value_name = "FILE")]
        audit: Vec<PathBuf>,

        /// The configuration of the servers in the log. A log of several servers needs it.
        #[arg(long, value_name = "FILE", conflicts_with = "live")]
        config: Option<PathBuf>,

        /// The configuration of the servers, which the command starts or connects to.
        #[arg(long, value_name = "FILE")]
        live: Option<PathBuf>,

        /// The new directory.
        #[arg(long, value_name = "DIR")]
        output: PathBuf,
    },
    /// Write `MANIFEST` into a policy directory: the list of its files with their digests.
    ///
    /// Writes nothing if the policies have errors.
    #[command(after_help = "Example:
  mcp-protector policy manifest policies/starter")]
    Manifest {
        /// The policy directory.
        #[arg(value_name = "DIR")]
        dir: PathBuf,

        /// Format of the report.
        #[arg(long, value_enum, default_value_t)]
        format: CheckFormat,
    },
}
