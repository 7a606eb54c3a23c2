//! What an explanation says, for people and for programs.
//!
//! INVARIANT: the fields here and `docs/schema/explain.schema.json` name the same things; a test
//! compares them. Nothing here depends on time, place or chance, so that equal requests and policies
//! give equal explanations.

use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;

/// The version of the format.
pub const SCHEMA: u32 = 1;

/// Why one message is allowed or denied.
#[derive(Debug, Serialize)]
pub struct Explanation {
    pub schema: u32,
    pub outcome: ExplainOutcome,
    /// Absent where nothing was explained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<ExplainedDecision>,
    /// What was refused, where it was not the message itself: `handshake`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<&'static str>,
    /// The step of the gate that refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// The gate's own word for the cause of a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The cause of a refusal in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// Whether a person would be asked about it, and by what; only where that could lift what forbids
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consent: Option<String>,
    /// The policies that decided.
    pub policies: Vec<String>,
    /// What permitted the message itself, where only what came of it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permitted: Option<PermittedMessage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Where the level of the session comes from, where it is not public.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub level: Vec<String>,
    /// Where its data sets come from, where it has any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub datasets: Vec<String>,
    /// The servers that it has read from, where there are any, and who says so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// What the policies were asked about the message; all must be allowed.
    pub questions: Vec<QuestionReport>,
    /// What would have to be otherwise for the other answer, each by itself.
    pub changes: Vec<SuggestedChange>,
    /// What cannot be said, and why.
    pub unknown: Vec<String>,
    /// What kept the message from being explained.
    pub problems: Vec<ExplainProblem>,
    /// It was decided by a gate, which has written it down.
    #[serde(skip)]
    pub(super) recorded: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExplainOutcome {
    Explained,
    NotExplained,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExplainedDecision {
    Allow,
    Deny,
    /// Only where a record does not tell enough.
    Unknown,
}

/// A message that was permitted, and of which something else was refused.
#[derive(Debug, Serialize)]
pub struct PermittedMessage {
    /// The number of its own record.
    pub record: i64,
    pub policies: Vec<String>,
    /// The number of the record that says what was refused.
    pub refused: i64,
}

/// One question to the policies.
#[derive(Debug, Serialize)]
pub struct QuestionReport {
    /// As policies name it.
    pub action: &'static str,
    /// `agent` or `server`, and the id.
    pub principal: String,
    /// Its kind and its name.
    pub resource: String,
    pub decision: ExplainedDecision,
    /// Why an engine could not judge, where no policy shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Those that decided first, then permits and forbids, each in the order of their files.
    pub policies: Vec<PolicyReport>,
}

/// What one policy came to.
#[derive(Debug, Serialize)]
pub struct PolicyReport {
    pub id: String,
    /// `permit` or `forbid`.
    pub effect: &'static str,
    pub file: Arc<str>,
    /// From 1; absent for what was compiled from configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The gate brings it along.
    pub builtin: bool,
    pub decided: bool,
    /// `true`, `false`, `failed` or `unknown`.
    pub value: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The policy is about such a principal, action and resource.
    pub in_scope: bool,
    pub told: ExplanationDepth,
    /// The advice of such a rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    pub parts: Vec<PartReport>,
    #[serde(skip)]
    pub(super) source: Arc<str>,
    #[serde(skip)]
    pub(super) span: Range<usize>,
}

/// How much is known of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExplanationDepth {
    /// What each of its parts came to.
    Parts,
    /// What it came to as a whole, as a rule in CEL.
    Verdict,
    /// That it decided, as a rule in Rego; of a record nothing else can be said of rules in CEL.
    Decision,
}

/// What one part of a policy came to.
#[derive(Debug, Serialize)]
pub struct PartReport {
    /// `scope`, `when`, `unless`, `all`, `any`, `not` or `condition`.
    pub kind: &'static str,
    /// As it stands in the file.
    pub text: String,
    /// From 1.
    pub line: usize,
    /// The place of the part that it is in, among the parts of the policy, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<usize>,
    pub value: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether it was evaluated; an earlier part may have decided.
    pub asked: bool,
    pub saw: Vec<ReadValue>,
    #[serde(skip)]
    pub(super) span: Range<usize>,
}

/// Something that a part looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadValue {
    /// As policies write it.
    pub what: String,
    /// As policies write it; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Who says so.
    pub from: String,
    /// Whether the value is known.
    pub known: bool,
}

/// What would have to be otherwise.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct SuggestedChange {
    pub policy: String,
    /// The part that would have to come to the opposite.
    pub part: String,
    pub line: usize,
    /// What the part would have to come to.
    pub to: bool,
    /// Whether that alone gives the other answer, or only is the first thing in the way.
    pub enough: bool,
    /// The same in a sentence.
    pub text: String,
}

/// One thing that kept the message from being explained.
#[derive(Debug, Serialize)]
pub struct ExplainProblem {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

/// The extent of the policies in a report for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyScope {
    /// Those that decided, or came near.
    Nearest,
    /// All that were asked.
    All,
}

impl Explanation {
    /// What kept the message from being explained.
    pub fn not_explained(problem: ExplainProblem) -> Self {
        Self {
            schema: SCHEMA,
            outcome: ExplainOutcome::NotExplained,
            decision: None,
            at: None,
            stage: None,
            reason: None,
            text: None,
            code: None,
            advice: None,
            consent: None,
            policies: Vec::new(),
            permitted: None,
            revision: None,
            level: Vec::new(),
            datasets: Vec::new(),
            sources: Vec::new(),
            questions: Vec::new(),
            changes: Vec::new(),
            unknown: Vec::new(),
            problems: vec![problem],
            recorded: false,
        }
    }
}
