//! All keywords of all rules, looked for at once.

use std::collections::BTreeMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError};

/// Tells at which places which rules are worth a try.
pub(super) struct Keywords {
    automaton: AhoCorasick,
    /// By number of the pattern in the automaton: the rules with that keyword.
    rules: Vec<Vec<usize>>,
}

/// A keyword in a text.
pub(super) struct Hit<'k> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) rules: &'k [usize],
}

impl Keywords {
    /// `words` are keywords with the number of their rule.
    pub(super) fn new<'w>(
        words: impl IntoIterator<Item = (&'w str, usize)>,
    ) -> Result<Self, BuildError> {
        let mut rules: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (word, rule) in words {
            rules
                .entry(word.to_ascii_lowercase())
                .or_default()
                .push(rule);
        }
        // The full table costs a few hundred kilobytes once and is the quickest to read.
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(rules.keys())?;
        Ok(Self {
            automaton,
            rules: rules.into_values().collect(),
        })
    }

    /// In the order of their ends. One keyword may stand in another: both are told.
    pub(super) fn hits<'k>(&'k self, text: &'k str) -> impl Iterator<Item = Hit<'k>> {
        self.automaton.find_overlapping_iter(text).map(|found| Hit {
            start: found.start(),
            end: found.end(),
            rules: self
                .rules
                .get(found.pattern().as_usize())
                .map_or(&[], Vec::as_slice),
        })
    }
}
