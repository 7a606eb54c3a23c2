//! A cursor over one table of a fixture: what may stand in it, and the places of what does.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashSet;
use std::ops::Range;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::errors::{FixtureProblem, FixtureSource};
use super::section::FixtureSection;
use crate::findings::printable;
use crate::policy::table::kind;

/// So that no sum of a moment and of what a test moves it by leaves the calendar.
const LONGEST: Duration = Duration::from_hours(100 * 366 * 24);

/// One fixture while it is read; gathers what is wrong with it.
pub(super) struct FixtureReader {
    pub(super) source: FixtureSource,
    /// Where text could not be read; what touches these places says nothing.
    broken: Vec<Range<usize>>,
    problems: RefCell<Vec<FixtureProblem>>,
    /// Where lines end: a fixture may have as many tests as lines.
    line_ends: Vec<usize>,
    /// The policies that tests name, to be looked up once there are policies.
    named: RefCell<Vec<Spanned<String>>>,
}

/// One table, all of whose keys are known ones.
pub(super) struct FixtureTable<'t> {
    pub(super) reading: &'t FixtureReader,
    /// Where reports point when something is missing.
    pub(super) place: Range<usize>,
    entries: &'t DeTable<'t>,
}

pub(super) type FixtureValue<'t> = Spanned<DeValue<'t>>;

impl FixtureReader {
    pub(super) fn new(source: FixtureSource, syntax_errors: Vec<toml::de::Error>) -> Self {
        let text = source.inner().as_bytes();
        let line_ends = memchr::memchr_iter(b'\n', text).collect();
        let mut reading = Self {
            source,
            line_ends,
            broken: Vec::new(),
            problems: RefCell::default(),
            named: RefCell::default(),
        };
        for error in syntax_errors {
            let place = error.span().unwrap_or_default();
            reading.tell(&place, "test::syntax", error.message().to_owned(), None);
            reading.broken.push(place);
        }
        reading
    }

    /// Something is wrong at a place.
    pub(super) fn tell(
        &self,
        place: &Range<usize>,
        code: &'static str,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        let touches =
            |broken: &Range<usize>| broken.start <= place.end && place.start <= broken.end;
        // What the parser lost may well have held what is missing, and what it put in the place of
        // it has a type that no author wrote.
        let guessed = matches!(code, "test::required" | "test::type");
        let lost = guessed && !self.broken.is_empty();
        if lost || self.broken.iter().any(touches) {
            return;
        }
        let mut problem = FixtureProblem::new(code, message).at(&self.source, place.clone());
        problem.help = help.map(|help| printable(&help));
        self.problems.borrow_mut().push(problem);
    }

    pub(super) fn wrong_type(&self, value: &FixtureValue<'_>, expected: &str) {
        let message = format!("expected {expected}, found {}", kind(value.get_ref()));
        self.tell(&value.span(), "test::type", message, None);
    }

    /// A test names policies.
    pub(super) fn name(&self, policies: &[Spanned<String>]) {
        self.named.borrow_mut().extend_from_slice(policies);
    }

    /// Everything that is wrong, and the policies that are named.
    pub(super) fn finish(self) -> (Vec<FixtureProblem>, Vec<Spanned<String>>) {
        (self.problems.into_inner(), self.named.into_inner())
    }
}

