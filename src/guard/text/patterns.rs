//! Words that instruct a model, as far as a small table knows them.
//!
//! A pattern is costly and seldom matches. What each match of it holds is known from the pattern itself
//! (`required.rs`), and is looked for first, for all patterns in one pass. A pattern is tried only where enough of
//! it stands so close together that it may be one match, and what comes of that is what would come of
//! trying it everywhere.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use regex::Regex;

use super::flag::{Flag, Flags};
use super::fold::FOREIGN;
use super::required_strings::{RequiredStrings, required};
use super::rows::{NegationRule, ROWS};
use crate::guard::keywords::Keywords;

pub(super) static PATTERNS: LazyLock<FlagPatterns> = LazyLock::new(FlagPatterns::compiled);

/// Of so many strings that each match holds the places are compared.
const TOGETHER: usize = 2;

/// How much text before a match is looked at for a negation.
const REACH: usize = 24;

/// Compiled rows.
pub(super) struct FlagPatterns {
    /// Without them every pattern is tried everywhere.
    keywords: Option<Keywords>,
    /// What the keywords stand for, by their numbers.
    parts: Vec<RequiredLiteral>,
    all: Vec<FlagPattern>,
}

/// A string that a match of a pattern holds: one of these.
struct RequiredLiteral {
    pattern: usize,
    which: usize,
}

struct FlagPattern {
    flag: Flag,
    negated: NegationRule,
    regex: Regex,
    /// Bytes of a match.
    longest: usize,
    /// How many strings are looked for.
    parts: usize,
}

/// What of one pattern a text holds.
#[derive(Default)]
struct PatternHits {
    /// Where each part began when it was last seen.
    parts: [Option<usize>; TOGETHER],
    /// Stretches that hold every match, in order, none beside another.
    stretches: Vec<(usize, usize)>,
}

impl FlagPatterns {
    /// INVARIANT: the table is ours, and a test compiles it: what is left out below is nothing.
    fn compiled() -> Self {
        let mut words: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut parts = Vec::new();
        let mut patterns = Vec::new();
        let rows = ROWS
            .iter()
            .flat_map(|row| row.patterns.iter().map(move |it| (row, it)));
        for (row, text) in rows {
            let Some((pattern, sets)) = FlagPattern::compiled(row.flag, row.negated, text) else {
                continue;
            };
            for (which, set) in sets.into_iter().enumerate() {
                for word in set {
                    words.entry(word).or_default().push(parts.len());
                }
                parts.push(RequiredLiteral {
                    pattern: patterns.len(),
                    which,
                });
            }
            patterns.push(pattern);
        }
        let words = words
            .iter()
            .flat_map(|(word, parts)| parts.iter().map(|it| (&**word, *it)));
        Self {
            keywords: Keywords::new(words).ok(),
            parts,
            all: patterns,
        }
    }

    /// What a folded text says.
    pub(super) fn find(&self, text: &str) -> Flags {
        let seen = self.seen(text);
        let tried = self.all.iter().zip(seen);
        let found = tried.filter(|(pattern, seen)| pattern.is_in(text, &seen.stretches));
        found.map(|(pattern, _)| pattern.flag).collect()
    }

