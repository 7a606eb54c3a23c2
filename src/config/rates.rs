//! `limits.rates`: how often requests may come.

use std::num::NonZeroU32;
use std::time::Duration;

use toml::de::DeValue;

use super::errors::ConfigReason;
use super::section::{ConfigField, ConfigSection};
use super::tool_names::tool_name;
use crate::gate::{Rate, Rates};

/// The most of a period, and the most at once.
const MOST: u32 = 999_999;

const HELP: &str = "as in `\"100/m\"`, or `\"100/m burst 20\"` where no more may come at once";

/// Reads `limits.rates`, beside what holds without a word.
pub(super) fn rates(mut section: ConfigSection<'_, '_>, default: &Rates) -> Rates {
    let global = of_key(&mut section, "global");
    let principal = of_key(&mut section, "principal");
    let mut of_tools = section.section("tools");
    let mut rates = Rates {
        global: global.or(default.global),
        principal: principal.or(default.principal),
        ..default.clone()
    };
    for field in of_tools.entries() {
        if let Some(reason) = tool_name(field.key) {
            of_tools.tell(&field, reason, None);
        }
        if let Some(rate) = rate(&mut of_tools, &field) {
            rates.tools.insert(field.key.to_owned(), rate);
        }
    }
    section.finish();
    rates
}

fn of_key(section: &mut ConfigSection<'_, '_>, key: &'static str) -> Option<Rate> {
    let field = section.take(key)?;
    rate(section, &field)
}

fn rate<'t>(section: &mut ConfigSection<'_, 't>, field: &ConfigField<'t>) -> Option<Rate> {
    section.show(field);
    if !matches!(field.value, DeValue::String(_)) {
        section.wrong_type(field, "a rate such as `\"100/m\"`", Some(HELP));
        return None;
    }
    let text = section.text(field)?.value;
    match read(&text) {
        Ok(rate) => Some(rate),
        Err(reason) => {
            section.tell(field, reason, Some(HELP));
            None
        }
    }
}

/// Reads `"100/m"`: at most 100 at once, and 100 in a minute on average. `burst` lowers or raises how
/// many come at once.
fn read(text: &str) -> Result<Rate, ConfigReason> {
    const FORM: ConfigReason = ConfigReason::Invalid("expected a number and `/s`, `/m` or `/h`");
    let (rate, burst) = match text.split_once(" burst ") {
        Some((rate, burst)) => (rate, Some(burst)),
        None => (text, None),
    };
    let (times, unit) = rate.split_once('/').ok_or(FORM)?;
    let period = match unit {
        "s" => Duration::from_secs(1),
        "m" => Duration::from_mins(1),
        "h" => Duration::from_hours(1),
        _ => return Err(FORM),
    };
    let times = number(times, FORM)?;
    let burst = burst.map_or(Ok(times), |burst| number(burst, FORM))?;
    Ok(Rate::new(times, period, burst))
}

/// In the one form that a number has.
fn number(text: &str, form: ConfigReason) -> Result<NonZeroU32, ConfigReason> {
    let is_plain = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    if text == "0" {
        return Err(ConfigReason::BelowMinimum);
    } else if text.is_empty() || !is_plain {
        return Err(form);
    }
    // Only digits are left, so the one way to fail is to be too large.
    let number: Option<NonZeroU32> = text.parse().ok();
    number
        .filter(|number| number.get() <= MOST)
        .ok_or(ConfigReason::ExceedsMaximum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_of_a_period_and_perhaps_a_burst() {
        let rate = |times, seconds, burst| {
            let nonzero = |number| NonZeroU32::new(number).unwrap();
            let period = Duration::from_secs(seconds);
            Rate::new(nonzero(times), period, nonzero(burst))
        };
        for (text, expected) in [
            ("1/s", rate(1, 1, 1)),
            ("1000/m", rate(1000, 60, 1000)),
            ("5/h burst 2", rate(5, 3600, 2)),
            ("999999/s burst 999999", rate(MOST, 1, MOST)),
        ] {
            assert_eq!(read(text), Ok(expected), "{text}");
        }
        for text in [
            "",
            "5",
            "/s",
            "5/",
            "5/d",
            "5 / s",
            "5/S",
            "+5/s",
            "05/s",
            "1.5/s",
            "5/s burst",
            "5/s burst ",
            "5/s  burst 2",
            "5/s burst x",
            "5/sburst 2",
            "\u{665}/s",
            "5/s burst 2 ",
        ] {
            assert!(
                matches!(read(text), Err(ConfigReason::Invalid(_))),
                "{text}"
            );
        }
        assert_eq!(read("0/s"), Err(ConfigReason::BelowMinimum));
        assert_eq!(read("1/s burst 0"), Err(ConfigReason::BelowMinimum));
        for text in ["1000000/s", "99999999999/s", "1/s burst 1000000"] {
            assert_eq!(read(text), Err(ConfigReason::ExceedsMaximum), "{text}");
        }
    }
}
