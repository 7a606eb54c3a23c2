//! What a test begins with: what its session has been through, and what a human has answered.

use toml::Spanned;
use toml::de::DeValue;

use super::fixture::{Answered, Start};
use super::read::plain;
use super::section::Section;
use super::table::Table;

/// The words of `tools.toml` for sensitivity, and the numbers that policies see.
const LEVELS: [(&str, i64); 4] = [
    ("public", 0),
    ("internal", 1),
    ("confidential", 2),
    ("secret", 3),
];

pub(super) fn start(test: &Table<'_>) -> Start {
    let mut start = Start {
        consent: consent(test),
        ..Start::default()
    };
    let expected = "a table such as `{ level = \"confidential\" }`";
    let Some(session) = test.table("session", Section::Session, expected) else {
        return start;
    };
    start.level = level(&session).unwrap_or_default();
    start.labels = plain(session.texts("labels").unwrap_or_default());
    start.untrusted = session.flag("untrusted").unwrap_or_default();
    start.calls = session.integer("calls").unwrap_or_default();
    start.age = session.duration("age").unwrap_or_default();
    if start.calls < 0 {
        session.tell(
            "test::value",
            "no session has fewer calls than none",
            "write a number from 0",
        );
    }
    start
}

/// A number, or the word that the host uses for it.
fn level(session: &Table<'_>) -> Option<i64> {
    let value = session.get("level")?;
    if let DeValue::String(_) = value.get_ref() {
        let word = session.reading.text(value)?;
        return session.reading.word(&word, &LEVELS);
    }
    let level = session.integer("level")?;
    if LEVELS.iter().any(|(_, number)| *number == level) {
        return Some(level);
    }
    let message = format!("there is no level {level}");
    let help = "0 is `public`, 1 `internal`, 2 `confidential`, 3 `secret`".to_owned();
    session
        .reading
        .tell(&value.span(), "test::value", message, Some(help));
    None
}

/// What a human has answered, where the test or step says so.
pub(super) fn consent(table: &Table<'_>) -> Option<Answered> {
    let expected = "a table such as `{ scope = \"writes\", by = \"alice\", age = \"2m\" }`";
    let consent = table.table("consent", Section::Consent, expected)?;
    Some(Answered {
        granted: consent.get("granted").is_none() || consent.flag("granted")?,
        scope: consent
            .text("scope")
            .map(Spanned::into_inner)
            .unwrap_or_default(),
        by: consent.text("by").map(Spanned::into_inner),
        age: consent.duration("age").unwrap_or_default(),
    })
}
