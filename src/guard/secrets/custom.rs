//! Rules of an author, checked.

use std::collections::BTreeSet;
use std::fmt;

use super::builtin;
use super::compiled::CompiledSecretRule;
use super::error::RuleError;
use super::rule::SecretRule;
use super::warnings::{RuleWarning, doubts_of};

/// Rules that an author may add.
const MOST_RULES: usize = 500;
/// Keywords that one of them may have.
const MOST_KEYWORDS: usize = 64;
const SHORTEST_KEYWORD: usize = 3;
const LONGEST_KEYWORD: usize = 64;
const LONGEST_ID: usize = 64;

/// Rules of an author that can be used beside those built in.
#[derive(Clone, Default)]
pub struct CustomRules {
    rules: Vec<SecretRule>,
    /// One for each.
    compiled: Vec<CompiledSecretRule>,
}

impl CustomRules {
    /// # Errors
    /// All that is wrong with them, at once.
    pub fn new(rules: Vec<SecretRule>) -> Result<Self, Vec<RuleError>> {
        if rules.is_empty() {
            // A start need not read the built-in ones for that.
            return Ok(Self::default());
        }
        let mut problems = Vec::new();
        let mut compiled = Vec::new();
        let mut ids: BTreeSet<&str> = builtin::rows().iter().map(|row| row.id.as_str()).collect();
        if rules.len() > MOST_RULES {
            problems.push(RuleError::TooMany {
                count: rules.len(),
                most: MOST_RULES,
            });
        }
        for rule in rules.iter().take(MOST_RULES) {
            problems.extend(problems_of(rule));
            if !ids.insert(&rule.id) {
                problems.push(RuleError::Repeated {
                    rule: rule.id.clone(),
                });
            }
            match CompiledSecretRule::of_author(rule) {
                Ok(one) => compiled.push(one),
                Err(problem) => problems.push(problem),
            }
        }
        if problems.is_empty() {
            Ok(Self { rules, compiled })
        } else {
            Err(problems)
        }
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Those that do not do what they are for, as far as that is certain.
    pub fn doubts(&self) -> impl Iterator<Item = RuleWarning> {
        self.rules.iter().filter_map(doubts_of)
    }

    /// What they call what they find.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().map(|rule| rule.id.as_str())
    }

    pub(super) fn rules(&self) -> &[SecretRule] {
        &self.rules
    }

    pub(super) fn compiled(&self) -> &[CompiledSecretRule] {
        &self.compiled
    }
}

impl PartialEq for CustomRules {
    fn eq(&self, other: &Self) -> bool {
        self.rules == other.rules
    }
}

impl Eq for CustomRules {}

impl fmt::Debug for CustomRules {
    // Patterns may hold what they look for, which a rule does not show.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.rules).finish()
    }
}

fn problems_of(rule: &SecretRule) -> Vec<RuleError> {
    let mut problems = Vec::new();
    let of_id = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    if !(1..=LONGEST_ID).contains(&rule.id.len()) || !rule.id.bytes().all(of_id) {
        problems.push(RuleError::Id {
            rule: rule.id.clone(),
        });
    }
    if rule.keywords.is_empty() {
        problems.push(RuleError::NoKeyword {
            rule: rule.id.clone(),
        });
    }
    if rule.keywords.len() > MOST_KEYWORDS {
        problems.push(RuleError::Keywords {
            rule: rule.id.clone(),
            count: rule.keywords.len(),
            most: MOST_KEYWORDS,
        });
    }
    let unfit = |word: &&String| !(SHORTEST_KEYWORD..=LONGEST_KEYWORD).contains(&word.len());
    problems.extend(
        rule.keywords
            .iter()
            .filter(unfit)
            .map(|word| RuleError::Keyword {
                rule: rule.id.clone(),
                keyword: word.clone(),
                least: SHORTEST_KEYWORD,
                most: LONGEST_KEYWORD,
            }),
    );
    problems
}
