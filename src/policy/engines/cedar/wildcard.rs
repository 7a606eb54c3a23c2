//! The patterns of `like`, as the texts between their wildcards.
//!
//! Cedar's own matching copies the text character by character for each pattern.

use cedar_policy_core::ast::{Pattern, PatternElem};

/// A pattern; `*` stands for any text.
#[derive(Debug)]
pub(super) struct Wildcard {
    /// What a text begins with.
    head: Box<str>,
    /// What it then holds, in this order and apart.
    middle: Box<[Box<str>]>,
    /// What it ends with, apart from all before; without a wildcard there is only the head.
    tail: Option<Box<str>>,
}

impl Wildcard {
    pub(super) fn of(pattern: &Pattern) -> Self {
        let mut parts = vec![String::new()];
        for element in pattern.iter() {
            match (element, parts.last_mut()) {
                (PatternElem::Char(c), Some(part)) => part.push(*c),
                (PatternElem::Char(_), None) | (PatternElem::Wildcard, _) => {
                    parts.push(String::new());
                }
            }
        }
        let mut parts = parts.into_iter().map(String::into_boxed_str);
        Self {
            head: parts.next().unwrap_or_default(),
            tail: parts.next_back(),
            middle: parts.filter(|part| !part.is_empty()).collect(),
        }
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        let Some(rest) = text.strip_prefix(&*self.head) else {
            return false;
        };
        let Some(tail) = &self.tail else {
            return rest.is_empty();
        };
        let Some(mut rest) = rest.strip_suffix(&**tail) else {
            return false;
        };
        // The earliest place leaves the most for what follows.
        for part in &self.middle {
            let Some((_, after)) = rest.split_once(&**part) else {
                return false;
            };
            rest = after;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5000))]

        /// Few letters, so that many match.
        #[test]
        fn a_text_matches_as_in_cedar(pattern in "[ab*é]{0,8}", text in "[abé]{0,10}") {
            let elements = pattern.chars().map(|c| match c {
                '*' => PatternElem::Wildcard,
                c => PatternElem::Char(c),
            });
            let pattern: Pattern = elements.collect();
            prop_assert_eq!(Wildcard::of(&pattern).matches(&text), pattern.wildcard_match(&text));
        }
    }

    #[test]
    fn a_star_in_the_text_is_a_letter() {
        let pattern: Pattern = [PatternElem::Char('*'), PatternElem::Wildcard]
            .into_iter()
            .collect();
        assert!(Wildcard::of(&pattern).matches("*x"));
        assert!(!Wildcard::of(&pattern).matches("x"));
    }
}
