//! Whether the tests would notice if a policy were another.
//!
//! Each policy in Cedar is changed by one step at a time, and the tests run until one fails: then the change
//! was noticed. What nobody notices is a rule that could be lost tomorrow.

mod excuses;
mod human;
mod run;
mod spot;

use std::sync::Arc;

use serde::Serialize;

pub(super) use run::mutate;

impl Mutation {
    /// Nothing is left to be done.
    pub(super) fn is_complete(&self) -> bool {
        self.survivors.is_empty() && self.needless.is_empty()
    }
}

/// Whether the tests are tested by changes of the policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mutants {
    #[default]
    Untried,
    Tried,
}

/// What the tests of one pack notice.
#[derive(Debug, Serialize)]
pub struct Mutation {
    /// The directory of the policies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policies: Option<String>,
    /// Changes that were tried.
    pub tried: usize,
    /// Of these, those that some test noticed.
    pub noticed: usize,
    /// Changes that make no valid policy, which the checker would notice.
    pub invalid: usize,
    /// In the order of files.
    pub survivors: Vec<Survivor>,
    /// Changes that no test noticed, with the reason why none can.
    pub excused: Vec<Survivor>,
    /// Comments with such a reason that cover nothing.
    pub needless: Vec<Needless>,
    /// Files in Rego and CEL: no change of their rules is tried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_mutated: Vec<Arc<str>>,
}

/// A comment that excuses nothing.
#[derive(Debug, Serialize)]
pub struct Needless {
    pub file: Arc<str>,
    /// From 1.
    pub line: usize,
    pub why: String,
}

/// A change that no test noticed.
#[derive(Debug, Serialize)]
pub struct Survivor {
    pub policy: String,
    pub file: Arc<str>,
    /// From 1.
    pub line: usize,
    /// `effect`, `policy`, `condition`, `negation`, `scope`, `bound`, `element` or `pattern`.
    pub kind: &'static str,
    /// The line as it stands in the file.
    pub before: String,
    /// The line with the change; absent where the policy is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// What a test would have to send.
    pub missing: String,
    /// Why no test can notice, as the policy says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A test that comes near: the policy is about what it sends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near: Option<Near>,
}

/// A test to begin with.
#[derive(Debug, Clone, Serialize)]
pub struct Near {
    pub file: String,
    pub line: usize,
    pub name: String,
}
