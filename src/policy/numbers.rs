//! What policies can compare of a JSON number.

use std::iter;

/// A number by its exact JSON text (RFC 8259, section 6).
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Exact {
    /// The number is an integer within 64 bits, however it is written (`1.0`, `1e3`).
    pub(super) integer: Option<i64>,
    /// The number has at most four decimals: as ten-thousandths within 64 bits.
    pub(super) ten_thousandths: Option<i64>,
}

/// A number as rules compare it by size, where nothing may pass by being too large or too fine.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ordered {
    /// Of an integer, and of what a reader with doubles takes for one: itself, or the end of 64 bits that
    /// it lies beyond.
    pub(super) integer: Option<i64>,
    /// Rounded away from zero, or the end of 64 bits that it lies beyond.
    pub(super) ten_thousandths: i64,
}

impl Exact {
    /// Never rounds. What does not fit, or is not a JSON number, is neither.
    pub(super) fn of(text: &str) -> Self {
        let Some(scaled) = Scaled::parse(text) else {
            return Self::default();
        };
        let exact = |shift| match scaled.times_ten_to(shift)? {
            Magnitude::Whole(whole) => scaled.signed(whole),
            Magnitude::Above(_) | Magnitude::Beyond => None,
        };
        Self {
            integer: exact(0),
            ten_thousandths: exact(4),
        }
    }

    /// As Cedar's `decimal` wants it.
    pub(super) fn decimal_text(&self) -> Option<String> {
        self.ten_thousandths.map(decimal_text)
    }
}

impl Ordered {
    /// `None` for what is not a JSON number.
    pub(super) fn of(text: &str) -> Option<Self> {
        let scaled = Scaled::parse(text)?;
        let integer = match scaled.times_ten_to(0)? {
            Magnitude::Whole(whole) => Some(scaled.bounded(whole)),
            Magnitude::Beyond => Some(scaled.end()),
            Magnitude::Above(_) => scaled.integer_of_doubles(),
        };
        let ten_thousandths = match scaled.times_ten_to(4)? {
            Magnitude::Whole(whole) => scaled.bounded(whole),
            Magnitude::Above(whole) => scaled.bounded(whole.saturating_add(1)),
            Magnitude::Beyond => scaled.end(),
        };
        Some(Self {
            integer,
            ten_thousandths,
        })
    }

    /// As Cedar's `decimal` wants it.
    pub(super) fn decimal_text(&self) -> String {
        decimal_text(self.ten_thousandths)
    }
}

fn decimal_text(ten_thousandths: i64) -> String {
    let sign = if ten_thousandths < 0 { "-" } else { "" };
    let magnitude = ten_thousandths.unsigned_abs();
    format!("{sign}{}.{:04}", magnitude / 10_000, magnitude % 10_000)
}

/// `0.digits` × 10^`point`, without zeros at either end of the digits; no digits for zero.
struct Scaled<'t> {
    negative: bool,
    digits: [&'t str; 2],
    point: i64,
}

/// How large a number is, whatever its sign.
enum Magnitude {
    Whole(u128),
    /// More than this, and less than one more.
    Above(u128),
    /// More than 64 bits hold.
    Beyond,
}

/// Digits of the largest number of 64 bits.
const MOST_PLACES: i64 = 19;

/// More digits make no other double, but for numbers that lie between two as exactly as can be.
const MOST_DIGITS: usize = 40;

impl<'t> Scaled<'t> {
    fn parse(text: &'t str) -> Option<Self> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut whole = whole.trim_start_matches('0');
        let mut fraction = fraction.trim_end_matches('0');
        let mut places = i64::try_from(whole.len()).ok()?;
        if fraction.is_empty() {
            whole = whole.trim_end_matches('0');
        }
        if whole.is_empty() {
            let rest = fraction.trim_start_matches('0');
            places = -i64::try_from(fraction.len().saturating_sub(rest.len())).ok()?;
            fraction = rest;
        }
        Some(Self {
            negative,
            digits: [whole, fraction],
            point: exponent.saturating_add(places),
        })
    }

    fn digits(&self) -> impl Iterator<Item = u8> {
        self.digits.into_iter().flat_map(str::bytes)
    }

    /// The number × 10^`shift`. `None` where what should be digits are none.
    fn times_ten_to(&self, shift: i64) -> Option<Magnitude> {
        let length = self.digits.iter().map(|part| part.len()).sum::<usize>();
        if length == 0 {
            return Some(Magnitude::Whole(0));
        }
        let places = self.point.saturating_add(shift);
        let are_digits = || {
            self.digits()
                .take(MOST_DIGITS)
                .all(|it| it.is_ascii_digit())
        };
        if places > MOST_PLACES {
            return are_digits().then_some(Magnitude::Beyond);
        }
        let places = usize::try_from(places).unwrap_or(0);
        let mut digits = self.digits().chain(iter::repeat(b'0')).take(places);
        let whole = digits.try_fold(0_u128, |whole, digit| {
            let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
            whole.checked_mul(10)?.checked_add(digit.into())
        })?;
        if length > places {
            are_digits().then_some(Magnitude::Above(whole))
        } else {
            Some(Magnitude::Whole(whole))
        }
    }

    /// The integer that a reader takes it for who knows doubles only.
    fn integer_of_doubles(&self) -> Option<i64> {
        let digits: Vec<u8> = self.digits().take(MOST_DIGITS).collect();
        let digits = String::from_utf8(digits).ok()?;
        let value: f64 = format!("0.{digits}e{}", self.point).parse().ok()?;
        let is_whole = value.fract() == 0.0;
        let whole = is_whole.then(|| format!("{value:.0}").parse().ok())??;
        Some(self.bounded(whole))
    }

