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

/// Check policies, labels and tests, and tell what looks wrong in what is valid.
///
/// Starts nothing, connects nowhere, and runs no test. For people it tells everything at once on
/// standard error; other formats go to standard output.
///
/// Exit codes: 0 nothing found, 1 something found, 2 nothing could be checked.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = "Examples:
  mcp-protector check policies/
  mcp-protector check --config gate.toml --format sarif
  mcp-protector check --print schema
  mcp-protector check --write-manifest policies/starter")]
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

    /// Tell of warnings, but do not count them as findings; as `policy.allow_warnings` does for the
    /// gate.
    #[arg(long)]
    pub allow_warnings: bool,

    /// Leave out these lints, or `policy::untyped`: names, with commas between them or repeated.
    #[arg(long, value_name = "LINTS", value_delimiter = ',')]
    pub allow: Vec<String>,

    /// Print this instead of checking: the allowlist of the configuration as Cedar, or the schema
    /// that policies are checked against.
    #[arg(long, value_enum)]
    pub print: Option<Print>,

    /// Write `MANIFEST` into this policy directory, which says which files there are and what is in
    /// them, if its policies are in order.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["paths", "config", "print", "allow"])]
    pub write_manifest: Option<PathBuf>,
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

/// What `check` can print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Print {
    Allowlist,
    Schema,
}
