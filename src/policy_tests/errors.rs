//! What is wrong with fixtures, told to their author: all of it, with places.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::findings::printable;
use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};

/// Why tests could not run; never empty.
#[derive(Debug, thiserror::Error)]
#[error("the tests cannot run: {} found", count(.problems.len()))]
pub struct FixtureErrors {
    pub problems: Vec<FixtureProblem>,
}

/// One thing that is wrong, with its place in a fixture where it has one.
#[derive(Debug, Clone)]
pub struct FixtureProblem {
    /// A stable word, for example `test::unknown_key`.
    pub code: &'static str,
    pub message: String,
    pub help: Option<String>,
    label: Option<LabeledSpan>,
    source: Option<FixtureSource>,
}

/// The text of a fixture, and what reports call it.
pub(super) type FixtureSource = NamedSource<Arc<str>>;

impl FixtureProblem {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: printable(&message.into()),
            help: None,
            label: None,
            source: None,
        }
    }

    /// Something is wrong with a path as a whole.
    pub(super) fn about(path: &Path, code: &'static str, problem: impl fmt::Display) -> Self {
        Self::new(code, format!("`{}`: {problem}", path.display()))
    }

    pub(super) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(printable(&help.into()));
        self
    }

    pub(super) fn at(mut self, source: &FixtureSource, place: Range<usize>) -> Self {
        self.label = Some(LabeledSpan::at(place, "here"));
        self.source = Some(source.clone());
        self
    }

    /// Where the problem stands in its fixture, for the order of a report.
    pub(super) fn offset(&self) -> Option<usize> {
        self.label.as_ref().map(LabeledSpan::offset)
    }
}

impl fmt::Display for FixtureProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for FixtureProblem {}

impl Diagnostic for FixtureProblem {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = self.label.clone()?;
        Some(Box::new(std::iter::once(label)))
    }
}

impl Diagnostic for FixtureErrors {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        let problems = self.problems.iter();
        Some(Box::new(problems.map(|problem| problem as &dyn Diagnostic)))
    }
}

fn count(problems: usize) -> String {
    match problems {
        1 => "1 problem".to_owned(),
        more => format!("{more} problems"),
    }
}
