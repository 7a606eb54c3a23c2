//! What a test begins with: what its session has been through, and what a human has answered.

use std::collections::BTreeMap;
use std::sync::Arc;

use miette::NamedSource;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::errors::{FixtureErrors, FixtureProblem};
use super::fixture::{ConsentAnswer, ConsentSource, PersonReply, StartState};
use super::printable::with_places_kept;
use super::section::FixtureSection;
use super::table::plain;
use super::table::{FixtureReader, FixtureTable};
use crate::policy::{
    DATASET_NAMES, SERVER_KEYS, ServerKey, UNKNOWN_DATASET, UNKNOWN_SERVER, is_dataset, opened_as,
};

/// The words of `tools.toml` for sensitivity, and the numbers that policies see.
const LEVELS: [(&str, i64); 4] = [
    ("public", 0),
    ("internal", 1),
    ("confidential", 2),
    ("secret", 3),
];

/// What people say when they are asked.
const SAYS: [(&str, PersonReply); 3] = [
    ("approve", PersonReply::Yes),
    ("deny", PersonReply::No),
    ("timeout", PersonReply::Nothing),
];

/// What a session has been through and what a human has answered, as a test writes both: one TOML
/// table each.
///
/// # Errors
/// Everything that is wrong with them, at once.
pub fn read_start(
    session: Option<&str>,
    consent: Option<&str>,
) -> Result<StartState, FixtureErrors> {
    let tables = [("session", session), ("consent", consent)];
    let wrong = tables
        .iter()
        .filter_map(|(key, table)| no_table(key, (*table)?));
    let problems: Vec<FixtureProblem> = wrong.collect();
    if !problems.is_empty() {
        return Err(FixtureErrors { problems });
    }
    let lines = tables
        .iter()
        .filter_map(|(key, table)| table.map(|table| format!("{key} = {table}\n")));
    let text: String = lines.collect();
    let (table, errors) = DeTable::parse_recoverable(&text);
    let source = NamedSource::new("options", Arc::from(with_places_kept(&text)));
    let reading = FixtureReader::new(source, errors);
    let start = {
        let top = FixtureTable::new(&reading, FixtureSection::Test, 0..0, table.get_ref());
        let mut start = start(&top);
        // The message is explained as the gate would find it.
        start.links = None;
        if let (Some(ConsentSource::Asked(_)), Some(value)) = (&start.consent, top.get("consent")) {
            let message = "no person is asked here: this explains one decision".to_owned();
            let help = "say what is so, as in `{ by = \"alice\" }`".to_owned();
            reading.tell(&value.span(), "test::value", message, Some(help));
        }
        start
    };
    match reading.finish() {
        (problems, _) if problems.is_empty() => Ok(start),
        (problems, _) => Err(FixtureErrors { problems }),
    }
}

/// A bare word would be told as a number that is none. Strings are for the reader to refuse.
pub(super) fn no_table(key: &str, given: &str) -> Option<FixtureProblem> {
    let example = match key {
        "consent" => "{ scope = \"writes\", by = \"alice\", age = \"2m\" }",
        "claims" => "{ tools = [\"read_file\"], tier = \"gold\" }",
        _ => "{ level = \"confidential\", calls = 3 }",
    };
    let is_value = given.trim_start().starts_with(['{', '"', '\'']);
    (!is_value).then(|| {
        let message = format!("`--{key}` is no table: `{given}`");
        let help = format!("write it as a test does: `--{key} '{example}'`");
        FixtureProblem::new("test::value", message).with_help(help)
    })
}

pub(super) fn start(test: &FixtureTable<'_>) -> StartState {
    let mut start = StartState {
        consent: consent(test),
        links: Some(Arc::new(links(test))),
        ..StartState::default()
    };
    let expected = "a table such as `{ level = \"confidential\" }`";
    let Some(session) = test.table("session", FixtureSection::Session, expected) else {
        return start;
    };
    start.level = level(&session).unwrap_or_default();
    start.labels = plain(session.texts("labels").unwrap_or_default());
    start.datasets = datasets(&session);
    start.untrusted_from = servers(&session, "untrusted_from");
    start.untrusted = session
        .flag("untrusted")
        .unwrap_or(!start.untrusted_from.is_empty());
    start.sources = servers(&session, "sources");
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

/// The data sets that the session has read.
fn datasets(session: &FixtureTable<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for name in session.texts("datasets").unwrap_or_default() {
        let (text, place) = (name.get_ref(), name.span());
        if text == UNKNOWN_DATASET || is_dataset(text) {
            names.push(text.clone());
            continue;
        }
        let message = format!("`{text}` is no name of a data set");
        let help = format!("`{UNKNOWN_DATASET}`, or {DATASET_NAMES}");
        let reading = session.reading;
        reading.tell(&place, "test::value", message, Some(help));
    }
    names
}

/// Keys of servers.
fn servers(session: &FixtureTable<'_>, key: &'static str) -> Vec<String> {
    let mut keys = Vec::new();
    for name in session.texts(key).unwrap_or_default() {
        let (text, place) = (name.get_ref(), name.span());
        if text == UNKNOWN_SERVER || ServerKey::of(text).is_some() {
            keys.push(text.clone());
            continue;
        }
        let message = format!("`{}` is no key of a server", text.escape_debug());
        let help = format!("as in `[servers.crm]`: {SERVER_KEYS}; or `{UNKNOWN_SERVER}`");
        let reading = session.reading;
        reading.tell(&place, "test::value", message, Some(help));
    }
    keys
}

/// The symbolic links of the server's disk, by their paths.
fn links(test: &FixtureTable<'_>) -> BTreeMap<String, String> {
    let mut links = BTreeMap::new();
    for (path, target) in test.any_table("links").into_iter().flatten() {
        let at = path.get_ref().to_string();
        let Some(target) = test.reading.text(target) else {
            continue;
        };
        if opened_as(&at) != [at.clone()] {
            let message = format!("`{at}` is no path in its one spelling");
            let help =
                "write it as in `{ \"/srv/work/link\" = \"/srv/work/customers\" }`".to_owned();
            let place = path.span();
            test.reading
                .tell(&place, "test::value", message, Some(help));
        } else if target.get_ref().is_empty() {
            let message = "a link leads somewhere".to_owned();
            test.reading
                .tell(&target.span(), "test::value", message, None);
        } else {
            links.insert(at, target.into_inner());
        }
    }
    links
}

/// A number, or the word that the host uses for it.
fn level(session: &FixtureTable<'_>) -> Option<i64> {
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
pub(super) fn consent(table: &FixtureTable<'_>) -> Option<ConsentSource> {
    let value = table.get("consent")?;
    if let DeValue::String(_) = value.get_ref() {
        let word = table.reading.text(value)?;
        return table.reading.word(&word, &SAYS).map(ConsentSource::Asked);
    }
    let expected = "`\"approve\"`, `\"deny\"` or `\"timeout\"`, or a table such as \
                    `{ scope = \"writes\", by = \"alice\", age = \"2m\" }`";
    let consent = table.table("consent", FixtureSection::Consent, expected)?;
    Some(ConsentSource::Fact(ConsentAnswer {
        granted: consent.get("granted").is_none() || consent.flag("granted")?,
        scope: consent
            .text("scope")
            .map(Spanned::into_inner)
            .unwrap_or_default(),
        by: consent.text("by").map(Spanned::into_inner),
        age: consent.signed_duration("age").unwrap_or_default(),
    }))
}
