//! A cursor over one table of the file: asks for keys by name and remembers what it asked for, so
//! that reading a section documents it, and whatever was not asked for is an unknown key.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::de::{DeInteger, DeTable, DeValue};

use super::errors::{ConfigError, Reason};
use super::file::{Written, join};
use super::suggest;
use super::units;
use super::variables::{Text, TextSource, Variables, expand};

/// One pass over one file: collects problems, and learns which keys exist.
pub(super) struct Reading<'t> {
    written: &'t Written<'t>,
    variables: &'t Variables<'t>,
    pub(super) known: Known,
    /// The vocabulary of the format.
    pub(super) words: BTreeSet<&'static str>,
    /// Values that reports may show.
    pub(super) shown: Vec<Range<usize>>,
    pub(super) unknown: Vec<Unknown>,
    pub(super) problems: Vec<ConfigError>,
}

/// Every key that sections asked for, by section and key; `*` is a key that authors choose.
pub(super) type Known = BTreeMap<(String, &'static str), Availability>;

/// Whether a key can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Availability {
    Now,
    Later,
}

/// A key that nothing asked for.
#[derive(Debug)]
pub(super) struct Unknown {
    pub(super) section: String,
    pub(super) key: String,
    pub(super) place: Range<usize>,
}

/// One table, present or not; an absent one has no values.
pub(super) struct Section<'r, 't> {
    reading: &'r mut Reading<'t>,
    path: String,
    table: Option<&'t DeTable<'t>>,
    /// The key of the table itself.
    place: Option<Range<usize>>,
    asked: Vec<&'static str>,
    availability: Availability,
}

/// One value with its path and place.
#[derive(Clone)]
pub(super) struct Field<'t> {
    pub(super) path: String,
    pub(super) key: &'t str,
    place: Range<usize>,
    value: &'t DeValue<'t>,
}

/// Whether reports may show what stands in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Display {
    Shown,
    Hidden,
}

