//! One table of a file of rules: keys are taken by name, and what is left is unknown.

use std::ops::Range;

use strsim::osa_distance;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::policy::{PolicyProblem, PolicySource};

/// The code of what is wrong with a rule, but for its syntax and its length.
const CODE: &str = "policy::rule";

/// How different a word may be from the one that was perhaps meant.
const NEAR: usize = 3;

/// A table, and where its problems go.
pub(super) struct Table<'p, 't> {
    source: &'t PolicySource,
    keys: &'t DeTable<'t>,
    problems: &'p mut Vec<PolicyProblem>,
    asked: Vec<&'static str>,
}

/// A text and its place.
pub(super) type Text = (String, Range<usize>);

impl<'p, 't> Table<'p, 't> {
    pub(super) fn new(
        source: &'t PolicySource,
        keys: &'t DeTable<'t>,
        problems: &'p mut Vec<PolicyProblem>,
    ) -> Self {
        Self {
            source,
            keys,
            problems,
            asked: Vec::new(),
        }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.keys.contains_key(key)
    }

    /// The tables of `[[key]]`.
    pub(super) fn tables(&mut self, key: &'static str) -> Vec<(Range<usize>, &'t DeTable<'t>)> {
        let Some(value) = self.take(key) else {
            return Vec::new();
        };
        let Some(items) = value.get_ref().as_array() else {
            self.wrong(key, value.span(), "`[[…]]`, once for each");
            return Vec::new();
        };
        let mut tables = Vec::new();
        for item in items {
            match item.get_ref().as_table() {
                Some(table) => tables.push((item.span(), table)),
                None => self.wrong(key, item.span(), "a table"),
            }
        }
        tables
    }

    /// A text that is not empty.
    pub(super) fn text(&mut self, key: &'static str) -> Option<Text> {
        let value = self.take(key)?;
        let text = value.get_ref().as_str().filter(|text| !text.is_empty());
        if text.is_none() {
            self.wrong(key, value.span(), "a string that is not empty");
        }
        Some((text?.to_owned(), value.span()))
    }

    /// Texts, at least one; `None` if the key is not there.
    pub(super) fn texts(&mut self, key: &'static str) -> Option<Vec<Text>> {
        let value = self.take(key)?;
        let items = value.get_ref().as_array().map(|items| {
            let text = |item: &Spanned<DeValue<'t>>| {
                Some((item.get_ref().as_str()?.to_owned(), item.span()))
            };
            items.iter().map(text).collect::<Option<Vec<_>>>()
        });
        let texts = items.flatten().filter(|texts| !texts.is_empty());
        if texts.is_none() {
            self.wrong(key, value.span(), "an array of strings that is not empty");
        }
        Some(texts.unwrap_or_default())
    }

    pub(super) fn boolean(&mut self, key: &'static str) -> Option<bool> {
        let value = self.take(key)?;
        let boolean = value.get_ref().as_bool();
        if boolean.is_none() {
            self.wrong(key, value.span(), "`true` or `false`");
        }
        boolean
    }

    /// One of a few words.
    pub(super) fn word<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&'static str, T)],
    ) -> Option<T> {
        let (text, place) = self.text(key)?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let help = suggest(&text, &known).unwrap_or_else(|| one_of(&known));
        let message = format!("`{}` is not known here", text.escape_debug());
        self.report(place, &message, Some(help));
        None
    }

    /// Whatever was not asked for is unknown.
    pub(super) fn finish(self) {
        let mut unknown: Vec<_> = self
            .keys
            .iter()
            .filter(|(key, _)| !self.asked.contains(&key.get_ref().as_ref()))
            .map(|(key, _)| (key.span(), key.get_ref().to_string()))
            .collect();
        unknown.sort_by_key(|(place, _)| place.start);
        for (place, key) in unknown {
            let help = suggest(&key, &self.asked).unwrap_or_else(|| one_of(&self.asked));
            let message = format!("`{}` is no known key", key.escape_debug());
            let problem = PolicyProblem::error(CODE, message).with_help(help);
            self.problems
                .push(problem.in_source(self.source).at(place, "here"));
        }
    }

    pub(super) fn report(&mut self, place: Range<usize>, message: &str, help: Option<String>) {
        self.push(CODE, place, message, help);
    }

    pub(super) fn syntax(&mut self, place: Range<usize>, message: &str) {
        self.push("policy::syntax", place, message, None);
    }

    pub(super) fn too_deep(&mut self, place: Range<usize>, message: &str, help: String) {
        self.push("policy::too_deep", place, message, Some(help));
    }

    fn take(&mut self, key: &'static str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.asked.push(key);
        self.keys.get(key)
    }

    fn wrong(&mut self, key: &str, place: Range<usize>, wanted: &str) {
        self.report(place, &format!("`{key}` has to be {wanted}"), None);
    }

    fn push(
        &mut self,
        code: &'static str,
        place: Range<usize>,
        message: &str,
        help: Option<String>,
    ) {
        let problem = PolicyProblem::error(code, message)
            .in_source(self.source)
            .at(place, "here");
        self.problems.push(match help {
            Some(help) => problem.with_help(help),
            None => problem,
        });
    }
}

pub(super) fn suggest(given: &str, known: &[&str]) -> Option<String> {
    if given == "name" && known.contains(&"id") {
        return Some("did you mean `id`?".to_owned());
    }
    let nearest = known
        .iter()
        .map(|word| (osa_distance(given, word), word))
        .min()?;
    (nearest.0 <= NEAR).then(|| format!("did you mean `{}`?", nearest.1))
}

fn one_of(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    format!("one of {} is meant", words.join(", "))
}
