//! Which policies, and which parts of them, the tests have seen at work.

mod human;
mod measure;

use std::sync::Arc;

use serde::Serialize;

use crate::policy::RuleEffect;

pub(super) use measure::measure;

/// Whether what the tests have seen of the policies is told.
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
    pub seen: Seen,
    pub conditions: Vec<ConditionCoverage>,
}

/// The most that a policy was seen to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Seen {
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
        usize::from(self.seen == Seen::Decided) + seen.sum::<usize>()
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
