//! A report of tests that could not run.

use miette::Diagnostic;

use super::super::errors::FixtureErrors;
use super::{Outcome, Problem, Report, SCHEMA, Summary};
use crate::policy::PolicyErrors;

/// Why tests could not run.
#[derive(Debug)]
pub struct NotRun {
    pub fixtures: Option<FixtureErrors>,
    pub policies: Option<PolicyErrors>,
}

impl NotRun {
    /// What people are told, in this order.
    pub fn diagnostics(&self) -> impl Iterator<Item = &dyn Diagnostic> {
        let policies = self.policies.iter().map(|errors| errors as &dyn Diagnostic);
        let fixtures = self.fixtures.iter().map(|errors| errors as &dyn Diagnostic);
        policies.chain(fixtures)
    }

    pub fn outcome(&self) -> Outcome {
        match self.policies {
            Some(_) => Outcome::PoliciesInvalid,
            None => Outcome::NotRun,
        }
    }
}

impl Report {
    /// A report that says only what is wrong.
    pub fn not_run<'d>(
        outcome: Outcome,
        diagnostics: impl IntoIterator<Item = &'d dyn Diagnostic>,
    ) -> Self {
        let mut problems = Vec::new();
        for diagnostic in diagnostics {
            Problem::collect(diagnostic, &mut problems);
        }
        Self {
            schema: SCHEMA,
            outcome,
            summary: Summary::default(),
            suites: Vec::new(),
            coverage: Vec::new(),
            mutation: Vec::new(),
            problems,
        }
    }
}

impl Problem {
    /// A diagnostic that only gathers others says nothing of its own.
    fn collect(diagnostic: &dyn Diagnostic, problems: &mut Vec<Self>) {
        let mut related = diagnostic.related().into_iter().flatten().peekable();
        if related.peek().is_none() {
            problems.push(Self::new(diagnostic));
        }
        for diagnostic in related {
            Self::collect(diagnostic, problems);
        }
    }

    fn new(diagnostic: &dyn Diagnostic) -> Self {
        let place = diagnostic.labels().and_then(|mut labels| labels.next());
        let contents = place
            .zip(diagnostic.source_code())
            .and_then(|(place, source)| source.read_span(place.inner(), 0, 0).ok());
        let from_one = |number: usize| number.saturating_add(1);
        let contents = contents.as_ref();
        Self {
            code: diagnostic.code().map(|code| code.to_string()),
            message: diagnostic.to_string(),
            help: diagnostic.help().map(|help| help.to_string()),
            file: contents.and_then(|contents| contents.name().map(str::to_owned)),
            line: contents.map(|contents| from_one(contents.line())),
            column: contents.map(|contents| from_one(contents.column())),
        }
    }
}
