//! Long runs of bytes of one kind.

use std::ops::{Range, RangeInclusive};

/// A set of bytes.
pub(super) struct Bytes([bool; 256]);

impl Bytes {
    /// `ranges` may not reach 255.
    pub(super) const fn new(single: &[u8], ranges: &[RangeInclusive<u8>]) -> Self {
        let mut members = [false; 256];
        let mut at = 0;
        while let Some((&byte, _)) = single.split_at(at).1.split_first() {
            set(&mut members, byte);
            at += 1;
            if at == single.len() {
                break;
            }
        }
        let mut rest = ranges;
        while let Some((range, after)) = rest.split_first() {
            let mut byte = *range.start();
            while byte <= *range.end() {
                set(&mut members, byte);
                byte += 1;
            }
            rest = after;
        }
        Self(members)
    }

    pub(super) fn has(&self, byte: u8) -> bool {
        self.0.get(usize::from(byte)).copied().unwrap_or(false)
    }
}

/// The runs of at least `least` such bytes, each as long as can be.
///
/// Looks at the last byte that a run from here would have first: where runs are rare, most of the
/// text is never read.
pub(super) fn runs<'b>(
    text: &'b [u8],
    least: usize,
    kind: &'b Bytes,
) -> impl Iterator<Item = Range<usize>> + 'b {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let probe = text.get(from..from + least)?;
            if let Some(other) = probe.iter().rposition(|&byte| !kind.has(byte)) {
                from += other + 1;
                continue;
            }
            let rest = text.get(from + least..).unwrap_or_default();
            let more = rest.iter().position(|&byte| !kind.has(byte));
            let run = from..from + least + more.unwrap_or(rest.len());
            from = run.end;
            return Some(run);
        }
    })
}

const fn set(members: &mut [bool; 256], byte: u8) {
    if let Some((member, _)) = members.split_at_mut(byte as usize).1.split_first_mut() {
        *member = true;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    static DIGITS: Bytes = Bytes::new(b"_", &[b'0'..=b'9']);

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> = runs(text.as_bytes(), 3, &DIGITS)
            .map(|range| text.get(range).unwrap())
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn runs_are_as_long_as_can_be() {
        check("", &[]);
        check("12", &[]);
        check("123", &["123"]);
        check("a123b12c1234", &["123", "1234"]);
        check("12a_12", &["_12"]);
        check("é123é", &["123"]);
    }

    proptest! {
        #[test]
        fn skipping_finds_what_splitting_finds(text in "[0-9a]{0,40}") {
            let found: Vec<&str> =
                runs(text.as_bytes(), 3, &DIGITS).map(|range| text.get(range).unwrap()).collect();
            let split: Vec<&str> = text.split('a').filter(|run| run.len() >= 3).collect();
            prop_assert_eq!(found, split);
        }
    }
}
