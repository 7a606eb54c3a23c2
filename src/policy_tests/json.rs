//! TOML values as JSON: strings, numbers and the order of keys stay what the author wrote.

use toml::de::{DeInteger, DeValue};

use super::table::{FixtureReader, FixtureValue, in_order};
use crate::wire::Fragment;

/// The JSON of a value; `None` when it has none, which is then among the problems of the reading.
pub(super) fn fragment(reading: &FixtureReader, value: &FixtureValue<'_>) -> Option<Fragment> {
    let number = |text: &str| {
        // Digits of a TOML number are digits of a JSON number, but for the plus sign.
        Fragment::decode(text.strip_prefix('+').unwrap_or(text)).ok()
    };
    let made = match value.get_ref() {
        DeValue::String(text) => Some(Fragment::string(text)),
        DeValue::Integer(integer) => decimal(integer).as_deref().and_then(number),
        DeValue::Float(float) => number(float.as_str()),
        DeValue::Boolean(flag) => Fragment::decode(if *flag { "true" } else { "false" }).ok(),
        DeValue::Datetime(time) => Some(Fragment::string(&time.to_string())),
        DeValue::Array(items) => {
            // Every item, so that all problems are told.
            let items: Vec<_> = items.iter().map(|item| fragment(reading, item)).collect();
            return items
                .into_iter()
                .collect::<Option<Vec<_>>>()
                .map(Fragment::array);
        }
        DeValue::Table(table) => {
            let members = in_order(table).into_iter();
            let members: Vec<_> = members
                .map(|(key, value)| Some((key.get_ref().as_ref(), fragment(reading, value)?)))
                .collect();
            return members
                .into_iter()
                .collect::<Option<Vec<_>>>()
                .map(Fragment::object);
        }
    };
    if made.is_none() {
        let help = "write the whole message as `raw = '…'` if this is what you mean to send";
        let message = "JSON has no such number";
        reading.tell(
            &value.span(),
            "test::no_json",
            message,
            Some(help.to_owned()),
        );
    }
    made
}

/// Decimal digits. JSON has no other notation, so what does not fit 128 bits in another has none.
fn decimal(integer: &DeInteger<'_>) -> Option<String> {
    if integer.radix() == 10 {
        return Some(integer.as_str().to_owned());
    }
    let value = u128::from_str_radix(integer.as_str(), integer.radix());
    value.ok().map(|value| value.to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use miette::NamedSource;
    use toml::de::DeTable;

    use super::*;

    fn json(toml: &str) -> Result<String, String> {
        let text = format!("x = {toml}");
        let source = NamedSource::new("t.toml", Arc::from(text.as_str()));
        let table = DeTable::parse(&text).unwrap();
        let reading = FixtureReader::new(source, Vec::new());
        let made = fragment(&reading, &table.get_ref()["x"]);
        let (problems, _) = reading.finish();
        assert_eq!(made.is_none(), !problems.is_empty());
        made.map(Fragment::into_string)
            .ok_or_else(|| problems[0].to_string())
    }

    #[test]
    fn values_keep_what_was_written() {
        let check = |toml: &str, expected: &str| assert_eq!(json(toml).unwrap(), expected);
        check("1", "1");
        check("+7", "7");
        check("-0", "-0");
        check("1_000_000", "1000000");
        check("0xff", "255");
        check("0o17", "15");
        check("0b101", "5");
        check("9223372036854775807", "9223372036854775807");
        check("18446744073709551616", "18446744073709551616");
        check(
            "123456789012345678901234567890123456789012345",
            "123456789012345678901234567890123456789012345",
        );
        check("1.0", "1.0");
        check("+0.50", "0.50");
        check("1e400", "1e400");
        check("6.62E-3_4", "6.62E-34");
        check("true", "true");
        check(r#""a\nb \"é\" \u0000""#, r#""a\nb \"é\" \u0000""#);
        check("'C:\\x'", r#""C:\\x""#);
        check("2026-11-21T20:00:00Z", r#""2026-11-21T20:00:00Z""#);
        check("1979-05-27", r#""1979-05-27""#);
        check("07:32:00.5", r#""07:32:00.5""#);
        check("[1, 'a', [], {}]", r#"[1,"a",[],{}]"#);
        check(
            "{ z = 1, a = { y = [{ b = 1, a = 2 }], b = true }, 'k k' = '' }",
            r#"{"z":1,"a":{"y":[{"b":1,"a":2}],"b":true},"k k":""}"#,
        );
    }

    #[test]
    fn what_json_cannot_say_is_refused() {
        for toml in ["inf", "-inf", "nan", "[1, inf]", "{ a = nan }"] {
            assert_eq!(json(toml).unwrap_err(), "JSON has no such number", "{toml}");
        }
        let too_large = format!("0x{}", "f".repeat(33));
        assert_eq!(json(&too_large).unwrap_err(), "JSON has no such number");
    }
}
