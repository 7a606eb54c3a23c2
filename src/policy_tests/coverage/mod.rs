//! Which policies, and which parts of them, the tests have seen at work.

mod measure;

use std::io::{self, Write};
use std::sync::Arc;

use serde::Serialize;

use super::suggest;
use crate::findings::printable;
use crate::policy::RuleEffect;

pub(super) use measure::measure;

/// Whether coverage is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WantedCoverage {
    #[default]
    Untold,
    Told,
    /// And the tests fail under so many of 100.
    AtLeast(u8),
}

/// What the tests of one pack have seen.
#[derive(Debug, Serialize)]
pub struct Coverage {
    /// The directory of the policies; absent where an allowlist is all there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policies: Option<String>,
    /// Of 100, rounded down.
    pub percent: usize,
    pub covered: usize,
    /// For each policy 1, and 2 for each condition of a policy in Cedar.
    pub total: usize,
    /// In the order of files.
    pub rules: Vec<RuleCoverage>,
    /// Actions that a policy of the pack is about, and no test asks for.
    pub untested_actions: Vec<&'static str>,
    /// Tools that labels or an allowlist name, and no test calls.
    pub untested_tools: Vec<String>,
}

/// The effect of a rule in Rego.
const RULE: &str = "rule";

/// What the tests have seen of one policy.
#[derive(Debug, Serialize)]
pub struct RuleCoverage {
    pub id: String,
    /// `permit` or `forbid`; `rule` of Rego, where the decision tells it.
    pub effect: &'static str,
    pub file: Arc<str>,
    pub line: u32,
    pub seen: CoverageLevel,
    pub conditions: Vec<ConditionCoverage>,
}

/// The most that a policy was seen to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CoverageLevel {
    /// It never held.
    Never,
    /// It held, and something else decided.
    Held,
    /// It decided.
    Decided,
}

/// What the tests have seen of one condition.
#[derive(Debug, Serialize)]
pub struct ConditionCoverage {
    /// As it stands in the file, on one line.
    pub text: String,
    /// From 1.
    pub line: usize,
    pub seen_true: bool,
    pub seen_false: bool,
}

impl Coverage {
    fn of(
        policies: Option<String>,
        rules: Vec<RuleCoverage>,
        untested_actions: Vec<&'static str>,
        untested_tools: Vec<String>,
    ) -> Self {
        let covered = rules.iter().map(RuleCoverage::covered).sum();
        let total = rules.iter().map(|rule| 1 + 2 * rule.conditions.len()).sum();
        Self {
            policies,
            percent: percent(covered, total),
            covered,
            total,
            rules,
            untested_actions,
            untested_tools,
        }
    }
}

impl RuleCoverage {
    fn covered(&self) -> usize {
        let conditions = self.conditions.iter();
        let seen = conditions.map(|it| usize::from(it.seen_true) + usize::from(it.seen_false));
        usize::from(self.seen == CoverageLevel::Decided) + seen.sum::<usize>()
    }

    /// Whether the tests have seen all of it.
    pub(super) fn is_seen(&self) -> bool {
        self.covered() == 1 + 2 * self.conditions.len()
    }

    fn is_permit(&self) -> bool {
        self.effect == RuleEffect::Permit.word()
    }

    fn is_rule(&self) -> bool {
        self.effect == RULE
    }
}

/// Rounded down, so that 100 means everything. Where there is nothing to cover, everything is.
fn percent(covered: usize, total: usize) -> usize {
    (covered * 100).checked_div(total).unwrap_or(100)
}

impl Coverage {
    /// Writes the sum, and everything that no test has seen.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let of = self.policies.as_deref().unwrap_or("the allowlist");
        writeln!(
            out,
            "coverage of {}: {} % ({} of {})",
            printable(of),
            self.percent,
            self.covered,
            self.total
        )?;
        for rule in &self.rules {
            rule.write(out)?;
        }
        if !self.untested_actions.is_empty() {
            let actions = suggest::list(&self.untested_actions);
            writeln!(
                out,
                "  no test asks for {actions}, which policies are about"
            )?;
        }
        if !self.untested_tools.is_empty() {
            let tools = suggest::list(&self.untested_tools);
            writeln!(out, "  no test calls {}", printable(&tools))?;
        }
        Ok(())
    }
}

impl RuleCoverage {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let missing: Vec<(&ConditionCoverage, &str)> = self
            .conditions
            .iter()
            .filter_map(|condition| Some((condition, condition.missing()?)))
            .collect();
        if self.seen == CoverageLevel::Decided && missing.is_empty() {
            return Ok(());
        }
        let (id, file) = (printable(&self.id), printable(&self.file));
        writeln!(out, "  {} `{id}`  {file}:{}", self.effect, self.line)?;
        let (decision, what) = if self.is_permit() {
            ("allow", "what it is meant for")
        } else {
            ("deny", "what nothing else denies")
        };
        match self.seen {
            CoverageLevel::Decided => {}
            CoverageLevel::Held => writeln!(
                out,
                "      held, but decided no test: something else did; send {what} and nothing forbids"
            )?,
            CoverageLevel::Never if self.is_rule() => writeln!(
                out,
                "      decided no test: send a message that it decides, and name it in `policies`"
            )?,
            CoverageLevel::Never => writeln!(
                out,
                "      never held: send {what}, with `expect = {{ decision = \"{decision}\", policies = [\"{id}\"] }}`"
            )?,
        }
        for (condition, missing) in missing {
            let text = printable(&condition.text);
            writeln!(out, "      line {}: {missing}: `{text}`", condition.line)?;
        }
        Ok(())
    }
}

impl ConditionCoverage {
    fn missing(&self) -> Option<&'static str> {
        match (self.seen_true, self.seen_false) {
            (true, true) => None,
            (true, false) => Some("never false"),
            (false, true) => Some("never true"),
            (false, false) => Some("never asked, for what stands before it settled the matter"),
        }
    }
}
