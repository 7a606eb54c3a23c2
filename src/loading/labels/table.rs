//! One table of a file of labels: keys are taken by name, and what is left is unknown.

use std::ops::Range;

use strsim::osa_distance;
use toml::de::{DeTable, DeValue};

use super::CODE;
use crate::policy::{PolicyProblem, PolicySource};

/// How different a key may be from the one that was perhaps meant.
const NEAR: usize = 3;

/// A table, its name in reports, and where its problems go.
pub(super) struct Table<'p, 't> {
    source: &'t PolicySource,
    /// Dotted; empty for the file itself.
    path: String,
    keys: &'t DeTable<'t>,
    problems: &'p mut Vec<PolicyProblem>,
    asked: Vec<&'static str>,
}

/// A value with its name in reports.
pub(super) struct Field<'t> {
    pub(super) path: String,
    pub(super) place: Range<usize>,
    pub(super) value: &'t DeValue<'t>,
}

impl<'p, 't> Table<'p, 't> {
    pub(super) fn root(
        source: &'t PolicySource,
        table: &'t DeTable<'t>,
        problems: &'p mut Vec<PolicyProblem>,
    ) -> Self {
        Self {
            source,
            path: String::new(),
            keys: table,
            problems,
            asked: Vec::new(),
        }
    }

    pub(super) fn source(&self) -> &'t PolicySource {
        self.source
    }

    /// Every entry of the table, for one whose keys are names.
    pub(super) fn entries(&self) -> Vec<(String, Range<usize>, Field<'t>)> {
        let mut entries: Vec<_> = self
            .keys
            .iter()
            .map(|(key, value)| {
                let field = Field {
                    path: self.name(key.get_ref()),
                    place: value.span(),
                    value: value.get_ref(),
                };
                (key.get_ref().to_string(), key.span(), field)
            })
            .collect();
        entries.sort_by_key(|(_, place, _)| place.start);
        entries
    }

    pub(super) fn take(&mut self, key: &'static str) -> Option<Field<'t>> {
        self.asked.push(key);
        let value = self.keys.get(key)?;
        Some(Field {
            path: self.name(key),
            place: value.span(),
            value: value.get_ref(),
        })
    }

    /// The table that a field holds, which is a problem if it holds none.
    pub(super) fn inside<'s>(&'s mut self, field: Field<'t>) -> Option<Table<'s, 't>> {
        let Some(table) = field.value.as_table() else {
            self.wrong(&field, "a table");
            return None;
        };
        Some(Table {
            source: self.source,
            path: field.path,
            keys: table,
            problems: &mut *self.problems,
            asked: Vec::new(),
        })
    }

    pub(super) fn strings(&mut self, key: &'static str) -> Vec<(String, Range<usize>)> {
        let Some(field) = self.take(key) else {
            return Vec::new();
        };
        if let Some(text) = field.value.as_str() {
            return vec![(text.to_owned(), field.place)];
        }
        let items = field.value.as_array().map(|items| {
            let text = |item: &toml::Spanned<DeValue<'t>>| {
                let text = item.get_ref().as_str()?;
                Some((text.to_owned(), item.span()))
            };
            items.iter().map(text).collect::<Option<Vec<_>>>()
        });
        let Some(Some(texts)) = items else {
            self.wrong(&field, "a string or an array of strings");
            return Vec::new();
        };
        texts
    }

    /// Strings whose places are not needed.
    pub(super) fn names(&mut self, key: &'static str) -> Vec<String> {
        let names = self.strings(key);
        names.into_iter().map(|(name, _)| name).collect()
    }

    /// Where an array without items stands.
    pub(super) fn empty_array(&self, key: &str) -> Option<Range<usize>> {
        let value = self.keys.get(key)?;
        let items = value.get_ref().as_array()?;
        items.is_empty().then(|| value.span())
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.keys.contains_key(key)
    }

    pub(super) fn string(&mut self, key: &'static str) -> Option<(String, Range<usize>)> {
        let field = self.take(key)?;
        let Some(text) = field.value.as_str() else {
            self.wrong(&field, "a string");
            return None;
        };
        Some((text.to_owned(), field.place))
    }

    pub(super) fn boolean(&mut self, key: &'static str) -> Option<bool> {
        let field = self.take(key)?;
        let value = field.value.as_bool();
        if value.is_none() {
            self.wrong(&field, "`true` or `false`");
        }
        value
    }

    pub(super) fn integer(&mut self, key: &'static str) -> Option<i64> {
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
    pub(super) fn one_of<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&'static str, T)],
    ) -> Option<T> {
        let field = self.take(key)?;
        let Some(text) = field.value.as_str() else {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.wrong(&field, &format!("one of {}", quoted(&known)));
            return None;
        };
        self.word(text, field.place, words)
    }

    /// One of a few words.
    pub(super) fn word<T: Copy>(
        &mut self,
        text: &str,
        place: Range<usize>,
        words: &[(&'static str, T)],
    ) -> Option<T> {
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let help =
            suggest(text, &known).unwrap_or_else(|| format!("one of {} is meant", quoted(&known)));
        self.report(place, &format!("`{text}` is not known here"), Some(help));
        None
    }

    /// Whatever was not asked for is unknown.
    pub(super) fn finish(self) {
        for (key, place, _) in self.entries() {
            if self.asked.contains(&key.as_str()) {
                continue;
            }
            let help = suggest(&key, &self.asked)
                .unwrap_or_else(|| format!("the keys here are {}", quoted(&self.asked)));
            let name = self.name(&key);
            let problem = PolicyProblem::error(CODE, format!("`{name}` is no known key"))
                .in_source(self.source)
                .at(place, "here")
                .with_help(help);
            self.problems.push(problem);
        }
    }

    pub(super) fn report(&mut self, place: Range<usize>, message: &str, help: Option<String>) {
        let problem = PolicyProblem::error(CODE, message)
            .in_source(self.source)
            .at(place, "here");
        self.problems.push(match help {
            Some(help) => problem.with_help(help),
            None => problem,
        });
    }

    fn wrong(&mut self, field: &Field<'t>, wanted: &str) {
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

fn suggest(given: &str, known: &[&str]) -> Option<String> {
    let nearest = known
        .iter()
        .map(|word| (osa_distance(given, word), word))
        .min()?;
    (nearest.0 <= NEAR).then(|| format!("did you mean `{}`?", nearest.1))
}

fn quoted(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}
