//! A JSON number as what most readers take it for, or nothing.

use super::node::DocumentNode;
use crate::policy::numbers::Exact;

/// Digits that every double can be told by.
const MOST_DIGITS: usize = 17;

/// An integer however it is written (`1.0`, `1e3`), if 64 bits hold it; otherwise the nearest
/// double, if the number has no more digits than doubles can tell apart.
///
/// Nothing for an integer beyond 64 bits: some readers keep each of its digits, some do not, and a
/// rule must not compare what only one of them sees.
pub(super) fn number(text: &str) -> Option<DocumentNode<'static>> {
    if let Some(integer) = Exact::of(text).integer {
        return Some(DocumentNode::Integer(integer));
    }
    let value: f64 = text.parse().ok()?;
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let digits = mantissa.bytes().filter(u8::is_ascii_digit);
    let significant = digits.skip_while(|digit| *digit == b'0').count();
    // A double from here on is an integer, and so is the number.
    let is_whole = value.abs() >= 9_007_199_254_740_992.0;
    let is_faithful = value.is_normal() && !is_whole && significant <= MOST_DIGITS;
    is_faithful.then_some(DocumentNode::Number(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_exact_however_they_are_written() {
        for (text, value) in [
            ("7", 7),
            ("7.0", 7),
            ("70e-1", 7),
            ("-0", 0),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
        ] {
            assert_eq!(number(text), Some(DocumentNode::Integer(value)), "{text}");
        }
    }

    #[test]
    fn other_numbers_are_the_nearest_double() {
        for (text, value) in [
            ("0.1", 0.1),
            ("-1.5e-7", -1.5e-7),
            ("0.30000000000000004", 0.300_000_000_000_000_04),
        ] {
            assert_eq!(number(text), Some(DocumentNode::Number(value)), "{text}");
        }
    }

    #[test]
    fn what_readers_take_for_different_numbers_is_none() {
        for text in [
            "9223372036854775808",
            "-9223372036854775809",
            "1e300",
            "1e999",
            "1e-999",
            "0.1234567890123456789",
            "100.00000000000000000001",
            "9007199254740992.5",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
