//! The arguments of `explain`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};

use super::Format;

/// Explain why one message is allowed or denied, and which changes would alter the decision.
///
/// The message comes from options, or is JSON-RPC on standard input. To explain a record of the audit
/// log, send its line on standard input, or use `--audit` with `--seq` or `--record`. The gate's own
/// code evaluates the message; the decision of a record is the recorded one. Starts nothing and connects nowhere.
///
/// By default a record has only a digest of the arguments (`audit.arguments = "digest"`): policies that look at
/// them are `unknown`. `audit.arguments = "redacted"` records them, unless they are long or have secrets.
///
/// Exit codes: 0 allowed, 1 denied, 2 no explanation.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(
    group = ArgGroup::new("judges").args(["policies", "config", "allow"]).multiple(true)
        .required(true),
    group = ArgGroup::new("which").args(["seq", "record"]),
    group = ArgGroup::new("message").args(["call", "read", "prompt", "connect", "audit", "from"]),
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

    /// Explain under the policies and guards of this configuration, without rates and quotas.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["policies", "allow"])]
    pub config: Option<PathBuf>,

    /// The key of the server that the message goes to or comes from, with several servers. A record names its
    /// own.
    #[arg(
        long,
        value_name = "KEY",
        requires = "config",
        conflicts_with = "audit"
    )]
    pub server: Option<String>,

    /// The message goes to the endpoint of all servers, and has its names: a call of `crm__find`, a resource
    /// `crm+file:///a`.
    #[arg(
        long,
        value_name = "NAME",
        value_parser = ["unified"],
        requires = "config",
        conflicts_with_all = ["server", "view", "audit"]
    )]
    pub endpoint: Option<String>,

    /// The same for this view.
    #[arg(
        long,
        value_name = "NAME",
        requires = "config",
        conflicts_with_all = ["server", "audit"]
    )]
    pub view: Option<String>,

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

    /// Let the server connect to this host and port.
    #[arg(long, value_name = "HOST:PORT")]
    pub connect: Option<String>,

    /// The arguments of the call or the prompt, as a JSON object.
    #[arg(long, value_name = "JSON", conflicts_with_all = ["read", "connect", "audit", "from"])]
    pub args: Option<String>,

    /// Explain a record of this audit log.
    #[arg(long, value_name = "FILE", requires = "which")]
    pub audit: Option<PathBuf>,

    /// The number of the record.
    #[arg(long, value_name = "N", requires = "audit")]
    pub seq: Option<i64>,

    /// The reference of the record: `data.audit` of a denied agent's error.
    #[arg(long, value_name = "REF", requires = "audit")]
    pub record: Option<String>,

    /// The sender of the message on standard input; by default the agent.
    #[arg(long, value_enum)]
    pub from: Option<Sender>,

    /// The agent's id, as in `agents.toml`. On standard streams it is `stdio`.
    #[arg(
        long,
        value_name = "ID",
        default_value = "stdio",
        conflicts_with = "audit"
    )]
    pub agent: String,

    /// A role of the agent, beside those of `agents.toml`; may be repeated.
    #[arg(long, value_name = "NAME", conflicts_with = "audit")]
    pub role: Vec<String>,

    /// A team of the agent; may be repeated.
    #[arg(long, value_name = "NAME", conflicts_with = "audit")]
    pub team: Vec<String>,

    /// The user of the agent.
    #[arg(long, value_name = "NAME", conflicts_with = "audit")]
    pub user: Option<String>,

    /// The name that the agent gives itself.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "explain",
        conflicts_with = "audit"
    )]
    pub client: String,

    /// The trust level of the agent, unless `agents.toml` sets it.
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "audit")]
    pub trust: i64,

    /// A capability that the token grants; may be repeated.
    #[arg(long, value_name = "NAME", conflicts_with = "audit")]
    pub capability: Vec<String>,

    /// The claims of the token, as in a fixture: `{ tools = ["read_file"], tier = "gold" }`.
    #[arg(long, value_name = "TABLE", conflicts_with = "audit")]
    pub claims: Option<String>,

    /// The state of the session, as in a fixture:
    /// `{ level = "confidential", labels = ["hr"], calls = 3 }`.
    #[arg(long, value_name = "TABLE", conflicts_with = "audit")]
    pub session: Option<String>,

    /// An approval, as in a fixture: `{ scope = "writes", by = "alice", age = "2m" }`.
    #[arg(long, value_name = "TABLE", conflicts_with = "audit")]
    pub consent: Option<String>,

    /// The time of the message, as in `2026-11-21T20:00:00Z`; by default now.
    #[arg(long, value_name = "TIME", conflicts_with = "audit")]
    pub now: Option<jiff::Timestamp>,

    /// Show every policy about the action, not only deciding ones and near misses.
    #[arg(long)]
    pub all: bool,

    /// Format of the report.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// The sender of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Sender {
    Agent,
    Server,
}
