//! Hexadecimal digits without anything between them.

use std::ops::Range;

use super::bytes::{Bytes, runs};

/// Digits of the shortest run that is looked at. INVARIANT: not fewer than those of base64, whose
/// runs are where digits are looked for.
const SHORTEST: usize = 24;

static DIGITS: Bytes = Bytes::new(b"", &[b'0'..=b'9', b'a'..=b'f', b'A'..=b'F']);

pub(super) fn runs_of(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    runs(text, SHORTEST, &DIGITS)
}

/// Decodes from the digit `skipped` on. A last one without its second half is left out.
pub(super) fn decode(digits: &[u8], skipped: usize, out: &mut Vec<u8>) {
    out.clear();
    let (pairs, _) = digits.get(skipped..).unwrap_or_default().as_chunks();
    // INVARIANT: all of a run are digits.
    out.extend(
        pairs
            .iter()
            .map(|&[high, low]| value(high) << 4 | value(low)),
    );
}

/// The byte that two digits write.
pub(super) fn byte(high: u8, low: u8) -> Option<u8> {
    Some(nibble(high)? << 4 | nibble(low)?)
}

/// The value of a digit, without a branch.
fn value(digit: u8) -> u8 {
    (digit & 0xf) + 9 * (digit >> 6)
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(digits: &str, skipped: usize, expected: &str) {
        let mut out = vec![1];
        decode(digits.as_bytes(), skipped, &mut out);
        assert_eq!(out, expected.as_bytes(), "{digits}");
    }

    #[test]
    fn digits_are_decoded_from_either_half() {
        check("", 0, "");
        check("666f6F", 0, "foo");
        check("0666f6f", 1, "foo");
        check("666", 0, "f");
        check("6", 2, "");
    }

    #[test]
    fn each_digit_has_its_value() {
        let digits = (0..=u8::MAX).filter(|digit| DIGITS.has(*digit));
        let values = digits.map(|digit| (Some(value(digit)), nibble(digit)));
        let values: Vec<_> = values.collect();
        assert_eq!(values.len(), 22);
        assert!(
            values.iter().all(|(value, nibble)| value == nibble),
            "{values:?}"
        );
    }
}