impl<'t> FixtureTable<'t> {
    /// Reports every key that the section does not have.
    pub(super) fn new(
        reading: &'t FixtureReader,
        section: FixtureSection,
        place: Range<usize>,
        table: &'t DeTable<'t>,
    ) -> Self {
        for (key, _) in table {
            if !section.has(key.get_ref()) {
                let (message, help) = section.about_unknown(key.get_ref());
                reading.tell(&key.span(), "test::unknown_key", message, Some(help));
            }
        }
        Self {
            reading,
            place,
            entries: table,
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&'t FixtureValue<'t>> {
        self.entries.get(key)
    }

    /// A string.
    pub(super) fn text(&self, key: &str) -> Option<Spanned<String>> {
        self.reading.text(self.get(key)?)
    }

    /// An array of strings.
    pub(super) fn texts(&self, key: &str) -> Option<Vec<Spanned<String>>> {
        self.reading.texts(self.get(key)?)
    }

    /// A whole number within 64 bits.
    pub(super) fn integer(&self, key: &str) -> Option<i64> {
        self.reading.integer(self.get(key)?)
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        let value = self.get(key)?;
        let DeValue::Boolean(flag) = value.get_ref() else {
            self.reading.wrong_type(value, "`true` or `false`");
            return None;
        };
        Some(*flag)
    }

    /// How long something takes: `"90s"`, `"5m"`, `"1h 30m"`.
    pub(super) fn duration(&self, key: &str) -> Option<Duration> {
        let (text, read) = self.read_duration(key)?;
        let duration = Duration::try_from(read).ok();
        if duration.is_none() {
            self.no_duration(key, &text, "and no time that passes is negative");
        }
        duration
    }

    /// How much earlier, or later, something is than something else.
    pub(super) fn signed_duration(&self, key: &str) -> Option<SignedDuration> {
        self.read_duration(key).map(|(_, duration)| duration)
    }

    fn read_duration(&self, key: &str) -> Option<(Spanned<String>, SignedDuration)> {
        let text = self.text(key)?;
        let read = text.get_ref().parse::<SignedDuration>().ok();
        let duration = read.filter(|duration| duration.unsigned_abs() <= LONGEST);
        if duration.is_none() {
            self.no_duration(key, &text, "which is no duration");
        }
        Some((text, duration?))
    }

    fn no_duration(&self, key: &str, text: &Spanned<String>, why: &str) {
        let message = format!("`{key}` is `{}`, {why}", text.get_ref());
        let help = Some("as in `90s`, `5m` or `2h`; at most 100 years".to_owned());
        self.reading
            .tell(&text.span(), "test::value", message, help);
    }

    /// A moment.
    pub(super) fn time(&self, key: &str) -> Option<Timestamp> {
        let value = self.get(key)?;
        let DeValue::Datetime(time) = value.get_ref() else {
            self.reading
                .wrong_type(value, "a date and time without quotes");
            return None;
        };
        let moment = time.to_string().parse::<Timestamp>();
        if moment.is_err() {
            let message = "this is no moment: it needs a date, a time and an offset";
            let help = Some("as in `2026-11-21T20:00:00Z`".to_owned());
            self.reading
                .tell(&value.span(), "test::value", message, help);
        }
        moment.ok()
    }

    /// A table whose keys the section knows.
    pub(super) fn table(
        &self,
        key: &str,
        section: FixtureSection,
        expected: &str,
    ) -> Option<FixtureTable<'t>> {
        let value = self.get(key)?;
        let DeValue::Table(table) = value.get_ref() else {
            self.reading.wrong_type(value, expected);
            return None;
        };
        Some(FixtureTable::new(
            self.reading,
            section,
            value.span(),
            table,
        ))
    }

    /// A table whose keys the author chooses.
    pub(super) fn any_table(&self, key: &str) -> Option<&'t DeTable<'t>> {
        let value = self.get(key)?;
        let DeValue::Table(table) = value.get_ref() else {
            self.reading.wrong_type(value, "a table");
            return None;
        };
        Some(table)
    }

    /// The line on which the table begins, from 1.
    pub(super) fn line(&self) -> usize {
        self.reading.line_of(self.place.start)
    }

    /// Says that something which has to be there is missing.
    pub(super) fn require(&self, what: &str, help: &str) {
        let message = format!("{what} is missing");
        self.tell("test::required", message, help);
    }

    /// Says that the table as a whole is wrong.
    pub(super) fn tell(&self, code: &'static str, message: impl Into<String>, help: &str) {
        self.reading
            .tell(&self.place, code, message, Some(help.to_owned()));
    }
}

impl FixtureReader {
    /// The line of a place, from 1.
    pub(super) fn line_of(&self, offset: usize) -> usize {
        self.line_ends.partition_point(|end| *end < offset) + 1
    }

    /// A whole number within 64 bits.
    pub(super) fn integer(&self, value: &FixtureValue<'_>) -> Option<i64> {
        let DeValue::Integer(integer) = value.get_ref() else {
            self.wrong_type(value, "a whole number");
            return None;
        };
        let number = i64::from_str_radix(integer.as_str(), integer.radix());
        if number.is_err() {
            let message = "does not fit 64 bits";
            self.tell(&value.span(), "test::value", message, None);
        }
        number.ok()
    }

    /// An array of strings, none of them twice.
    pub(super) fn texts(&self, value: &FixtureValue<'_>) -> Option<Vec<Spanned<String>>> {
        let DeValue::Array(items) = value.get_ref() else {
            self.wrong_type(value, "an array of strings");
            return None;
        };
        let texts: Vec<_> = items.iter().filter_map(|item| self.text(item)).collect();
        let mut seen = HashSet::new();
        for text in texts.iter().filter(|text| !seen.insert(text.get_ref())) {
            let message = format!("`{}` stands here twice", text.get_ref());
            self.tell(&text.span(), "test::duplicate_name", message, None);
        }
        Some(texts)
    }

    pub(super) fn text(&self, value: &FixtureValue<'_>) -> Option<Spanned<String>> {
        let DeValue::String(text) = value.get_ref() else {
            self.wrong_type(value, "a string");
            return None;
        };
        Some(Spanned::new(value.span(), text.clone().into_owned()))
    }
}

/// The entries of a table in the order in which they were written.
pub(super) fn in_order<'t>(
    table: &'t DeTable<'t>,
) -> Vec<(&'t Spanned<Cow<'t, str>>, &'t FixtureValue<'t>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// Without their places.
pub(super) fn plain(texts: Vec<Spanned<String>>) -> Vec<String> {
    texts.into_iter().map(Spanned::into_inner).collect()
}
