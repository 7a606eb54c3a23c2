//! Tests of policies.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Run policy tests offline, through the decisions that the gate itself makes.
///
/// Exit codes: 0 all passed, 1 a test failed or did not notice a change, 2 the tests could not
/// run, 3 policies are not valid, 4 coverage is under the threshold.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = "Examples:
  mcp-protector test-policy policies/ --filter workspace --watch
  mcp-protector test-policy policies/ --min-coverage 100 --mutate
  mcp-protector test-policy --config gate.toml --format junit")]
pub struct TestPolicyArgs {
    /// Packs (directories with policies and `tests/`), directories of fixtures, or fixtures.
    #[arg(value_name = "PATHS")]
    pub paths: Vec<PathBuf>,

    /// Test under the policies that this file names.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// How to report.
    #[arg(long, value_enum, default_value_t)]
    pub format: TestFormat,

    /// Run only tests with this text in their name, or in that of their suite or agent.
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,

    /// Tell which policies and conditions the tests have not seen at work.
    #[arg(long)]
    pub coverage: bool,

    /// Tell it, and fail if the tests of a pack have seen less than so many of 100.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(..=100))]
    pub min_coverage: Option<u8>,

    /// Change the policies one step at a time, and tell which changes no test notices.
    #[arg(long, conflicts_with = "filter")]
    pub mutate: bool,

    /// Run again whenever policies, tests or the configuration change, until interrupted; ends as
    /// the last run did.
    #[arg(long)]
    pub watch: bool,
}

/// Who reads what tests came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum TestFormat {
    /// People.
    #[default]
    Human,
    /// Programs.
    Json,
    /// Collectors of test results (JUnit XML).
    Junit,
    /// Collectors of test results (TAP version 14).
    Tap,
    /// Workflows of GitHub, which annotate the lines of a change.
    Github,
    /// Code hosts and editors (SARIF 2.1.0).
    Sarif,
}
