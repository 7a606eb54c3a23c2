//! What is wrong with policies, for their author: all problems of all files at once.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, NamedSource, Severity, SourceCode};

use super::source::PolicySource;

/// Every problem found; the policies are not usable.
#[derive(Debug, thiserror::Error)]
#[error("the policies are not usable: {} found", count(.problems.len()))]
pub struct PolicyErrors {
    pub problems: Vec<PolicyProblem>,
}

/// One problem, with its place in the text where it has one.
#[derive(Debug, Clone)]
pub struct PolicyProblem {
    /// A stable word, for example `policy::syntax`.
    pub code: &'static str,
    pub message: String,
    pub help: Option<String>,
    pub labels: Vec<LabeledSpan>,
    pub source: Option<NamedSource<Arc<str>>>,
    pub severity: Severity,
}

/// Reported problems. More are usually one repeated mistake, and a report that shows each in
/// its text takes minutes.
const MOST: usize = 200;

impl PolicyErrors {
    /// The first problems, and how many more there are.
    pub fn of(problems: Vec<PolicyProblem>) -> Self {
        let mut problems = PolicyProblem::once(problems);
        let left_out = problems.len().saturating_sub(MOST);
        if left_out > 0 {
            problems.truncate(MOST);
            let message = format!("and {left_out} more problems");
            problems.push(PolicyProblem::error("policy::too_many_problems", message));
        }
        Self { problems }
    }
}

impl From<PolicyProblem> for PolicyErrors {
    fn from(problem: PolicyProblem) -> Self {
        Self {
            problems: vec![problem],
        }
    }
}

impl PolicyProblem {
    /// Each problem once: two servers may have one directory of policies.
    pub fn once(mut problems: Vec<Self>) -> Vec<Self> {
        let mut told = HashSet::new();
        problems.retain(|problem| {
            let file = problem.source.as_ref().map(|it| it.name().to_owned());
            let places = problem.labels.iter().map(|at| (at.offset(), at.len()));
            let places: Vec<_> = places.collect();
            told.insert((problem.code, problem.message.clone(), file, places))
        });
        problems
    }

    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            help: None,
            labels: Vec::new(),
            source: None,
            severity: Severity::Error,
        }
    }

    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, message)
        }
    }

    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// With the names as their author writes them: those of one server's own policies have no key.
    #[must_use]
    pub fn as_written(mut self, source: &PolicySource) -> Self {
        if let Some(key) = &source.server {
            self.message = key.names_in(&self.message);
            self.help = self.help.map(|help| key.names_in(&help));
        }
        self
    }

    /// The text that the labels point into.
    #[must_use]
    pub fn in_source(mut self, source: &PolicySource) -> Self {
        self.source = Some(NamedSource::new(&source.name, Arc::clone(&source.text)));
        self
    }

    /// Points at one of the lines of a text, from 1, where there is such a line.
    #[must_use]
    pub fn on_line(self, source: &PolicySource, line: u32, label: impl Into<String>) -> Self {
        let mut start = 0;
        for (number, text) in (1..).zip(source.text.split_inclusive('\n')) {
            let whole = text.trim_end();
            let blank = whole.len() - whole.trim_start().len();
            if number == line && !whole.is_empty() {
                let place = start + blank..start + whole.len();
                return self.in_source(source).at(place, label);
            }
            start += text.len();
        }
        self
    }

    #[must_use]
    pub fn at(mut self, span: std::ops::Range<usize>, label: impl Into<String>) -> Self {
        self.labels.push(LabeledSpan::at(span, label));
        self
    }
}

impl fmt::Display for PolicyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PolicyProblem {}

impl Diagnostic for PolicyProblem {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code))
    }

    fn severity(&self) -> Option<Severity> {
        Some(self.severity)
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
        if self.labels.is_empty() {
            return None;
        }
        Some(Box::new(self.labels.iter().cloned()))
    }
}

impl Diagnostic for PolicyErrors {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new("policy"))
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(
            self.problems
                .iter()
                .map(|problem| problem as &dyn Diagnostic),
        ))
    }
}

fn count(problems: usize) -> String {
    if problems == 1 {
        "1 problem".to_owned()
    } else {
        format!("{problems} problems")
    }
}
