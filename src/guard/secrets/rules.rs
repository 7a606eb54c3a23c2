//! All rules, compiled once and asked often.

use std::ops::Range;

use super::builtin;
use super::custom::CustomRules;
use super::error::RuleError;
use super::finding::{RuleId, SecretFinding};
use super::members::SecretMembers;
use super::placeholder;
use super::probes::{AllCaches, ScanBudget};
use super::redact::{self, Redacted};
use super::rule::SecretRule;
use super::rule_set::{MOST_FINDINGS, SecretRules};
use super::scan::{SecretMatch, is_quiet, merged, scan};
use crate::guard::keywords::Keywords;

/// How often what is left of a text is looked at again. Two are enough but for texts that are made
/// to need more.
const MOST_ROUNDS: usize = 6;

impl SecretRules {
    /// The kinds of credentials that are known here, without any rule of an author.
    pub fn builtin() -> Self {
        Self::with_own(&CustomRules::default())
    }

    /// What the rules that are built in call what they find.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        builtin::rows().iter().map(|row| row.id.as_str())
    }

    /// The built-in kinds and those of an author. All that is wrong is told at once.
    pub fn with(rules: &[SecretRule]) -> Result<Self, Vec<RuleError>> {
        let own = CustomRules::new(rules.to_vec())?;
        Ok(Self::with_own(&own))
    }

    /// The same for rules that are known to be good.
    ///
    /// # Panics
    ///
    /// Never: the rules that are built in are constant, and no keyword of an author's is too short.
    #[expect(
        clippy::expect_used,
        reason = "a test compiles every rule that is built in"
    )]
    pub fn with_own(own: &CustomRules) -> Self {
        let mut compiled = own.compiled().to_vec();
        let mut words: Vec<(&str, usize)> = Vec::new();
        for (at, rule) in own.rules().iter().enumerate() {
            words.extend(rule.keywords.iter().map(|k| (k.as_str(), at)));
        }
        for (row, at) in builtin::rows().iter().zip(compiled.len()..) {
            words.extend(row.keywords.iter().map(|k| (k.as_str(), at)));
        }
        compiled.extend_from_slice(builtin::compiled());
        let keywords = Keywords::new(words).expect("no keyword is too short");
        let caches = AllCaches::new(compiled.len());
        Self {
            compiled,
            keywords,
            caches,
            members: SecretMembers::default(),
        }
    }

    /// Compiles what is otherwise compiled when it is first needed: some milliseconds.
    pub fn compile(&self) {
        self.members.compile();
    }

    /// The same with other names of members whose values are secrets.
    #[must_use]
    pub fn with_members(self, members: SecretMembers) -> Self {
        Self { members, ..self }
    }

    /// Whether a text is what a gate writes in place of a secret.
    pub(in crate::guard) fn is_placeholder(&self, text: &str) -> bool {
        let inner = text.strip_prefix("[redacted:");
        let id = inner.and_then(|inner| inner.strip_suffix(']'));
        let is_known = |id: &str| self.compiled.iter().any(|rule| rule.id.as_str() == id);
        id.is_some_and(|id| id == self.members.rule().as_str() || is_known(id))
    }

    pub(in crate::guard) fn members(&self) -> &SecretMembers {
        &self.members
    }

    /// The secrets of a text, in its order and apart from each other.
    ///
    /// What is left when they are gone holds no secret: taking one out can lay bare another, so
    /// what stands beside it is looked at again.
    pub fn find(&self, text: &str) -> Vec<SecretFinding> {
        if is_quiet(self, text) {
            return Vec::new();
        }
        let mut found: Vec<SecretMatch> = Vec::new();
        let mut effort = ScanBudget::of(text);
        let mut pending =
            placeholder::between(text, |id| self.compiled.iter().any(|r| r.id.as_str() == id));
        for round in 1..=MOST_ROUNDS {
            let mut left = Vec::new();
            for stretch in pending {
                let mut new = self.find_in(text, &stretch, &mut effort);
                let Some(first) = new.first().cloned() else {
                    continue;
                };
                if round == MOST_ROUNDS {
                    new = vec![SecretMatch {
                        range: stretch.clone(),
                        ..first
                    }];
                }
                left.extend(gaps(&stretch, &new));
                found.extend(new);
            }
            pending = left;
        }
        found.sort_unstable_by_key(|one| one.range.start);
        self.told(text, found)
    }

    /// The text with `[redacted:rule-id]` for each secret.
    ///
    /// That has no secrets, so doing it twice is doing it once: but for a text that is shorter now, and so full
    /// of what is almost a secret that its effort is too much for its new length. Then all of it goes.
    pub fn redact<'t>(&self, text: &'t str) -> Redacted<'t> {
        redact::replaced(text, self.find(text))
    }

    /// Whether what this rule finds shows by itself what it is, and not by what stands round it.
    pub fn knows_by_form(&self, rule: &RuleId) -> bool {
        let mut rules = self.compiled.iter();
        rules.any(|one| one.id == *rule && one.has_form())
    }

    fn find_in(
        &self,
        text: &str,
        stretch: &Range<usize>,
        effort: &mut ScanBudget,
    ) -> Vec<SecretMatch> {
        let part = text.get(stretch.clone()).unwrap_or_default();
        let mut found = merged(scan(self, part, effort));
        for one in &mut found {
            one.range = one.range.start + stretch.start..one.range.end + stretch.start;
        }
        found
    }

    fn told(&self, text: &str, found: Vec<SecretMatch>) -> Vec<SecretFinding> {
        let too_many = found.len() > MOST_FINDINGS;
        let mut told: Vec<SecretFinding> = found
            .into_iter()
            .take(MOST_FINDINGS)
            .filter_map(|one| {
                Some(SecretFinding {
                    rule: self.compiled.get(one.rule)?.id.clone(),
                    range: one.range,
                    encoding: one.encoding,
                })
            })
            .collect();
        if too_many && let Some(last) = told.last_mut() {
            last.range.end = text.len();
        }
        told
    }
}

/// What of a stretch the findings leave.
fn gaps(stretch: &Range<usize>, found: &[SecretMatch]) -> Vec<Range<usize>> {
    let mut gaps = Vec::new();
    let mut from = stretch.start;
    for one in found {
        gaps.push(from..one.range.start);
        from = one.range.end;
    }
    gaps.push(from..stretch.end);
    gaps.retain(|gap| !gap.is_empty());
    gaps
}