    /// What a text holds of each pattern, or nothing if it holds no part of any: most texts are short.
    fn seen(&self, text: &str) -> Vec<PatternHits> {
        let none = || self.all.iter().map(|_| PatternHits::default());
        let Some(keywords) = &self.keywords else {
            let everywhere = |mut seen: PatternHits| {
                seen.stretches.push((0, text.len()));
                seen
            };
            return none().map(everywhere).collect();
        };
        // Words that belong together may stand on two lines.
        let line = match memchr::memchr(b'\n', text.as_bytes()) {
            Some(_) => Cow::Owned(text.replace('\n', " ")),
            None => Cow::Borrowed(text),
        };
        let mut seen = Vec::new();
        let _all = keywords.each(&line, |hit| {
            if seen.is_empty() {
                seen.extend(none());
            }
            let parts = hit.rules.iter().filter_map(|part| self.parts.get(*part));
            for part in parts {
                let pattern = self.all.get(part.pattern);
                if let Some((pattern, seen)) = pattern.zip(seen.get_mut(part.pattern)) {
                    seen.note(pattern, part.which, hit.start);
                }
            }
            ControlFlow::Continue(())
        });
        seen
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The same without any shortcut.
    #[cfg(test)]
    pub(super) fn find_everywhere(&self, text: &str) -> Flags {
        let found = self.all.iter().filter(|it| it.is_anywhere_in(text));
        found.map(|pattern| pattern.flag).collect()
    }
}

impl PatternHits {
    /// Parts are told in the order of their starts.
    fn note(&mut self, pattern: &FlagPattern, which: usize, start: usize) {
        if let Some(part) = self.parts.get_mut(which) {
            *part = Some(start);
        }
        // A match that holds this one lies between these two.
        let from = start.saturating_sub(pattern.longest);
        let to = start.saturating_add(pattern.longest);
        let is_near = |part: &Option<usize>| part.is_some_and(|start| start >= from);
        if !self.parts.iter().take(pattern.parts).all(is_near) {
            return;
        }
        match self.stretches.last_mut() {
            Some((_, end)) if *end >= from => *end = to,
            Some(_) | None => self.stretches.push((from, to)),
        }
    }
}

impl FlagPattern {
    /// The pattern, and what each match of it holds one of.
    fn compiled(
        flag: Flag,
        negated: NegationRule,
        text: &str,
    ) -> Option<(Self, Vec<RequiredStrings>)> {
        // A word ends where letters of ASCII do: the table has no others, and this is much faster.
        let text = text
            .replace(r"\b", r"(?-u:\b)")
            .replace('_', r"(?s:.{0,40})")
            .replace('§', r"(?s:.{0,100})");
        let mut sets = required(&regex_syntax::parse(&text).ok()?);
        sets.truncate(TOGETHER);
        if sets.is_empty() {
            return None;
        }
        let text = text.replace(' ', r"\s");
        let longest = regex_syntax::parse(&text)
            .ok()?
            .properties()
            .maximum_len()?;
        let pattern = Self {
            flag,
            negated,
            regex: Regex::new(&text).ok()?,
            longest,
            parts: sets.len(),
        };
        Some((pattern, sets))
    }

    /// Whether a match counts in a text all matches in which lie in these stretches.
    fn is_in(&self, text: &str, stretches: &[(usize, usize)]) -> bool {
        for (from, to) in stretches {
            // With one character more, which shows whether a word ends there.
            let end = text.ceil_char_boundary(to.saturating_add(1));
            let head = text.get(..end).unwrap_or(text);
            let mut from = text.floor_char_boundary(*from);
            while let Some(hit) = self.regex.find_at(head, from) {
                if hit.end() == head.len() && end < text.len() {
                    // A match only because the text ends here.
                    return self.is_anywhere_in(text);
                }
                if self.counts(text, hit.start()) {
                    return true;
                }
                from = hit.end();
            }
        }
        false
    }

    fn is_anywhere_in(&self, text: &str) -> bool {
        let mut hits = self.regex.find_iter(text);
        hits.any(|hit| self.counts(text, hit.start()))
    }

    fn counts(&self, text: &str, start: usize) -> bool {
        match self.negated {
            NegationRule::Counts => true,
            NegationRule::Excuses => !is_negated(text.get(..start).unwrap_or_default()),
        }
    }
}

/// Whether the words that come last turn what follows into its opposite.
fn is_negated(before: &str) -> bool {
    let from = before.floor_char_boundary(before.len().saturating_sub(REACH));
    let near = before.get(from..).unwrap_or_default();
    let clause = near
        .rsplit(['.', ';', '!', '?', '\n', ',', ':', '(', ')', '-'])
        .next()
        .unwrap_or_default();
    // As a word of its own, so that nothing that merely ends like one excuses what follows; behind what is
    // foreign there has to be a blank.
    let clause = match clause.rsplit_once(FOREIGN) {
        Some((_, clause)) => clause.to_owned(),
        None => format!(" {clause}"),
    };
    [
        " not ",
        " never ",
        "n't ",
        " cannot ",
        " no ",
        " refuses to ",
        " unable to ",
    ]
    .iter()
    .any(|word| clause.contains(word))
}
