//! Times of arguments.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp};

/// An end of a time range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeBound {
    At(Timestamp),
    /// So long before the command runs.
    Ago(SignedDuration),
}

impl TimeBound {
    /// The time. An age beyond all times is the first one.
    pub fn resolve(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::Ago(age) => now.checked_sub(age).unwrap_or(Timestamp::MIN),
        }
    }
}

/// Parses a time in RFC 3339, a date (its first moment in UTC), or an age.
pub(super) fn time_bound(text: &str) -> Result<TimeBound, String> {
    let time = || text.parse().ok().map(TimeBound::At);
    time()
        .or_else(|| date(text))
        .or_else(|| age(text))
        .ok_or_else(|| {
            "write RFC 3339 (2026-11-21T20:14:00Z), a date (2026-11-21) or an age (90m, 24h, 7d)"
                .to_owned()
        })
}

fn date(text: &str) -> Option<TimeBound> {
    let date = Date::strptime("%Y-%m-%d", text).ok()?;
    let start = date.to_zoned(TimeZone::UTC).ok()?;
    Some(TimeBound::At(start.timestamp()))
}

fn age(text: &str) -> Option<TimeBound> {
    let span: Span = text.parse().ok()?;
    let age = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
    (!age.is_negative()).then_some(TimeBound::Ago(age))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_moment_a_date_or_an_age() {
        let now: Timestamp = "2026-11-21T20:00:00Z".parse().unwrap();
        let check = |text: &str, expected: Option<&str>| {
            let time = time_bound(text).map(|bound| bound.resolve(now).to_string());
            assert_eq!(time.ok().as_deref(), expected, "{text}");
        };
        check(
            "2026-11-21T20:14:03.5+01:00",
            Some("2026-11-21T19:14:03.5Z"),
        );
        check("2026-11-20", Some("2026-11-20T00:00:00Z"));
        check("90m", Some("2026-11-21T18:30:00Z"));
        check("24h", Some("2026-11-20T20:00:00Z"));
        check("7d", Some("2026-11-14T20:00:00Z"));
        check("1h30m", Some("2026-11-21T18:30:00Z"));
        check("9000000h", Some("1000-03-05T20:00:00Z"));
        for none in [
            "",
            "yesterday",
            "7",
            "-1h",
            "1h ago",
            "1y",
            "2026-11",
            "2026-13-01",
            "2026-11-21T20:14:03",
            "99999999999999999999h",
        ] {
            check(none, None);
        }
    }
}
