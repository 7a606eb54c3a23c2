//! Whether a word can be a part of what a pattern matches.

use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

/// How far into the word a text leads, by how far what stands before it has led: a row of bits for each.
///
/// Place 0 is before the word, where anything may still stand, and the last one behind it, where anything may
/// follow.
type Ways = Vec<u128>;

/// Characters that a word may have: more than any keyword.
const LONGEST: usize = 127;

/// Whether some text that the pattern matches holds the word, in whatever case (ASCII). What stands round a
/// match is left out of account, and repetitions may be of any number: where it says no, there is none.
pub(super) fn may_hold(pattern: &Hir, word: &str) -> bool {
    let word: Vec<char> = word.chars().collect();
    if word.len() > LONGEST {
        return true;
    }
    let ways = LetterWord(word).through(pattern);
    ways.first()
        .zip(ways.len().checked_sub(1))
        .is_none_or(|(begun, last)| begun >> last & 1 == 1)
}

struct LetterWord(Vec<char>);

impl LetterWord {
    fn places(&self) -> usize {
        self.0.len() + 1
    }

    /// By a text of no characters.
    fn staying(&self) -> Ways {
        (0..self.places()).map(|place| 1 << place).collect()
    }

    fn nowhere(&self) -> Ways {
        vec![0; self.places()]
    }

    /// By one character of which it is known which ones of the word it can be.
    fn step(&self, can_be: impl Fn(char) -> bool) -> Ways {
        let mut ways = self.nowhere();
        let last = self.0.len();
        for (place, way) in ways.iter_mut().enumerate() {
            if place == 0 || place == last {
                *way |= 1 << place;
            }
            if self.0.get(place).is_some_and(|next| can_be(*next)) {
                *way |= 1 << (place + 1);
            }
        }
        ways
    }

    /// By any text.
    fn anywhere(&self) -> Ways {
        vec![u128::MAX; self.places()]
    }

    fn through(&self, pattern: &Hir) -> Ways {
        match pattern.kind() {
            HirKind::Empty | HirKind::Look(_) => self.staying(),
            HirKind::Literal(literal) => {
                let Ok(text) = str::from_utf8(&literal.0) else {
                    return self.anywhere();
                };
                let steps = text
                    .chars()
                    .map(|it| self.step(|next| next.eq_ignore_ascii_case(&it)));
                steps.fold(self.staying(), |ways, step| joined(&ways, &step))
            }
            HirKind::Class(Class::Unicode(class)) => self.step(|next| {
                let mut ranges = class.ranges().iter();
                ranges.any(|it| {
                    let holds = |one: char| (it.start()..=it.end()).contains(&one);
                    holds(next.to_ascii_lowercase()) || holds(next.to_ascii_uppercase())
                })
            }),
            HirKind::Class(Class::Bytes(_)) => self.step(|_| true),
            HirKind::Repetition(Repetition { min, sub, .. }) => {
                let once = self.through(sub);
                let more = repeated(once.clone());
                if *min == 0 {
                    either(&self.staying(), &more)
                } else {
                    more
                }
            }
            HirKind::Capture(group) => self.through(&group.sub),
            HirKind::Concat(parts) => parts.iter().fold(self.staying(), |ways, part| {
                joined(&ways, &self.through(part))
            }),
            HirKind::Alternation(parts) => parts.iter().fold(self.nowhere(), |ways, part| {
                either(&ways, &self.through(part))
            }),
        }
    }
}

fn either(one: &Ways, other: &Ways) -> Ways {
    one.iter()
        .zip(other)
        .map(|(one, other)| one | other)
        .collect()
}

/// By one text and then another.
fn joined(first: &Ways, then: &Ways) -> Ways {
    let led = |way: &u128| {
        let places = then.iter().enumerate();
        let places = places.filter(|(place, _)| way >> place & 1 == 1);
        places.fold(0, |led, (_, way)| led | way)
    };
    first.iter().map(led).collect()
}

/// Once, or more often (Warshall).
fn repeated(mut ways: Ways) -> Ways {
    for place in 0..ways.len() {
        let from_here = ways.get(place).copied().unwrap_or_default();
        for way in &mut ways {
            if *way >> place & 1 == 1 {
                *way |= from_here;
            }
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(pattern: &str, word: &str, expected: bool) {
        let hir = regex_syntax::parse(pattern).unwrap();
        assert_eq!(may_hold(&hir, word), expected, "{pattern} {word}");
    }

    #[test]
    fn a_word_is_looked_for_within_every_text_of_a_pattern() {
        for word in [
            "acme_", "cme", "ME_L", "_live_", "e_test_", "0123", "test_zz",
        ] {
            check("acme_(?:live|test)_[a-z0-9]{24}", word, true);
        }
        for word in ["acne_", "acme-", "live__", "acme__", "test!", "öl"] {
            check("acme_(?:live|test)_[a-z0-9]{24}", word, false);
        }
        for (pattern, word, expected) in [
            ("(?i)BADGE-[0-9]+", "badge-", true),
            ("BADGE-[0-9]+", "badge", true),
            ("BADGE-[0-9]+", "badge1", false),
            ("(?:ab)+", "baba", true),
            ("(?:ab)+", "bb", false),
            ("(?:ab)*c", "abc", true),
            ("a(?:xy)?b", "axyb", true),
            ("a(?:xy)?b", "ab", true),
            ("a(?:xy)?b", "axb", false),
            // A number of times is not counted.
            ("a{2}", "aaa", true),
            (r"^\bkey\b$", "key", true),
            (r"key[^\w]key", "key=key", true),
            (r"key[^\w]key", "keykey", false),
            (r"[0-9]+ des Schlüssels", "schlüssel", true),
            (r"[0-9]+ des Schlüssels", "SCHLÜSSEL", false),
            (r"(?-u:\w)+", "wort", true),
            (".", "ab", false),
            ("(?s).*", "anything at all", true),
            ("(?:ab|cd|(?:ef)+)+", "abefefcd", true),
            ("(?:ab|cd|(?:ef)+)+", "abfe", false),
        ] {
            check(pattern, word, expected);
        }
    }

    proptest! {
        #[test]
        fn what_stands_in_a_match_may_stand_in_one(
            pattern in "(\\(\\?:a\\|[bc]{1,2}\\)|[abc]|\\[ab\\]|\\(b[abc]\\)|\\.)([*+?]|\\{1,3\\})?([abc][+?]?|\\(\\?i:B\\)){0,4}",
            text in "[abcABC]{0,12}",
        ) {
            let hir = regex_syntax::parse(&pattern).unwrap();
            let regex = regex::Regex::new(&pattern).unwrap();
            for found in regex.find_iter(&text) {
                let found = found.as_str();
                for start in 0..found.len() {
                    for end in start + 1..=found.len() {
                        let word = found.get(start..end).unwrap_or_default();
                        prop_assert!(may_hold(&hir, word), "{} {} {}", pattern, found, word);
                        prop_assert!(may_hold(&hir, &word.to_ascii_lowercase()));
                    }
                }
            }
        }
    }
}
