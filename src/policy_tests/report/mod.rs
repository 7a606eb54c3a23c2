//! What the tests came to, for people and for programs.
//!
//! INVARIANT: the fields here, `docs/schema/test-policy.schema.json` and `docs/policy-guide.md` name
//! the same things; a test compares the first two. Nothing here depends on time, place or chance,
//! so that equal policies and tests give equal reports.

mod build;
mod failure;
mod hint;
mod human;
mod junit;
mod not_run;
mod short;
mod tap;

use std::sync::Arc;

use serde::Serialize;

use super::coverage::Coverage;
use super::fixture_words::{ServerInstance, TestDecision};
use super::mutate::Mutation;

pub use human::Paint;
pub use not_run::NotRun;

/// The version of the report format.
pub const SCHEMA: u32 = 1;

/// What the tests came to.
#[derive(Debug, Serialize)]
pub struct Report {
    pub schema: u32,
    pub outcome: RunOutcome,
    pub summary: Summary,
    pub suites: Vec<SuiteReport>,
    /// Coverage by pack, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub coverage: Vec<Coverage>,
    /// Mutation results by pack, if requested and all tests passed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mutation: Vec<Mutation>,
    /// What kept the tests from running.
    pub problems: Vec<RunProblem>,
    /// Of 100: packs of which the tests have seen less are told of.
    #[serde(skip)]
    pub(super) least: usize,
    /// Changes of the policies were asked for, and not tried.
    #[serde(skip)]
    pub(super) untried: bool,
}

/// How it went as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    Passed,
    Failed,
    /// The tests have seen too little of the policies.
    CoverageTooLow,
    /// The tests do not notice some change of the policies.
    MutantsSurvived,
    /// Nothing was found, something could not be read, or a fixture is wrong.
    NotRun,
    /// The policies under test are not valid.
    PoliciesInvalid,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    pub suites: usize,
    pub tests: usize,
    pub passed: usize,
    pub failed: usize,
    /// Tests that the filter left out.
    pub left_out: usize,
}

/// The tests of one fixture.
#[derive(Debug, Serialize)]
pub struct SuiteReport {
    pub suite: String,
    pub file: String,
    /// The directory of the policies; absent where an allowlist is all there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policies: Option<String>,
    /// The revision of the policies.
    pub revision: String,
    pub tests: Vec<TestReport>,
}

/// One test, or one cell of the matrix of a test.
#[derive(Debug, Serialize)]
pub struct TestReport {
    pub name: String,
    /// Which cell of its matrix, where it has one: the agent, the tool, or both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell: Option<String>,
    /// Where the test stands in its file, from 1.
    pub line: usize,
    pub agent: String,
    pub outcome: TestOutcome,
    /// Absent where there are steps or a replay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    /// Absent when the message could not be judged at all, and where there are steps or a replay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub got: Option<Actual>,
    /// How what came is not what was expected, in steps and replays too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// The messages of a conversation, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayReport>,
    /// Policies that explain the failure.
    #[serde(skip)]
    shown: Vec<DecidingPolicy>,
    #[serde(skip)]
    hint: Option<String>,
}

/// One message of a conversation.
#[derive(Debug, Serialize)]
pub struct StepReport {
    /// Where the step stands in its file, from 1.
    pub line: usize,
    /// What is sent, in a few words.
    pub sends: String,
    pub outcome: TestOutcome,
    pub expected: Expected,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub got: Option<Actual>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    #[serde(skip)]
    shown: Vec<DecidingPolicy>,
    #[serde(skip)]
    hint: Option<String>,
}

/// Recorded decisions, and what the policies say now.
#[derive(Debug, Serialize)]
pub struct ReplayReport {
    /// As the fixture names it.
    pub file: String,
    /// Decisions that are what they were.
    pub same: usize,
    /// Each decision that is another one now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<ChangedDecision>,
    /// Each decision of which the record tells too little.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<UnknownDecision>,
}

#[derive(Debug, Serialize)]
pub struct ChangedDecision {
    /// The line of the recording, from 1.
    pub line: usize,
    /// What was asked, in a few words.
    pub about: String,
    pub was: TestDecision,
    pub now: TestDecision,
    /// The policies that decide now, where some do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct UnknownDecision {
    /// The line of the recording, from 1.
    pub line: usize,
    /// What was asked, in a few words.
    pub about: String,
    pub was: TestDecision,
    /// What the record does not tell.
    pub why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TestOutcome {
    Passed,
    Failed,
}

/// What the fixture says.
#[derive(Debug, Serialize)]
pub struct Expected {
    pub decision: TestDecision,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policies_exact: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obligations: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edits: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_receives: Option<ServerInstance>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listed: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
    /// What must become of the answer, where the fixture says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<Box<Expected>>,
}

/// What became of the message.
#[derive(Debug, Serialize)]
pub struct Actual {
    pub decision: TestDecision,
    /// What was judged, where it was not the message itself: `handshake` or `answer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<&'static str>,
    /// The policies that decided, in the order of their names.
    pub policies: Vec<DecidingPolicy>,
    /// What the decision asked of the gate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub obligations: Vec<String>,
    /// What the gate changed in it: what asked for that, and where.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<String>,
    /// The server that it reached, where there are two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_received: Option<ServerInstance>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// The gate's own word for the cause of a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The step of the gate that refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// The cause of a refusal in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The fault of an engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What a list showed, in the order of the upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listed: Option<Vec<String>>,
    /// What became of the answer, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<Box<Actual>>,
}

#[derive(Debug, Clone, Serialize)]
pub struct DecidingPolicy {
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<Arc<str>>,
    /// From 1; absent for what was compiled from configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    #[serde(skip)]
    text: Arc<str>,
}

/// One thing that kept the tests from running.
#[derive(Debug, Serialize)]
pub struct RunProblem {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
}
