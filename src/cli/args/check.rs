//! What looks at files and starts nothing.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Format;

/// Check a configuration and its policies.
///
/// Starts nothing, connects nowhere. All problems are reported at once, on standard error;
/// standard output stays empty unless `--format json` is asked for.
///
/// Exit codes: 0 valid, 1 not valid.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = "Example:
  mcp-protector validate-config --config gate.toml && systemctl restart the-gate")]
pub struct ValidateConfigArgs {
    /// The file to check.
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,

    /// How to report.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Validate and lint policies, labels and tests.
///
/// Starts nothing, connects nowhere and runs no test. The report for people goes to standard error,
/// every other format to standard output.
///
/// Exit codes: 0 no findings, 1 findings, 2 the files could not be checked.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = "Examples:
  mcp-protector check policies/
  mcp-protector check --config gate.toml --format sarif
  mcp-protector check policies/ --ignore untested_tool")]
pub struct CheckArgs {
    /// Packs (directories with policies or `tests/`), or directories of packs.
    #[arg(value_name = "PATHS", conflicts_with = "config")]
    pub paths: Vec<PathBuf>,

    /// Check what this file names, its allowlist included.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// How to report.
    #[arg(long, value_enum, default_value_t)]
    pub format: CheckFormat,

    /// Ignore these lints, or `policy::untyped`: names, with commas between them or repeated.
    #[arg(long, value_name = "LINTS", value_delimiter = ',')]
    pub ignore: Vec<String>,
}

/// Who reads what `check` found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    /// People.
    #[default]
    Human,
    /// Programs.
    Json,
    /// Code hosts and editors (SARIF 2.1.0).
    Sarif,
    /// Workflows of GitHub, which annotate the lines of a change.
    Github,
}