    fn signed(&self, magnitude: u128) -> Option<i64> {
        let magnitude = i128::try_from(magnitude).ok()?;
        i64::try_from(if self.negative { -magnitude } else { magnitude }).ok()
    }

    fn bounded(&self, magnitude: u128) -> i64 {
        self.signed(magnitude).unwrap_or(self.end())
    }

    fn end(&self) -> i64 {
        if self.negative { i64::MIN } else { i64::MAX }
    }
}

/// One beyond `i64` is beyond everything that we represent, as is one near its ends.
fn parse_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix(['+', '-']) {
        Some(digits) => (text.starts_with('-'), digits),
        None => (false, text),
    };
    let are_digits = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
    let size = are_digits.then(|| digits.parse().unwrap_or(i64::MAX))?;
    Some(if negative { -size } else { size })
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
        check("9223372036854775807.5", None, None);
        check("0e99999999999999999999", Some(0), Some("0.0000"));
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
            let text = decimal_text(value);
            prop_assert_eq!(Exact::of(&text).ten_thousandths, Some(value));
        }
    }

    #[test]
    fn what_is_too_large_or_too_fine_is_compared_all_the_same() {
        let check = |text: &str, integer: Option<i64>, decimal: &str| {
            let ordered = Ordered::of(text).unwrap();
            assert_eq!(ordered.integer, integer, "{text}");
            assert_eq!(ordered.decimal_text(), decimal, "{text}");
        };
        let (most, least) = ("922337203685477.5807", "-922337203685477.5808");
        check("7.50", None, "7.5000");
        check("9223372036854775807", Some(i64::MAX), most);
        check("9223372036854775808", Some(i64::MAX), most);
        check("9223372036854775807.5", Some(i64::MAX), most);
        check("-9223372036854775809", Some(i64::MIN), least);
        check("1e23", Some(i64::MAX), most);
        check("-1e99999999999999999999", Some(i64::MIN), least);
        check(&"9".repeat(10_000), Some(i64::MAX), most);
        check("1000000000000000000000000000000.5", Some(i64::MAX), most);
        check("922337203685477.58071", None, most);
        check("-922337203685477.58089", None, least);
        check("100.00001", None, "100.0001");
        check("-100.00001", None, "-100.0001");
        // What doubles cannot tell from an integer.
        check("100.00000000000000000001", Some(100), "100.0001");
        check("-99.99999999999999999999", Some(-100), "-100.0000");
        check(&format!("0.{}", "9".repeat(5_000)), Some(1), "1.0000");
        check("1e-99999999999999999999", Some(0), "0.0001");
        check("0.5e-400", Some(0), "0.0001");
        for text in ["x", "1x", "NaN", "1e", "1e5x"] {
            assert_eq!(Ordered::of(text), None, "{text}");
        }
    }

    /// A number of so many quarters, written in one of several ways.
    fn written(quarters: i128, way: u8) -> String {
        let (sign, size) = (if quarters < 0 { "-" } else { "" }, quarters.unsigned_abs());
        let (whole, rest) = (
            size / 4,
            ["", ".25", ".5", ".75"][usize::try_from(size % 4).unwrap()],
        );
        match way {
            0 => format!("{sign}{whole}{rest}"),
            1 => format!("{sign}{}e-2", size * 25),
            _ => format!("{sign}0.{:0>45}E+43", size * 25),
        }
    }

    proptest! {
        #[test]
        fn no_number_passes_a_bound_by_its_size(
            quarters in prop_oneof![
                any::<i128>().prop_map(|it| it >> 30),
                -400..400_i128,
                any::<i64>().prop_map(|it| i128::from(it) * 4),
                any::<i64>().prop_map(i128::from),
            ],
            bound in prop_oneof![
                i64::MIN + 1..i64::MAX,
                -100..100_i64,
                Just(i64::MAX - 1),
                Just(i64::MIN + 1),
            ],
            way in 0..3_u8,
        ) {
            let text = written(quarters, way);
            let ordered = Ordered::of(&text).unwrap();
            let is_whole = quarters % 4 == 0 || i64::try_from(quarters / 4).is_err();
            if is_whole {
                let order = ordered.integer.map(|it| it.cmp(&bound));
                prop_assert_eq!(order, Some(quarters.cmp(&(i128::from(bound) * 4))), "{}", text);
            }
            let order = ordered.ten_thousandths.cmp(&bound);
            prop_assert_eq!(order, (quarters * 2_500).cmp(&i128::from(bound)), "{}", text);
        }

        #[test]
        fn what_is_rounded_is_less_than_a_ten_thousandth_from_the_number(
            whole in -1_000_000..1_000_000_i64, rest in 1..10_000_i64,
        ) {
            let text = format!("{whole}.0000{rest:04}");
            let exact = whole * 10_000;
            let ordered = Ordered::of(&text).unwrap();
            let away = if whole < 0 { -1 } else { 1 };
            prop_assert_eq!(ordered.ten_thousandths, exact + away, "{}", text);
        }
    }

    fn check(text: &str, integer: Option<i64>, decimal: Option<&str>) {
        let exact = Exact::of(text);
        assert_eq!(exact.integer, integer, "{text}");
        assert_eq!(exact.decimal_text().as_deref(), decimal, "{text}");
    }
}