impl<'t> Reading<'t> {
    pub(super) fn new(written: &'t Written<'t>, variables: &'t Variables<'t>) -> Self {
        Self {
            written,
            variables,
            known: BTreeMap::new(),
            words: BTreeSet::new(),
            shown: Vec::new(),
            unknown: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// The file itself.
    pub(super) fn root<'r>(&'r mut self) -> Section<'r, 't> {
        let table = Some(&self.written.table);
        Section {
            reading: self,
            path: String::new(),
            table,
            place: None,
            asked: Vec::new(),
            availability: Availability::Now,
        }
    }

    fn tell(&mut self, field: &str, place: Option<Range<usize>>, reason: Reason, help: Help) {
        let missing = matches!(reason, Reason::Required | Reason::RequiredWhen(_));
        let label = if missing { "in this section" } else { "here" };
        self.problems.push(ConfigError {
            field: field.to_owned(),
            reason,
            help,
            labels: place.map(|place| (place, label)).into_iter().collect(),
            snippets: None,
        });
    }
}

pub(super) type Help = Option<String>;

impl<'t> Section<'_, 't> {
    /// A table inside this one.
    pub(super) fn section<'s>(&'s mut self, key: &'static str) -> Section<'s, 't> {
        let field = self.take(key);
        let path = join(&self.path, key);
        let place = field.as_ref().and_then(|_| self.key_place(key));
        let table = field.and_then(|field| {
            let DeValue::Table(table) = field.value else {
                self.wrong_type(&field, "a table");
                return None;
            };
            Some(table)
        });
        let availability = self.availability;
        Section {
            reading: &mut *self.reading,
            path,
            table,
            place,
            asked: Vec::new(),
            availability,
        }
    }

    /// From here on, keys of later versions are asked for: their values are checked, but they are
    /// no part of the published schema.
    pub(super) fn not_yet(&mut self) -> &mut Self {
        self.availability = Availability::Later;
        self
    }

    /// Whether the key was written at all, with a value of any kind.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.is_some_and(|table| table.contains_key(key))
    }

    /// Whether the table itself was written.
    pub(super) fn is_present(&self) -> bool {
        self.table.is_some()
    }

    /// A string that is no secret.
    pub(super) fn string(&mut self, key: &'static str) -> Option<Text> {
        let field = self.take(key)?;
        self.text(&field, Display::Shown)
    }

    /// A string that reports do not show.
    pub(super) fn secret(&mut self, key: &'static str) -> Option<Text> {
        let field = self.take(key)?;
        self.text(&field, Display::Hidden)
    }

    /// A path; a relative one starts at the directory of the file.
    pub(super) fn path(&mut self, key: &'static str, base: &Path) -> Option<PathBuf> {
        let text = self.string(key)?.value;
        if text.is_empty() || text.contains('\0') {
            self.refuse(key, Reason::Invalid("expected a path"), None);
            return None;
        }
        Some(base.join(text))
    }

    /// One of a few words.
    pub(super) fn one_of<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&'static str, T)],
    ) -> Option<T> {
        let field = self.take(key)?;
        let words = || choices.iter().map(|(word, _)| *word);
        self.reading.words.extend(words());
        // Only a known word is shown: a secret that slipped into the wrong field stays hidden in
        // the snippet. The message quotes what is not a word only if it stands in the file.
        let text = self.text(&field, Display::Hidden)?;
        if let Some((_, choice)) = choices.iter().find(|(word, _)| *word == text.value) {
            return Some(*choice);
        }
        let help = match suggest::nearest(&text.value, words()) {
            Some(word) => format!("did you mean `{word}`?"),
            None => format!("known values: {}", suggest::list(words())),
        };
        let quoted = (text.source == TextSource::Literal).then_some(text.value);
        self.tell(&field, Reason::UnknownValue(quoted), Some(help));
        None
    }

    /// A duration such as `"60s"`.
    pub(super) fn duration(
        &mut self,
        key: &'static str,
        range: &RangeInclusive<Duration>,
    ) -> Option<Duration> {
        let field = self.take(key)?;
        self.duration_in(&field, range)
    }

    /// A number of bytes: an integer, or a string such as `"4MiB"`.
    pub(super) fn size(&mut self, key: &'static str, range: &RangeInclusive<u64>) -> Option<usize> {
        let field = self.take(key)?;
        let value = if let DeValue::Integer(integer) = field.value {
            unsigned(integer)
        } else if let DeValue::String(_) = field.value {
            units::size(&self.text(&field, Display::Shown)?.value)
        } else {
            self.wrong_type(&field, "a size such as `\"4MiB\"`, or a number of bytes");
            return None;
        };
        self.reading.shown.push(field.place.clone());
        self.within(&field, value, range, |bytes| units::show_size(*bytes))
            .and_then(|bytes| usize::try_from(bytes).ok())
    }

    /// A whole number.
    pub(super) fn count(
        &mut self,
        key: &'static str,
        range: &RangeInclusive<u64>,
    ) -> Option<usize> {
        let field = self.take(key)?;
        let DeValue::Integer(integer) = field.value else {
            self.wrong_type(&field, "a whole number");
            return None;
        };
        self.reading.shown.push(field.place.clone());
        self.within(&field, unsigned(integer), range, ToString::to_string)
            .and_then(|count| usize::try_from(count).ok())
    }

    /// `true` and `false` by what they mean.
    pub(super) fn switch<T>(&mut self, key: &'static str, on: T, off: T) -> Option<T> {
        let field = self.take(key)?;
        let DeValue::Boolean(written) = field.value else {
            self.wrong_type(&field, "`true` or `false`");
            return None;
        };
        self.reading.shown.push(field.place.clone());
        Some(if *written { on } else { off })
    }

    /// The items of an array of strings, each to be read with [`Section::text`].
    pub(super) fn items(&mut self, key: &'static str, help: &str) -> Option<Vec<Field<'t>>> {
        let field = self.take(key)?;
        let DeValue::Array(items) = field.value else {
            let found = kind(field.value);
            let reason = Reason::WrongType {
                expected: "an array of strings",
                found,
            };
            self.tell(&field, reason, Some(help.to_owned()));
            return None;
        };
        let item = |(index, item): (usize, &'t toml::Spanned<DeValue<'t>>)| Field {
            path: format!("{}[{index}]", field.path),
            key: field.key,
            place: item.span(),
            value: item.get_ref(),
        };
        Some(items.iter().enumerate().map(item).collect())
    }

    /// All values of a table whose keys the author chooses, in their order in the file.
    pub(super) fn entries(&mut self) -> Vec<Field<'t>> {
        self.reading
            .known
            .insert((self.path.clone(), "*"), self.availability);
        let mut fields: Vec<_> = self
            .table
            .into_iter()
            .flatten()
            .map(|(key, value)| {
                let path = join(&self.path, key.get_ref());
                // Where the value is broken or hidden, the key still says what is meant.
                Field {
                    path,
                    key: key.get_ref(),
                    place: value.span(),
                    value: value.get_ref(),
                }
            })
            .filter(|field| !self.reading.written.is_broken(&field.place))
            .collect();
        fields.sort_by_key(|field| field.place.start);
        fields
    }

    /// Keys that later versions will have: refused, but not as unknown.
    pub(super) fn later(&mut self, keys: &[(&'static str, &'static str)]) {
        self.not_yet();
        for (key, what) in keys {
            if let Some(field) = self.take(key) {
                self.tell(
                    &field,
                    Reason::NotAvailable(what),
                    Some("remove it".to_owned()),
                );
            }
        }
    }

    /// Says that a key is missing.
    pub(super) fn require(&mut self, key: &'static str, reason: Reason, help: &str) {
        let path = join(&self.path, key);
        let place = self.place.clone();
        self.reading
            .tell(&path, place, reason, Some(help.to_owned()));
    }

    /// Says that the value of a key is wrong, or doubtful: the reason tells which.
    pub(super) fn refuse(&mut self, key: &str, reason: Reason, help: Option<&str>) {
        let path = join(&self.path, key);
        let place = self
            .table
            .and_then(|table| table.get(key))
            .map(toml::Spanned::span)
            .or_else(|| self.place.clone());
        if place
            .as_ref()
            .is_some_and(|place| self.reading.written.is_broken(place))
        {
            return;
        }
        self.reading
            .tell(&path, place, reason, help.map(str::to_owned));
    }

    /// Says that the whole section is wrong.
    pub(super) fn refuse_section(&mut self, reason: Reason, help: &str) {
        let place = self.place.clone();
        self.reading
            .tell(&self.path, place, reason, Some(help.to_owned()));
    }

    /// Says that one value is wrong, or doubtful.
    pub(super) fn tell(&mut self, field: &Field<'t>, reason: Reason, help: Help) {
        self.reading
            .tell(&field.path, Some(field.place.clone()), reason, help);
    }

    /// The text of a field, variables replaced.
    pub(super) fn text(&mut self, field: &Field<'t>, display: Display) -> Option<Text> {
        let DeValue::String(written) = field.value else {
            self.wrong_type(field, "a string");
            return None;
        };
        if display == Display::Shown {
            self.reading.shown.push(field.place.clone());
        }
        match expand(written, self.reading.variables) {
            Ok(text) => Some(text),
            Err(reasons) => {
                for reason in reasons {
                    let help = if let Reason::UndefinedVariable(name) = &reason {
                        format!("set `{name}`, or write `$${{` for a literal `${{`")
                    } else {
                        "write `${NAME}`, or `$${` for a literal `${`".to_owned()
                    };
                    self.tell(field, reason, Some(help));
                }
                None
            }
        }
    }

    /// The duration in a field.
    pub(super) fn duration_in(
        &mut self,
        field: &Field<'t>,
        range: &RangeInclusive<Duration>,
    ) -> Option<Duration> {
        if !matches!(field.value, DeValue::String(_)) {
            self.wrong_type(field, "a duration such as `\"60s\"`");
            return None;
        }
        let value = units::duration(&self.text(field, Display::Shown)?.value);
        self.within(field, value, range, |duration| {
            units::show_duration(*duration)
        })
    }

    /// Reports every key that nothing asked for.
    pub(super) fn finish(self) {
        let Some(table) = self.table else { return };
        for (key, _) in table {
            if self.asked.contains(&key.get_ref().as_ref())
                || self.reading.written.is_broken(&key.span())
            {
                continue;
            }
            self.reading.unknown.push(Unknown {
                section: self.path.clone(),
                key: key.get_ref().to_string(),
                place: key.span(),
            });
        }
    }

    /// The field of a key, unless it is absent or unreadable.
    fn take(&mut self, key: &'static str) -> Option<Field<'t>> {
        self.reading
            .known
            .insert((self.path.clone(), key), self.availability);
        self.reading.words.insert(key);
        self.asked.push(key);
        let (written, value) = self.table?.get_key_value(key)?;
        let field = Field {
            path: join(&self.path, key),
            key: written.get_ref(),
            place: value.span(),
            value: value.get_ref(),
        };
        let broken = self.reading.written.is_broken(&field.place)
            || self.reading.written.is_broken(&written.span());
        (!broken).then_some(field)
    }

    fn key_place(&self, key: &str) -> Option<Range<usize>> {
        self.table?.get_key_value(key).map(|(key, _)| key.span())
    }

    fn wrong_type(&mut self, field: &Field<'t>, expected: &'static str) {
        let found = kind(field.value);
        self.tell(field, Reason::WrongType { expected, found }, None);
    }

    fn within<T: PartialOrd>(
        &mut self,
        field: &Field<'t>,
        value: Result<T, Reason>,
        range: &RangeInclusive<T>,
        show: impl Fn(&T) -> String,
    ) -> Option<T> {
        let reason = match value {
            Ok(value) if range.contains(&value) => return Some(value),
            Ok(value) if value < *range.start() => Reason::BelowMinimum,
            Ok(_) => Reason::ExceedsMaximum,
            Err(reason) => reason,
        };
        let help = if reason == Reason::BelowMinimum {
            Some(format!("at least {}", show(range.start())))
        } else if reason == Reason::ExceedsMaximum {
            Some(format!("at most {}", show(range.end())))
        } else {
            None
        };
        self.tell(field, reason, help);
        None
    }
}

fn unsigned(integer: &DeInteger<'_>) -> Result<u64, Reason> {
    match i128::from_str_radix(integer.as_str(), integer.radix()) {
        Ok(number) if number < 0 => Err(Reason::BelowMinimum),
        Ok(number) => u64::try_from(number).map_err(|_| Reason::ExceedsMaximum),
        // More digits than any integer has; the sign is all that matters.
        Err(_) if integer.as_str().starts_with('-') => Err(Reason::BelowMinimum),
        Err(_) => Err(Reason::ExceedsMaximum),
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}
