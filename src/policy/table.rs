//! One table of a TOML file beside or of the policies: keys are taken by name, and the rest is
//! unknown.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::suggest::{did_you_mean, list};
use super::{PolicyProblem, PolicySource};

/// A table, its name in reports, and where its problems go.
pub(crate) struct TomlTable<'p, 't> {
    source: &'t PolicySource,
    /// The code of its problems.
    code: &'static str,
    /// Dotted; empty for the file itself.
    path: String,
    keys: &'t DeTable<'t>,
    problems: &'p mut Vec<PolicyProblem>,
    asked: Vec<&'static str>,
}

/// A value with its name in reports.
pub(crate) struct TomlField<'t> {
    pub(crate) path: String,
    pub(crate) place: Range<usize>,
    pub(crate) value: &'t DeValue<'t>,
}

/// A text and its place.
pub(crate) type SpannedText = (String, Range<usize>);

/// The tree of a file, if it is one.
pub(crate) fn parse<'s>(
    source: &'s PolicySource,
    code: &'static str,
    problems: &mut Vec<PolicyProblem>,
) -> Option<Spanned<DeTable<'s>>> {
    let told = |error: toml::de::Error| {
        let message = error.message().trim_end_matches('.');
        let problem = PolicyProblem::error(code, message).in_source(source);
        problems.push(match error.span() {
            Some(span) => problem.at(span, "here"),
            None => problem,
        });
    };
    DeTable::parse(&source.text).map_err(told).ok()
}

impl<'p, 't> TomlTable<'p, 't> {
    pub(crate) fn new(
        source: &'t PolicySource,
        code: &'static str,
        keys: &'t DeTable<'t>,
        problems: &'p mut Vec<PolicyProblem>,
    ) -> Self {
        Self {
            source,
            code,
            path: String::new(),
            keys,
            problems,
            asked: Vec::new(),
        }
    }

