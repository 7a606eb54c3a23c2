//! All keywords of all rules, looked for at once.
//!
//! Most of a text is no keyword, so the pass over it asks of each place one thing only: whether the
//! four bytes there begin any. An automaton of all keywords (aho-corasick) does more for each byte
//! than that, and its table does not stay in the cache: it took more than three quarters of the time
//! that a text without secrets costs.

use std::ops::ControlFlow;

/// Bytes by which the beginning of a keyword is known.
const PREFIX: usize = 4;

/// No keyword is shorter. One of just as many bytes begins with any byte behind them.
pub(super) const SHORTEST: usize = PREFIX - 1;

/// Places of the filter, 16 KiB: in it the beginnings of 700 keywords let one place of two hundred pass that
/// is none.
const PLACES: usize = 1 << 13;

/// Tells at which places which rules are worth a try.
pub(super) struct Keywords {
    /// At the place of three bytes, a bit for each fourth one that goes on a keyword.
    begin: Box<[u16; PLACES]>,
    /// At the same place, those that begin with such bytes.
    words: Box<[Vec<Keyword>]>,
}

struct Keyword {
    /// In lower case, whole.
    word: Box<[u8]>,
    rules: Vec<usize>,
}

/// A keyword in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct KeywordHit<'k> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) rules: &'k [usize],
}

/// A keyword of fewer bytes than any may have.
#[derive(Debug, thiserror::Error)]
#[error("the keyword `{0}` has fewer than {SHORTEST} bytes")]
pub(super) struct KeywordTooShort(String);

impl Keywords {
    /// `words` are keywords with the number of their rule.
    pub(super) fn new<'w>(
        words: impl IntoIterator<Item = (&'w str, usize)>,
    ) -> Result<Self, KeywordTooShort> {
        let mut keywords = Self {
            begin: Box::new([0; PLACES]),
            words: (0..PLACES).map(|_| Vec::new()).collect(),
        };
        for (word, rule) in words {
            let word = word.to_ascii_lowercase();
            let (at, bits) = match *word.as_bytes() {
                [a, b, c, d, ..] => place(u32::from_be_bytes([a, b, c, d])),
                [a, b, c] => (place(u32::from_be_bytes([a, b, c, 0])).0, u16::MAX),
                _ => return Err(KeywordTooShort(word)),
            };
            if let Some(begin) = keywords.begin.get_mut(at) {
                *begin |= bits;
            }
            if let Some(words) = keywords.words.get_mut(at) {
                add(words, word.into_bytes().into(), rule);
            }
        }
        Ok(keywords)
    }

    /// Calls back in the order of their starts, until that says to stop. One keyword may stand in another:
    /// both are told.
    pub(super) fn each<'k>(
        &'k self,
        text: &str,
        mut found: impl FnMut(KeywordHit<'k>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        // Bytes that are no ASCII letters stay what they are.
        let text = text.as_bytes();
        let mut key = 0;
        for (last, byte) in text.iter().enumerate() {
            key = pushed(key, byte.to_ascii_lowercase());
            if self.may_begin(key) {
                self.each_at(text, last, key, &mut found)?;
            }
        }
        // As if a byte stood behind the text: a keyword may be shorter than a beginning.
        let key = pushed(key, 0);
        if self.may_begin(key) {
            self.each_at(text, text.len(), key, &mut found)?;
        }
        ControlFlow::Continue(())
    }

    /// Whether there is a keyword in the text.
    pub(super) fn is_any_in(&self, text: &str) -> bool {
        self.each(text, |_| ControlFlow::Break(())).is_break()
    }

    fn may_begin(&self, key: u32) -> bool {
        let (at, bit) = place(key);
        self.begin.get(at).is_some_and(|bits| bits & bit != 0)
    }

    /// Out of the way of the loop above, which seldom comes here.
    #[cold]
    fn each_at<'k>(
        &'k self,
        text: &[u8],
        last: usize,
        key: u32,
        found: &mut impl FnMut(KeywordHit<'k>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        // Before the fourth byte there is no beginning.
        let start = (last + 1).checked_sub(PREFIX);
        let Some((start, words)) = start.zip(self.words.get(place(key).0)) else {
            return ControlFlow::Continue(());
        };
        let rest = text.get(start..).unwrap_or_default();
        let begins = |word: &[u8]| {
            let begin = rest.get(..word.len());
            begin.is_some_and(|begin| begin.eq_ignore_ascii_case(word))
        };
        for keyword in words.iter().filter(|it| begins(&it.word)) {
            found(KeywordHit {
                start,
                end: start + keyword.word.len(),
                rules: &keyword.rules,
            })?;
        }
        ControlFlow::Continue(())
    }
}

/// The last four bytes.
fn pushed(key: u32, byte: u8) -> u32 {
    key << 8 | u32::from(byte)
}

/// Where three bytes stand, and the bit of the fourth one. The upper bits of a product by an odd number
/// (Knuth's multiplicative hash) depend on all bytes.
fn place(key: u32) -> (usize, u16) {
    let at = (key >> 8).wrapping_mul(0x9e37_79b1) >> (u32::BITS - PLACES.ilog2());
    (at as usize, 1 << (key & 15))
}

fn add(words: &mut Vec<Keyword>, word: Box<[u8]>, rule: usize) {
    match words.iter_mut().find(|it| it.word == word) {
        Some(keyword) => keyword.rules.push(rule),
        None => words.push(Keyword {
            word,
            rules: vec![rule],
        }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Few letters, so that keywords stand in each other and in the text.
    fn word() -> impl Strategy<Value = String> {
        "[abAB_é]{3,6}"
    }

    proptest! {
        #[test]
        fn every_keyword_is_found_wherever_it_stands_in_whatever_case(
            words in vec(word(), 1..20),
            text in "[abAB_é ]{0,60}",
        ) {
            let numbered = words.iter().enumerate().map(|(rule, word)| (word.as_str(), rule));
            let keywords = Keywords::new(numbered).unwrap();
            let mut found = Vec::new();
            let all = keywords.each(&text, |hit| {
                found.extend(hit.rules.iter().map(|rule| (hit.start, *rule, hit.end)));
                ControlFlow::Continue(())
            });
            prop_assert!(all.is_continue());
            let lower = text.to_ascii_lowercase();
            let mut expected: Vec<_> = words
                .iter()
                .enumerate()
                .flat_map(|(rule, word)| {
                    let word = word.to_ascii_lowercase();
                    let starts = (0..lower.len()).filter(|&at| {
                        lower.as_bytes()[at..].starts_with(word.as_bytes())
                    });
                    let starts: Vec<usize> = starts.collect();
                    starts.into_iter().map(move |at| (at, rule, at + word.len()))
                })
                .collect();
            prop_assert_eq!(keywords.is_any_in(&text), !found.is_empty());
            prop_assert!(found.is_sorted_by_key(|(start, ..)| *start));
            found.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_keyword_that_has_no_beginning_is_refused() {
        let check = |word: &str, refused: bool| {
            assert_eq!(Keywords::new([(word, 0)]).is_err(), refused, "{word}");
        };
        check("", true);
        check("ab", true);
        check("é", true);
        check("abc", false);
        check("éa", false);
    }
}
