//! What looks at files and starts nothing.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Format;

/// Check a configuration and its policies.
///
/// Starts nothing and connects nowhere. Reports all problems on standard error. Only `--format json`
/// writes to standard output.
///
/// Exit codes: 0 valid, 1 not valid.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = "Example:
  mcp-protector validate-config --config gate.toml && systemctl restart the-gate")]
pub struct ValidateConfigArgs {
    /// The file to check.
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,

    /// Format of the report.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Validate and lint policies, labels and tests.
///
/// Starts nothing, connects nowhere and runs no test. The format `human` goes to standard error, every
/// other format to standard output.
///
/// Exit codes: 0 no findings, 1 findings, 2 no check.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = "Examples:
  mcp-protector check policies/
  mcp-protector check --config gate.toml --format sarif
  mcp-protector check policies/ --ignore untested_tool")]
pub struct CheckArgs {
    /// Packs (directories with policies or `tests/`), or directories of packs.
    #[arg(value_name = "PATHS", conflicts_with = "config")]
    pub paths: Vec<PathBuf>,

    /// Check the policies and the allowlist of this configuration.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Format of the report.
    #[arg(long, value_enum, default_value_t)]
    pub format: CheckFormat,

    /// Ignore these lints, or `policy::untyped`: names with commas, or repeated.
    #[arg(long, value_name = "LINTS", value_delimiter = ',')]
    pub ignore: Vec<String>,
}

/// The reader of a report of `check`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    /// For people.
    #[default]
    Human,
    /// For programs.
    Json,
    /// For code hosts and editors (SARIF 2.1.0).
    Sarif,
    /// Workflow commands of GitHub, which annotate the lines of a change.
    Github,
    /// A Code Quality report of GitLab, for merge requests.
    Gitlab,
}
