//! Whether the tests would notice if a policy were another.
//!
//! Each policy in Cedar is changed by one step at a time, and the tests run until one fails: then the change
//! was noticed. A survivor is a rule that could be removed without a failing test.

mod run;
mod suppressions;

use std::io::{self, Write};
use std::sync::Arc;

use serde::Serialize;

use crate::findings::printable;

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
    pub needless: Vec<UnusedSuppression>,
    /// Files in Rego and CEL: no change of their rules is tried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_mutated: Vec<Arc<str>>,
}

/// A comment that excuses nothing.
#[derive(Debug, Serialize)]
pub struct UnusedSuppression {
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
    pub near: Option<NearbyTest>,
}

/// A test to begin with.
#[derive(Debug, Clone, Serialize)]
pub struct NearbyTest {
    pub file: String,
    pub line: usize,
    pub name: String,
}

impl Mutation {
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let of = self.policies.as_deref().unwrap_or("the allowlist");
        let of = printable(of);
        let (noticed, tried, invalid) = (self.noticed, self.tried, self.invalid);
        if tried == 0 {
            let kind = if self.not_mutated.is_empty() {
                "policies to change"
            } else {
                "policies in Cedar"
            };
            write!(
                out,
                "changes of {of}: none was tried, for there are no {kind}"
            )?;
        } else {
            write!(out, "changes of {of}: {noticed} of {tried} noticed")?;
        }
        if invalid > 0 {
            write!(out, ", {invalid} more would not be valid policies")?;
        }
        if !self.excused.is_empty() {
            write!(out, ", {} that no test can notice", self.excused.len())?;
        }
        writeln!(out)?;
        for file in &self.not_mutated {
            let file = printable(file);
            writeln!(out, "  {file}  is not mutated: only policies in Cedar are")?;
        }
        for excused in &self.excused {
            let (file, policy) = (printable(&excused.file), printable(&excused.policy));
            let (line, kind) = (excused.line, excused.kind);
            let reason = printable(excused.reason.as_deref().unwrap_or_default());
            writeln!(
                out,
                "  {file}:{line}  `{policy}`, {kind}, excused: {reason}"
            )?;
        }
        for needless in &self.needless {
            let (file, why) = (printable(&needless.file), printable(&needless.why));
            let line = needless.line;
            writeln!(out, "  {file}:{line}  the comment excuses nothing: {why}")?;
        }
        for survivor in &self.survivors {
            survivor.write(out)?;
        }
        Ok(())
    }
}

impl Survivor {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let file = printable(&self.file);
        writeln!(
            out,
            "  {file}:{}  `{}`, {}",
            self.line,
            printable(&self.policy),
            self.kind
        )?;
        writeln!(out, "    - {}", printable(&self.before))?;
        match &self.after {
            Some(after) => writeln!(out, "    + {}", printable(after))?,
            None => writeln!(out, "    + (gone)")?,
        }
        writeln!(
            out,
            "    no test notices; missing: {}",
            printable(&self.missing)
        )?;
        if let Some(near) = &self.near {
            let (file, name) = (printable(&near.file), printable(&near.name));
            writeln!(out, "    begin with `{name}`, {file}:{}", near.line)?;
        }
        Ok(())
    }
}
