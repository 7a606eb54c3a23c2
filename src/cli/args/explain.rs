//! What can be typed after `explain`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};

use super::Format;

/// Say why one message is allowed or denied, and what would change it.
///
/// The message is one that the options make, a JSON-RPC message on standard input, or what a gate
/// has written down of one: a line of its audit log on standard input, or `--audit` with `--seq` or
/// `--record`. It takes the gate's own path, and nothing is started or connected to.
///
/// Exit codes: 0 allowed, 1 denied, 2 nothing could be explained.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(
    group = ArgGroup::new("judges").args(["policies", "config", "allow"]).multiple(true)
        .required(true),
    group = ArgGroup::new("which").args(["seq", "record"]),
    group = ArgGroup::new("message").args(["call", "read", "prompt", "audit", "from"]),
    after_help = "Examples:
  mcp-protector explain policies/starter --call read_text_file --args '{\"path\":\"/srv/.env\"}'
  mcp-protector explain --config gate.toml --agent nightly --role auditor --read file:///etc/passwd
  mcp-protector explain --config gate.toml --audit audit.jsonl --seq 7
  mcp-protector explain --config gate.toml --audit audit.jsonl --record 5f2b8c0d91e6-12"
)]
pub struct ExplainArgs {
    /// The directory of the policies.
    #[arg(value_name = "POLICIES")]
    pub policies: Option<PathBuf>,

    /// Explain under the policies and guards that this file names, as if there were no rates and budgets.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["policies", "allow"])]
    pub config: Option<PathBuf>,

    /// Permit calls of these tools, as `proxy --allow` does.
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    pub allow: Option<Vec<String>>,

    /// Call this tool.
    #[arg(long, value_name = "TOOL")]
    pub call: Option<String>,

    /// Read this resource.
    #[arg(long, value_name = "URI")]
    pub read: Option<String>,

    /// Get this prompt.
    #[arg(long, value_name = "NAME")]
    pub prompt: Option<String>,

    /// The arguments of the call or the prompt, as a JSON object.
    #[arg(long, value_name = "JSON", conflicts_with_all = ["read", "audit", "from"])]
    pub args: Option<String>,

    /// Explain a record of this audit log.
    #[arg(long, value_name = "FILE", requires = "which")]
    pub audit: Option<PathBuf>,

    /// Which record, by its number.
    #[arg(long, value_name = "N", requires = "audit")]
    pub seq: Option<i64>,

    /// Which record, by the reference that a denied agent was told (`data.audit` of the error).
    #[arg(long, value_name = "REF", requires = "audit")]
    pub record: Option<String>,

    /// Who sends the message on standard input; by default the agent.
    #[arg(long, value_enum)]
    pub from: Option<Sender>,

    /// The agent's id, by which `agents.toml` knows it. Behind standard streams it is `stdio`.
    #[arg(
        long,
        value_name = "ID",
        default_value = "stdio",
        conflicts_with = "audit"
    )]
    pub agent: String,

    /// A role of the agent, beside those that `agents.toml` gives it; may be repeated.
    #[arg(long, value_name = "NAME", conflicts_with = "audit")]
    pub role: Vec<String>,

    /// A team of the agent; may be repeated.
    #[arg(long, value_name = "NAME", conflicts_with = "audit")]
    pub team: Vec<String>,

    /// Whose agent it is.
    #[arg(long, value_name = "NAME", conflicts_with = "audit")]
    pub user: Option<String>,

    /// What the agent calls itself.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "explain",
        conflicts_with = "audit"
    )]
    pub client: String,

    /// How far the agent is trusted, where `agents.toml` does not say.
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "audit")]
    pub trust: i64,

    /// What the session has been through, as in a fixture:
    /// `{ level = "confidential", labels = ["hr"], calls = 3 }`.
    #[arg(long, value_name = "TABLE", conflicts_with = "audit")]
    pub session: Option<String>,

    /// What a human has answered, as in a fixture: `{ scope = "writes", by = "alice", age = "2m" }`.
    #[arg(long, value_name = "TABLE", conflicts_with = "audit")]
    pub consent: Option<String>,

    /// When it is sent, as in `2026-11-21T20:00:00Z`; by default now.
    #[arg(long, value_name = "TIME", conflicts_with = "audit")]
    pub now: Option<jiff::Timestamp>,

    /// Show every policy about the action, not only those that decided or came near.
    #[arg(long)]
    pub all: bool,

    /// How to report.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Who sends a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Sender {
    Agent,
    Server,
}
