//! `consent` of an agent in `agents.toml`.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::policy::StandingConsent;
use crate::policy::table::TomlTable;

const EXAMPLE: &str =
    "consent = { standing = true, by = \"security@example.com\", until = \"2027-01-31\" }";

/// The longest name of a person who approves, in bytes: it stands in each record.
const LONGEST: usize = 256;

/// Who has agreed to all samples of the agent, and until when. Half of it is none.
pub(super) fn read(agent: &mut TomlTable<'_, '_>) -> Option<StandingConsent> {
    let field = agent.take("consent")?;
    let place = field.place.clone();
    let mut consent = agent.inside(field)?;
    for (key, what) in [
        ("standing", "`true`"),
        ("by", "the person who has agreed"),
        ("until", "the time at which the approval ends"),
    ] {
        if !consent.has(key) {
            let message = format!("`consent` lacks `{key}`: {what}");
            let help = format!("write `{EXAMPLE}`; without `consent` a person is asked each time");
            consent.report(place.clone(), &message, Some(help));
        }
    }
    let stands = consent.boolean("standing");
    if stands == Some(false) {
        let help = "leave `consent` out: then a person is asked each time";
        consent.report(place, "`standing` has to be `true`", Some(help.to_owned()));
    }
    let by = consent.string("by");
    let until = consent.string("until");
    let by = by.and_then(|(by, place)| {
        let is_name =
            !by.trim().is_empty() && by.len() <= LONGEST && !by.chars().any(char::is_control);
        if !is_name {
            let message = format!(
                "`by` has to name a person, in 1 to {LONGEST} bytes without control characters"
            );
            consent.report(place, &message, Some(format!("for example `{EXAMPLE}`")));
        }
        is_name.then_some(by)
    });
    let until_ms = until.and_then(|(until, place)| {
        let read = ends_at(&until);
        if read.is_none() {
            let message = format!("`{}` is no time", until.escape_debug());
            let help = "`until` is a day, at whose beginning in UTC the approval ends (\"2027-01-31\"), or \
                        a time with its offset (\"2027-01-31T12:00:00Z\")";
            consent.report(place, &message, Some(help.to_owned()));
        }
        read
    });
    consent.finish();
    Some(StandingConsent {
        by: by.filter(|_| stands == Some(true))?,
        until_ms: until_ms?,
    })
}

/// RFC 3339: a full date, or a date and time.
fn ends_at(text: &str) -> Option<i64> {
    let date = || {
        let date: Date = Some(text)
            .filter(|text| text.len() == "2027-01-31".len())?
            .parse()
            .ok()?;
        Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp())
    };
    let time = date().or_else(|| text.parse::<Timestamp>().ok())?;
    Some(time.as_millisecond())
}
