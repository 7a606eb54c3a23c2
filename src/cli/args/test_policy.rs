//! Tests of policies.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Run policy tests offline, with the code of the gate.
///
/// Exit codes: 0 all passed, 1 a test failed, no test noticed a change, or a replayed decision changes,
/// 2 no test has run, 3 the policies are not valid, 4 coverage is below the minimum.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = "Examples:
  mcp-protector test-policy policies/ --filter workspace --watch
  mcp-protector test-policy policies/ --min-coverage 100 --mutate
  mcp-protector test-policy --config gate.toml --format junit
  mcp-protector test-policy policies/ --replay audit.jsonl")]
pub struct TestPolicyArgs {
    /// Packs (directories with policies and `tests/`), directories of fixtures, or fixtures.
    #[arg(value_name = "PATHS")]
    pub paths: Vec<PathBuf>,

    /// Test the policies of this configuration.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Format of the report.
    #[arg(long, value_enum, default_value_t)]
    pub format: TestFormat,

    /// Run only tests with this text in their name, suite or agent.
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,

    /// Report policies and conditions that the tests do not reach.
    #[arg(long)]
    pub coverage: bool,

    /// Report the same, and fail if the tests of a pack reach less than this percentage.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(..=100))]
    pub min_coverage: Option<u8>,

    /// Change the policies one step at a time, and report changes that no test notices.
    #[arg(long, conflicts_with = "filter")]
    pub mutate: bool,

    /// Instead of tests, judge the decisions of this audit log again, and report those that would change.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["filter", "coverage", "min_coverage", "mutate", "watch"])]
    pub replay: Vec<PathBuf>,

    /// Run again after each change of policies, tests or configuration, until interrupted. The exit
    /// code is that of the last run.
    #[arg(long)]
    pub watch: bool,
}

/// The reader of test results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum TestFormat {
    /// For people.
    #[default]
    Human,
    /// For programs.
    Json,
    /// For collectors of test results (JUnit XML).
    Junit,
    /// For collectors of test results (TAP version 14).
    Tap,
    /// Workflow commands of GitHub, which annotate the lines of a change.
    Github,
    /// For code hosts and editors (SARIF 2.1.0).
    Sarif,
}
