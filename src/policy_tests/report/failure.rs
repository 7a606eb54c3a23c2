//! Why a test failed, and why none has run, for every format that is no tree.

use super::{Problem, Report, SuiteReport, TestOutcome, TestReport};
use crate::findings::{Finding, Level, Place, printable};

/// The rule of every test that failed.
pub(super) const FAILED: &str = "test::failed";

impl Report {
    /// Failed tests where they stand, and what kept tests from running.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let failed = self.suites.iter().flat_map(|suite| {
            let failed = suite.tests.iter();
            let failed = failed.filter(|test| test.outcome == TestOutcome::Failed);
            failed.map(|test| test.finding(suite))
        });
        failed
            .chain(self.problems.iter().map(Problem::finding))
            .collect()
    }
}

impl TestReport {
    fn finding(&self, suite: &SuiteReport) -> Finding {
        Finding {
            severity: Level::Error,
            code: Some(FAILED.to_owned()),
            message: format!("{}: {}", printable(&self.name), self.problems.join("\n")),
            help: self.hint.clone(),
            place: Some(Place::of_line(&suite.file, self.line)),
        }
    }

    /// All that explains the failure, a line each.
    pub(super) fn explained(&self) -> Vec<String> {
        let mut lines = self.problems.clone();
        for policy in &self.shown {
            let place = match (&policy.file, policy.line) {
                (Some(file), Some(line)) => format!(" at {file}:{line}"),
                (Some(file), None) => format!(" in {file}"),
                (None, _) => String::new(),
            };
            lines.push(format!("decided by `{}`{place}", policy.id));
        }
        lines.extend(self.hint.iter().map(|hint| format!("hint: {hint}")));
        lines
    }
}

impl Problem {
    pub(super) fn finding(&self) -> Finding {
        let place = self.file.as_ref().map(|file| {
            let mut place = Place::of_line(file, self.line.unwrap_or(1));
            place.column = self.column.unwrap_or(1);
            place.end_column = place.column;
            place
        });
        Finding {
            severity: Level::Error,
            code: self.code.clone(),
            message: self.message.clone(),
            help: self.help.clone(),
            place,
        }
    }
}