    pub(crate) fn source(&self) -> &'t PolicySource {
        self.source
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.keys.contains_key(key)
    }

    pub(crate) fn take(&mut self, key: &'static str) -> Option<TomlField<'t>> {
        self.asked.push(key);
        let value = self.keys.get(key)?;
        Some(TomlField {
            path: self.name(key),
            place: value.span(),
            value: value.get_ref(),
        })
    }

    /// Every entry of the table, for one whose keys are names.
    pub(crate) fn entries(&self) -> Vec<(String, Range<usize>, TomlField<'t>)> {
        let entries = self.keys.iter().map(|(key, value)| {
            let field = TomlField {
                path: self.name(key.get_ref()),
                place: value.span(),
                value: value.get_ref(),
            };
            (key.get_ref().to_string(), key.span(), field)
        });
        let mut entries: Vec<_> = entries.collect();
        entries.sort_by_key(|(_, place, _)| place.start);
        entries
    }

    /// The table below a key.
    pub(crate) fn table<'s>(&'s mut self, key: &'static str) -> Option<TomlTable<'s, 't>> {
        let field = self.take(key)?;
        self.inside(field)
    }

    /// The table that a field holds, which is a problem if it holds none.
    pub(crate) fn inside<'s>(&'s mut self, field: TomlField<'t>) -> Option<TomlTable<'s, 't>> {
        let Some(keys) = field.value.as_table() else {
            self.wrong(&field, "a table");
            return None;
        };
        Some(TomlTable {
            source: self.source,
            code: self.code,
            path: field.path,
            keys,
            problems: &mut *self.problems,
            asked: Vec::new(),
        })
    }

    /// The tables of `[[key]]`.
    #[cfg(feature = "cel")]
    pub(crate) fn tables(&mut self, key: &'static str) -> Vec<(Range<usize>, &'t DeTable<'t>)> {
        let Some(field) = self.take(key) else {
            return Vec::new();
        };
        let Some(items) = field.value.as_array() else {
            self.wrong(&field, "`[[…]]`, once for each");
            return Vec::new();
        };
        let mut tables = Vec::new();
        for item in items {
            match item.get_ref().as_table() {
                Some(table) => tables.push((item.span(), table)),
                None => self.report(item.span(), &format!("`{key}` has to be a table"), None),
            }
        }
        tables
    }

    pub(crate) fn string(&mut self, key: &'static str) -> Option<SpannedText> {
        let field = self.take(key)?;
        let Some(text) = field.value.as_str() else {
            self.wrong(&field, "a string");
            return None;
        };
        Some((text.to_owned(), field.place))
    }

    /// A string that is not empty.
    #[cfg(feature = "cel")]
    pub(crate) fn text(&mut self, key: &'static str) -> Option<SpannedText> {
        let field = self.take(key)?;
        let text = field.value.as_str().filter(|text| !text.is_empty());
        if text.is_none() {
            self.wrong(&field, "a string that is not empty");
        }
        Some((text?.to_owned(), field.place))
    }

    /// Strings, at least one; `None` if the key is not there.
    #[cfg(feature = "cel")]
    pub(crate) fn texts(&mut self, key: &'static str) -> Option<Vec<SpannedText>> {
        let field = self.take(key)?;
        let texts = texts_in(field.value).filter(|texts| !texts.is_empty());
        if texts.is_none() {
            self.wrong(&field, "an array of strings that is not empty");
        }
        Some(texts.unwrap_or_default())
    }

    /// A string or any number of them.
    pub(crate) fn strings(&mut self, key: &'static str) -> Vec<SpannedText> {
        match self.take(key) {
            Some(field) => self.strings_of(&field),
            None => Vec::new(),
        }
    }

    /// The same of one field.
    pub(crate) fn strings_of(&mut self, field: &TomlField<'t>) -> Vec<SpannedText> {
        if let Some(text) = field.value.as_str() {
            return vec![(text.to_owned(), field.place.clone())];
        }
        let texts = texts_in(field.value);
        if texts.is_none() {
            self.wrong(field, "a string or an array of strings");
        }
        texts.unwrap_or_default()
    }

    /// The same without their places.
    pub(crate) fn names(&mut self, key: &'static str) -> Vec<String> {
        let names = self.strings(key);
        names.into_iter().map(|(name, _)| name).collect()
    }

    /// Where an array without items stands.
    pub(crate) fn empty_array(&self, key: &str) -> Option<Range<usize>> {
        let value = self.keys.get(key)?;
        let items = value.get_ref().as_array()?;
        items.is_empty().then(|| value.span())
    }

    pub(crate) fn boolean(&mut self, key: &'static str) -> Option<bool> {
        let field = self.take(key)?;
        let value = field.value.as_bool();
        if value.is_none() {
            self.wrong(&field, "`true` or `false`");
        }
        value
    }

    pub(crate) fn integer(&mut self, key: &'static str) -> Option<i64> {
        let field = self.take(key)?;
        let value = field
            .value
            .as_integer()
            .and_then(|value| i64::from_str_radix(value.as_str(), value.radix()).ok());
        if value.is_none() {
            self.wrong(&field, "an integer");
        }
        value
    }

    /// A string that is one of a few words.
    pub(crate) fn word<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&'static str, T)],
    ) -> Option<T> {
        let field = self.take(key)?;
        let Some(text) = field.value.as_str() else {
            let known = list(words.iter().map(|(word, _)| word));
            self.wrong(&field, &format!("one of {known}"));
            return None;
        };
        self.word_of(text, field.place, words)
    }

    /// One of a few words.
    pub(crate) fn word_of<T: Copy>(
        &mut self,
        text: &str,
        place: Range<usize>,
        words: &[(&'static str, T)],
    ) -> Option<T> {
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let known = || words.iter().map(|(word, _)| *word);
        let help = did_you_mean(text, known())
            .unwrap_or_else(|| format!("one of {} is meant", list(known())));
        let message = format!("`{}` is not known here", text.escape_debug());
        self.report(place, &message, Some(help));
        None
    }

    /// Whatever was not asked for is unknown.
    pub(crate) fn finish(mut self) {
        for (key, place, field) in self.entries() {
            if self.asked.contains(&key.as_str()) {
                continue;
            }
            let help = if key == "name" && self.asked.contains(&"id") {
                Some("did you mean `id`?".to_owned())
            } else {
                did_you_mean(&key, self.asked.iter().copied())
            };
            let help = help.unwrap_or_else(|| format!("the keys here are {}", list(&self.asked)));
            let message = format!("`{}` is no known key", field.path.escape_debug());
            self.report(place, &message, Some(help));
        }
    }

    pub(crate) fn report(&mut self, place: Range<usize>, message: &str, help: Option<String>) {
        self.report_as(self.code, place, message, help);
    }

    /// Reports under a code other than that of the table.
    pub(crate) fn report_as(
        &mut self,
        code: &'static str,
        place: Range<usize>,
        message: &str,
        help: Option<String>,
    ) {
        let mut problem = PolicyProblem::error(code, message).in_source(self.source);
        problem.help = help;
        self.problems.push(problem.at(place, "here"));
    }

    fn wrong(&mut self, field: &TomlField<'t>, wanted: &str) {
        let message = format!("`{}` has to be {wanted}", field.path);
        self.report(field.place.clone(), &message, None);
    }

    fn name(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }
}

fn texts_in(value: &DeValue<'_>) -> Option<Vec<SpannedText>> {
    let text =
        |item: &Spanned<DeValue<'_>>| Some((item.get_ref().as_str()?.to_owned(), item.span()));
    value.as_array()?.iter().map(text).collect()
}

/// The type of a value, for reports.
pub(crate) fn kind(value: &DeValue<'_>) -> &'static str {
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
