//! A report of tests that could not run.

use miette::Diagnostic;

use super::super::errors::FixtureErrors;
use super::{Report, RunOutcome, RunProblem, SCHEMA, Summary};
use crate::findings::Finding;
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

    pub fn outcome(&self) -> RunOutcome {
        match self.policies {
            Some(_) => RunOutcome::PoliciesInvalid,
            None => RunOutcome::NotRun,
        }
    }
}

impl Report {
    /// A report that says only what is wrong.
    pub fn not_run<'d>(
        outcome: RunOutcome,
        diagnostics: impl IntoIterator<Item = &'d dyn Diagnostic>,
    ) -> Self {
        let findings = diagnostics.into_iter().flat_map(Finding::all);
        let problems = findings.map(RunProblem::from).collect();
        Self {
            schema: SCHEMA,
            outcome,
            summary: Summary::default(),
            suites: Vec::new(),
            coverage: Vec::new(),
            mutation: Vec::new(),
            problems,
            least: 0,
            untried: false,
        }
    }
}

impl From<Finding> for RunProblem {
    fn from(finding: Finding) -> Self {
        let place = finding.place;
        Self {
            code: finding.code,
            message: finding.message,
            help: finding.help,
            line: place.as_ref().map(|place| place.line),
            column: place.as_ref().map(|place| place.column),
            file: place.map(|place| place.file),
        }
    }
}
