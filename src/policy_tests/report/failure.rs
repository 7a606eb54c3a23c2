//! Why a test failed, and why none has run, for every format that is no tree.

use std::io::{self, Write};

use super::short;
use super::{Report, RunProblem, StepReport, SuiteReport, TestOutcome, TestReport};
use crate::findings::{self, FileSpan, Finding, FindingLevel, Rule, Tool, printable};

/// The rule of every test that failed.
pub(super) const FAILED: &str = "test::failed";

impl Report {
    /// Workflow commands of GitHub: an annotation for each failed test, and for each shortfall.
    pub fn github(&self, out: &mut dyn Write) -> io::Result<()> {
        findings::github(&self.findings(), out)
    }

    /// SARIF 2.1.0: one result for each failed test and each shortfall, or for each thing that kept tests from
    /// running.
    pub fn sarif(&self, out: &mut dyn Write) -> io::Result<()> {
        let failed = Rule {
            code: FAILED.to_owned(),
            about: "a policy test whose message did not become what it should".to_owned(),
            help_uri: None,
        };
        let tool = Tool {
            rules: std::iter::once(failed).chain(short::rules()).collect(),
        };
        findings::sarif(&tool, &self.findings(), out)
    }

    /// Failed tests where they stand, what kept tests from running, and where they fall short.
    fn findings(&self) -> Vec<Finding> {
        let failed = self.suites.iter().flat_map(|suite| {
            let failed = suite.tests.iter();
            let failed = failed.filter(|test| test.outcome == TestOutcome::Failed);
            failed.map(|test| test.finding(suite))
        });
        failed
            .chain(self.problems.iter().map(RunProblem::finding))
            .chain(self.shortfalls())
            .collect()
    }
}

impl TestReport {
    fn finding(&self, suite: &SuiteReport) -> Finding {
        let failed = |step: &&StepReport| step.outcome == TestOutcome::Failed;
        let step = self.steps.iter().find(failed);
        let line = step.map_or(self.line, |step| step.line);
        let hint = step.map_or(&self.hint, |step| &step.hint);
        Finding {
            severity: FindingLevel::Error,
            code: Some(FAILED.to_owned()),
            message: format!(
                "{}: {}",
                printable(&self.called()),
                self.problems.join("\n")
            ),
            help: hint.clone(),
            place: Some(FileSpan::of_line(&suite.file, line)),
        }
    }

    /// The name, and the cell of a matrix.
    pub(super) fn called(&self) -> String {
        match &self.cell {
            Some(cell) => format!("{} [{cell}]", self.name),
            None => self.name.clone(),
        }
    }

    /// All that explains the failure, a line each.
    pub(super) fn explained(&self) -> Vec<String> {
        let mut lines = self.problems.clone();
        let of_steps = self.steps.iter().flat_map(|step| &step.shown);
        for policy in self.shown.iter().chain(of_steps) {
            let place = match (&policy.file, policy.line) {
                (Some(file), Some(line)) => format!(" at {file}:{line}"),
                (Some(file), None) => format!(" in {file}"),
                (None, _) => String::new(),
            };
            lines.push(format!("decided by `{}`{place}", policy.id));
        }
        let of_steps = self.steps.iter().filter_map(|step| step.hint.as_ref());
        lines.extend(
            self.hint
                .iter()
                .chain(of_steps)
                .map(|hint| format!("hint: {hint}")),
        );
        lines
    }
}

impl RunProblem {
    pub(super) fn finding(&self) -> Finding {
        let place = self.file.as_ref().map(|file| {
            let mut place = FileSpan::of_line(file, self.line.unwrap_or(1));
            place.column = self.column.unwrap_or(1);
            place.end_column = place.column;
            place
        });
        Finding {
            severity: FindingLevel::Error,
            code: self.code.clone(),
            message: self.message.clone(),
            help: self.help.clone(),
            place,
        }
    }
}
