//! What policies can compare of a JSON number.

/// A number by its exact JSON text (RFC 8259, section 6).
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Exact {
    /// The number is an integer within 64 bits, however it is written (`1.0`, `1e3`).
    pub(super) integer: Option<i64>,
    /// The number has at most four decimals: as ten-thousandths within 64 bits.
    pub(super) ten_thousandths: Option<i64>,
}

impl Exact {
    /// Never rounds. What does not fit, or is not a JSON number, is neither.
    pub(super) fn of(text: &str) -> Self {
        let Some(scaled) = Scaled::parse(text) else {
            return Self::default();
        };
        Self {
            integer: scaled.times_ten_to(0),
            ten_thousandths: scaled.times_ten_to(4),
        }
    }

    /// As Cedar's `decimal` wants it.
    pub(super) fn decimal_text(&self) -> Option<String> {
        let value = self.ten_thousandths?;
        let sign = if value < 0 { "-" } else { "" };
        let magnitude = value.unsigned_abs();
        Some(format!(
            "{sign}{}.{:04}",
            magnitude / 10_000,
            magnitude % 10_000
        ))
    }
}

/// `digits` × 10^`exponent`, without trailing zeros in the digits.
struct Scaled {
    negative: bool,
    digits: u128,
    exponent: i64,
}

impl Scaled {
    fn parse(text: &str) -> Option<Self> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits: u128 = 0;
        // Zeros are held back until a digit follows, so that `1000…0` and `1.000…0` of any length fit.
        let mut zeros: i64 = 0;
        for byte in whole.bytes().chain(fraction.bytes()) {
            match byte {
                b'0' => zeros = zeros.checked_add(1)?,
                b'1'..=b'9' => {
                    if digits != 0 {
                        digits = digits.checked_mul(10u128.checked_pow(zeros.try_into().ok()?)?)?;
                    }
                    digits = digits
                        .checked_mul(10)?
                        .checked_add(u128::from(byte - b'0'))?;
                    zeros = 0;
                }
                _ => return None,
            }
        }
        let exponent = exponent
            .checked_sub(i64::try_from(fraction.len()).ok()?)?
            .checked_add(zeros)?;
        Some(Self {
            negative,
            digits,
            exponent,
        })
    }

    /// The number × 10^`shift` if that is an integer within 64 bits.
    fn times_ten_to(&self, shift: i64) -> Option<i64> {
        if self.digits == 0 {
            return Some(0);
        }
        // The last digit is not zero, so a negative power leaves a fraction.
        let power = u32::try_from(self.exponent.checked_add(shift)?).ok()?;
        let magnitude =
            i128::try_from(self.digits.checked_mul(10u128.checked_pow(power)?)?).ok()?;
        i64::try_from(if self.negative { -magnitude } else { magnitude }).ok()
    }
}

/// An exponent beyond `i64` is beyond everything that we represent; so is its number, but for zero,
/// which is not worth a rule of its own.
fn parse_exponent(text: &str) -> Option<i64> {
    text.strip_prefix('+').unwrap_or(text).parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn integers_however_written() {
        for text in [
            "7",
            "7.0",
            "7e0",
            "70e-1",
            "0.7e1",
            "0.07E+2",
            "7.000000000000000000000000",
        ] {
            check(text, Some(7), Some("7.0000"));
        }
        check("-0", Some(0), Some("0.0000"));
        check("0e999999999", Some(0), Some("0.0000"));
        check("-12", Some(-12), Some("-12.0000"));
        check("10203e2", Some(1_020_300), Some("1020300.0000"));
        let zeros = format!("5{}e-40", "0".repeat(40));
        check(&zeros, Some(5), Some("5.0000"));
    }

    #[test]
    fn the_edges_of_64_bits() {
        check("9223372036854775807", Some(i64::MAX), None);
        check("-9223372036854775808", Some(i64::MIN), None);
        check("9223372036854775808", None, None);
        check("18446744073709551616", None, None);
        check("922337203685477.5807", None, Some("922337203685477.5807"));
        check("922337203685477.5808", None, None);
        check("-922337203685477.5808", None, Some("-922337203685477.5808"));
    }

    #[test]
    fn decimals_are_exact_or_nothing() {
        check("1.5", None, Some("1.5000"));
        check("-0.0001", None, Some("-0.0001"));
        check("1e-4", None, Some("0.0001"));
        check("0.12345", None, None);
        check("1e-5", None, None);
        check("1e300", None, None);
        check("1e99999999999999999999", None, None);
    }

    #[test]
    fn what_is_no_number_is_nothing() {
        for text in ["", "x", "1x", "0x10", "1e", "NaN", "--1", "1.2.3"] {
            let exact = Exact::of(text);
            assert!(
                text.is_empty() || exact == Exact::default(),
                "{text}: {exact:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn every_i64_is_itself(value: i64) {
            prop_assert_eq!(Exact::of(&value.to_string()).integer, Some(value));
        }

        #[test]
        fn every_ten_thousandth_is_itself(value: i64) {
            let text = Exact { integer: None, ten_thousandths: Some(value) }.decimal_text().unwrap();
            prop_assert_eq!(Exact::of(&text).ten_thousandths, Some(value));
        }
    }

    fn check(text: &str, integer: Option<i64>, decimal: Option<&str>) {
        let exact = Exact::of(text);
        assert_eq!(exact.integer, integer, "{text}");
        assert_eq!(exact.decimal_text().as_deref(), decimal, "{text}");
    }
}
