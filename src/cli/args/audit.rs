//! The arguments of `audit`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, Subcommand, ValueEnum};

use super::Format;
use super::time::{TimeBound, time_bound};
use crate::audit::{Decision, Direction, Kind};

/// Examine audit logs; changes nothing.
///
/// Exit codes: 0 done (`verify`: intact), 1 `verify`: a line is changed, missing or no record, 2 a file cannot
/// be read, or (not `verify`) has a line that is no record.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Examples:
  mcp-protector audit query audit.jsonl --decision block --since 24h
  mcp-protector audit summary audit.jsonl --policies policies/starter
  mcp-protector audit tail audit.jsonl --decision block
  mcp-protector audit export audit.jsonl --format ocsf
  mcp-protector audit verify audit.jsonl"
)]
pub struct AuditArgs {
    #[command(subcommand)]
    pub command: AuditCommand,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum AuditCommand {
    Verify(AuditVerifyArgs),
    Query(AuditQueryArgs),
    Summary(AuditSummaryArgs),
    Tail(AuditTailArgs),
    Export(AuditExportArgs),
}

/// Print the records that match all filters.
///
/// Values of one filter are alternatives: repeat the option.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = "Examples:
  mcp-protector audit query audit.jsonl --decision block --since 24h
  mcp-protector audit query audit.jsonl.1.gz audit.jsonl --tool delete_note --format json
  mcp-protector audit query audit.jsonl --reference 5f2b8c0d91e6-9 --format csv
  mcp-protector audit query flight.duckdb --sql \"SELECT tool_name, count(*) FROM fr_event_fields GROUP BY 1\"")]
pub struct AuditQueryArgs {
    /// The files of the log, oldest first; `-` is standard input. gzip and zstd are decompressed.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    #[command(flatten)]
    pub filters: AuditFilters,

    /// Print the result of this query instead, with a flight recorder's database as FILE.
    #[arg(long, value_name = "SELECT", conflicts_with = "AuditFilters")]
    pub sql: Option<String>,

    /// Stop after so many records, or rows.
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,

    /// Format of the records.
    #[arg(long, value_enum, default_value_t)]
    pub format: RecordFormat,
}

/// Count the decisions, denials, tools and sessions of the records that match all filters.
///
/// A percentile is up to a sixteenth too high. A table keeps 100000 names, and 4096 of tools. Records with
/// others are counted together.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = "Examples:
  mcp-protector audit summary audit.jsonl --since 7d
  mcp-protector audit summary audit.jsonl --since 2026-11-01 --policies policies/starter")]
pub struct AuditSummaryArgs {
    /// The files of the log, oldest first; `-` is standard input. gzip and zstd are decompressed.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    #[command(flatten)]
    pub filters: AuditFilters,

    /// Also list the policies of this directory that no record names.
    #[arg(long, value_name = "DIR")]
    pub policies: Option<PathBuf>,

    /// The most rows of a table.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    /// Format of the summary.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Print the last decisions that match all filters, then new ones as the gate writes them.
///
/// Continues with the new file after a rotation. Ends at an interrupt.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = "Examples:
  mcp-protector audit tail audit.jsonl
  mcp-protector audit tail -n 100 --no-follow audit.jsonl --decision block")]
pub struct AuditTailArgs {
    /// The file that the gate writes, not compressed.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    #[command(flatten)]
    pub filters: AuditFilters,

    /// Begin with so many of the decisions in the file.
    #[arg(short = 'n', long = "lines", value_name = "N", default_value_t = 10)]
    pub lines: usize,

    /// Wait for new decisions. This is the default.
    #[arg(short, long, overrides_with = "no_follow")]
    pub follow: bool,

    /// End after the decisions in the file.
    #[arg(long)]
    pub no_follow: bool,
}

/// Print the decisions that match all filters in another format, one event a line.
///
/// Standard error says how many records have no decision, and so no place in it.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = "Example:
  mcp-protector audit export audit.jsonl --format ocsf --since 24h")]
pub struct AuditExportArgs {
    /// The files of the log, oldest first; `-` is standard input. gzip and zstd are decompressed.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    #[command(flatten)]
    pub filters: AuditFilters,

