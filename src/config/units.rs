//! Durations and sizes: a whole number and its unit.

use std::time::Duration;

use super::errors::ConfigReason;

/// Reads `"500ms"`, `"60s"`, `"2m"` or `"1h"`.
pub(super) fn duration(text: &str) -> Result<Duration, ConfigReason> {
    const FORM: &str = "expected a whole number and a unit: `500ms`, `60s`, `2m` or `1h`";
    let unit = |unit: &str| match unit {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    quantity(text, FORM, unit).map(Duration::from_millis)
}

/// Reads a number of bytes: `"1500B"`, `"64KiB"`, `"4MiB"`, `"1GiB"`, and `kB` and `MB` by 1000.
pub(super) fn size(text: &str) -> Result<u64, ConfigReason> {
    const FORM: &str = "expected a whole number and a unit: `1500B`, `64KiB` or `4MiB`";
    let unit = |unit: &str| match unit {
        "B" => Some(1),
        "kB" | "KB" => Some(1_000),
        "MB" => Some(1_000_000),
        "KiB" => Some(1 << 10),
        "MiB" => Some(1 << 20),
        "GiB" => Some(1 << 30),
        _ => None,
    };
    quantity(text, FORM, unit)
}

/// A duration as [`duration`] would read it.
pub(super) fn show_duration(duration: Duration) -> String {
    let milliseconds = duration.as_millis();
    let units = [(3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let whole = |(unit, _): &(u128, &str)| milliseconds > 0 && milliseconds.is_multiple_of(*unit);
    let (unit, name) = units.into_iter().find(whole).unwrap_or((1, "ms"));
    format!("{}{name}", milliseconds / unit)
}

/// A size as [`size`] would read it.
pub(super) fn show_size(bytes: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let whole = |(unit, _): &(u64, &str)| bytes > 0 && bytes.is_multiple_of(*unit);
    let (unit, name) = units.into_iter().find(whole).unwrap_or((1, "B"));
    format!("{}{name}", bytes / unit)
}

fn quantity(
    text: &str,
    form: &'static str,
    unit: impl Fn(&str) -> Option<u64>,
) -> Result<u64, ConfigReason> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, name) = text.split_at(end);
    let Some(factor) = unit(name).filter(|_| !number.is_empty()) else {
        return Err(ConfigReason::Invalid(form));
    };
    // Only digits are left, so the one way to fail is to be too large.
    let number: u64 = number.parse().map_err(|_| ConfigReason::ExceedsMaximum)?;
    number
        .checked_mul(factor)
        .ok_or(ConfigReason::ExceedsMaximum)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_have_a_unit() {
        let cases = [
            ("0s", 0),
            ("500ms", 500),
            ("60s", 60_000),
            ("2m", 120_000),
            ("1h", 3_600_000),
        ];
        for (text, milliseconds) in cases {
            assert_eq!(
                duration(text),
                Ok(Duration::from_millis(milliseconds)),
                "{text}"
            );
        }
        for text in [
            "", "60", "s", "1.5s", "-1s", "+1s", "1 s", "1S", "1d", "1s1s", "١s", " 1s",
        ] {
            assert!(
                matches!(duration(text), Err(ConfigReason::Invalid(_))),
                "{text}"
            );
        }
        for text in ["18446744073709551616ms", "18446744073709551615h"] {
            assert_eq!(duration(text), Err(ConfigReason::ExceedsMaximum), "{text}");
        }
    }

    #[test]
    fn sizes_have_a_unit() {
        let cases = [
            ("0B", 0),
            ("1500B", 1500),
            ("2kB", 2000),
            ("4MiB", 4 << 20),
            ("1GiB", 1 << 30),
        ];
        for (text, bytes) in cases {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "5", "MiB", "4mib", "4M", "4 MiB", "0x4MiB", "4MiBs"] {
            assert!(
                matches!(size(text), Err(ConfigReason::Invalid(_))),
                "{text}"
            );
        }
        assert_eq!(size("17179869184GiB"), Err(ConfigReason::ExceedsMaximum));
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back(number: u32, shift in 0_u32..31) {
            let bytes = u64::from(number) << shift;
            prop_assert_eq!(size(&show_size(bytes)), Ok(bytes));
            let time = Duration::from_millis(bytes);
            prop_assert_eq!(duration(&show_duration(time)), Ok(time));
        }
    }
}
