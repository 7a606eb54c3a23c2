//! All rules, compiled once and asked often.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use super::builtin;
use super::compiled::Compiled;
use super::error::RuleError;
use super::finding::Finding;
use super::keywords::Keywords;
use super::placeholder;
use super::redact::{self, Redacted};
use super::rule::Rule;
use super::scan::{Found, merged, scan};

/// Rules that an author may add.
const MOST_RULES: usize = 500;
/// Keywords that one of them may have.
const MOST_KEYWORDS: usize = 64;
const SHORTEST_KEYWORD: usize = 3;
const LONGEST_KEYWORD: usize = 64;
const LONGEST_ID: usize = 64;

/// Secrets that are told apart in one text. From the last of them on all of the text is one.
const MOST_FINDINGS: usize = 4096;

/// How often what is left of a text is looked at again. Two are enough but for texts that are made
/// to need more.
const MOST_ROUNDS: usize = 6;

/// What counts as a secret.
pub struct Rules {
    /// Those of authors come first: of several rules for one secret the first names it.
    pub(super) compiled: Vec<Compiled>,
    pub(super) keywords: Keywords,
}

impl Rules {
    /// The kinds of credentials that are known here, without any rule of an author.
    ///
    /// # Panics
    ///
    /// Never: the table is constant.
    #[expect(
        clippy::expect_used,
        reason = "every test compiles every row of the table"
    )]
    pub fn builtin() -> Self {
        Self::with(&[]).expect("the rules that are built in are valid")
    }

    /// The built-in kinds and those of an author. All that is wrong is told at once.
    pub fn with(rules: &[Rule]) -> Result<Self, Vec<RuleError>> {
        let mut problems = Vec::new();
        let mut compiled = Vec::new();
        let mut words: Vec<(&str, usize)> = Vec::new();
        let mut ids: BTreeSet<&str> = builtin::rows().map(|row| row.id).collect();
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
            match Compiled::of_author(rule) {
                Ok(one) => {
                    words.extend(rule.keywords.iter().map(|k| (k.as_str(), compiled.len())));
                    compiled.push(one);
                }
                Err(problem) => problems.push(problem),
            }
        }
        for row in builtin::rows() {
            match row.compiled() {
                Ok(one) => {
                    words.extend(row.keywords.iter().map(|&k| (k, compiled.len())));
                    compiled.push(one);
                }
                Err(problem) => problems.push(problem),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        // What the checks above let through is far below the automaton's own limits.
        let keywords = Keywords::new(words).map_err(|_| {
            vec![RuleError::TooMany {
                count: rules.len(),
                most: MOST_RULES,
            }]
        })?;
        Ok(Self { compiled, keywords })
    }

    /// The secrets of a text, in its order and apart from each other.
    ///
    /// What is left when they are gone holds no secret: taking one out can lay bare another, so
    /// what stands beside it is looked at again.
    pub fn find(&self, text: &str) -> Vec<Finding> {
        let mut found: Vec<Found> = Vec::new();
        let mut pending =
            placeholder::between(text, |id| self.compiled.iter().any(|r| r.id.as_str() == id));
        for round in 1..=MOST_ROUNDS {
            let mut left = Vec::new();
            for stretch in pending {
                let mut new = self.find_in(text, &stretch);
                let Some(first) = new.first().cloned() else {
                    continue;
                };
                if round == MOST_ROUNDS {
                    new = vec![Found {
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
    /// That has no secrets, so doing it twice is doing it once.
    pub fn redact<'t>(&self, text: &'t str) -> Redacted<'t> {
        redact::replaced(text, self.find(text))
    }

    fn find_in(&self, text: &str, stretch: &Range<usize>) -> Vec<Found> {
        let part = text.get(stretch.clone()).unwrap_or_default();
        let mut found = merged(scan(self, part));
        for one in &mut found {
            one.range = one.range.start + stretch.start..one.range.end + stretch.start;
        }
        found
    }

    fn told(&self, text: &str, found: Vec<Found>) -> Vec<Finding> {
        let too_many = found.len() > MOST_FINDINGS;
        let mut told: Vec<Finding> = found
            .into_iter()
            .take(MOST_FINDINGS)
            .filter_map(|one| {
                Some(Finding {
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

impl fmt::Debug for Rules {
    // Patterns of authors may hold what they look for.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules")
            .field("rules", &self.compiled.len())
            .finish_non_exhaustive()
    }
}

fn problems_of(rule: &Rule) -> Vec<RuleError> {
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

/// What of a stretch the findings leave.
fn gaps(stretch: &Range<usize>, found: &[Found]) -> Vec<Range<usize>> {
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