    /// Format of the events.
    #[arg(long, value_enum)]
    pub format: ExportFormat,
}

/// The formats of other systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Open Cybersecurity Schema Framework, API Activity.
    Ocsf,
}

/// Filters of records.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct AuditFilters {
    /// The server (`upstream`).
    #[arg(long, value_name = "NAME")]
    pub server: Vec<String>,

    /// The agent (`agent.id`).
    #[arg(long, value_name = "ID")]
    pub agent: Vec<String>,

    /// The session (`session_id`).
    #[arg(long, value_name = "ID")]
    pub session: Vec<String>,

    /// The direction.
    #[arg(long, value_parser = words(Direction::ALL.map(Direction::as_str)))]
    pub direction: Vec<String>,

    /// The kind of the record, such as `tool_call` or `consent`.
    #[arg(long, hide_possible_values = true, value_parser = words(Kind::ALL.map(Kind::as_str)))]
    pub kind: Vec<String>,

    /// The decision: `allow`, `block` (also `deny`) or `error`.
    #[arg(long, value_name = "DECISION", value_parser = decision)]
    pub decision: Vec<Decision>,

    /// The tool of a call or its result.
    #[arg(long, value_name = "NAME")]
    pub tool: Vec<String>,

    /// A deciding policy.
    #[arg(long, value_name = "ID")]
    pub policy: Vec<String>,

    /// The reason (`reason.code`).
    #[arg(long, value_name = "CODE")]
    pub reason: Vec<String>,

    /// The reference, as in the agent's error (`data.audit`).
    #[arg(long, value_name = "REF")]
    pub reference: Vec<String>,

    /// The trace id, of the record or of its `traceparent`.
    #[arg(long, value_name = "ID")]
    pub trace: Vec<String>,

    /// From this time on: RFC 3339, a date (UTC), or an age such as `90m`, `24h` or `7d`.
    #[arg(long, value_name = "TIME", value_parser = time_bound)]
    pub since: Option<TimeBound>,

    /// Before this time, written in the same way.
    #[arg(long, value_name = "TIME", value_parser = time_bound)]
    pub until: Option<TimeBound>,
}

/// The output of `audit query`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum RecordFormat {
    /// For people.
    #[default]
    Table,
    /// The lines of the log, unchanged.
    Json,
    /// For spreadsheets.
    Csv,
}

fn words<const N: usize>(
    words: [&'static str; N],
) -> impl clap::builder::TypedValueParser<Value = String> {
    PossibleValuesParser::new(words).map(|word| word)
}

fn decision(text: &str) -> Result<Decision, String> {
    match text.to_ascii_lowercase().as_str() {
        "allow" => Ok(Decision::Allow),
        "block" | "deny" => Ok(Decision::Block),
        "error" => Ok(Decision::Error),
        _ => Err("a decision is `allow`, `block` or `error`".to_owned()),
    }
}

/// Check that no record was changed, removed, inserted, repeated or moved.
///
/// Names the first line that breaks the chain of hashes. With `--key`, checkpoints must have a valid signature,
/// and each run of the gate needs one. The report says what the check cannot prove.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = "Examples:
  mcp-protector audit verify audit.jsonl
  mcp-protector audit verify audit*.jsonl*
  mcp-protector audit verify --key signing.pub.pem --checkpoint kept.jsonl audit.jsonl")]
pub struct AuditVerifyArgs {
    /// The files of one log, oldest first; `-` is standard input. gzip and zstd are decompressed.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// An Ed25519 public key in PEM that may have signed checkpoints. Repeat it for several keys.
    #[arg(long = "key", value_name = "PEM")]
    pub keys: Vec<PathBuf>,
    /// A copy of log lines that was kept elsewhere: the log must have each of its checkpoints.
    #[arg(long = "checkpoint", value_name = "FILE")]
    pub checkpoints: Vec<PathBuf>,
}
