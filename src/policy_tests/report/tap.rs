//! TAP version 14: <https://testanything.org/tap-version-14-specification.html>.

use std::io::{self, Write};

use super::{Report, SuiteReport, TestOutcome, TestReport};
use crate::findings::{Finding, printable};

impl Report {
    /// A test point for each suite, with its tests inside, and one for each shortfall.
    pub fn tap(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "TAP version 14")?;
        if let Some(first) = self.problems.first() {
            for problem in &self.problems {
                writeln!(out, "# {}", comment(&problem.message))?;
            }
            return writeln!(out, "Bail out! {}", printable(&first.message));
        }
        let shortfalls = self.shortfalls();
        writeln!(out, "1..{}", self.suites.len() + shortfalls.len())?;
        for (suite, number) in self.suites.iter().zip(1..) {
            suite.tap(number, out)?;
        }
        for (shortfall, number) in shortfalls.iter().zip(self.suites.len() + 1..) {
            short(shortfall, number, out)?;
        }
        Ok(())
    }
}

impl SuiteReport {
    fn tap(&self, number: usize, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "# Subtest: {}", comment(&self.suite))?;
        writeln!(out, "    1..{}", self.tests.len())?;
        for (test, number) in self.tests.iter().zip(1..) {
            test.tap(&self.file, number, out)?;
        }
        let failed = |test: &TestReport| test.outcome == TestOutcome::Failed;
        let verdict = verdict(self.tests.iter().any(failed));
        writeln!(out, "{verdict} {number} - {}", description(&self.suite))
    }
}

impl TestReport {
    fn tap(&self, file: &str, number: usize, out: &mut dyn Write) -> io::Result<()> {
        let failed = self.outcome == TestOutcome::Failed;
        let name = description(&self.called());
        writeln!(out, "    {} {number} - {name}", verdict(failed))?;
        if !failed {
            return Ok(());
        }
        let explained = self.explained();
        writeln!(out, "      ---")?;
        writeln!(out, "      message: {}", quoted(&explained.join("; ")))?;
        writeln!(out, "      severity: fail")?;
        writeln!(out, "      at:")?;
        writeln!(out, "        file: {}", quoted(file))?;
        writeln!(out, "        line: {}", self.line)?;
        writeln!(out, "      ...")
    }
}

fn short(shortfall: &Finding, number: usize, out: &mut dyn Write) -> io::Result<()> {
    let name = description(&shortfall.message);
    writeln!(out, "not ok {number} - {name}")?;
    writeln!(out, "  ---")?;
    writeln!(out, "  message: {}", quoted(&shortfall.told()))?;
    writeln!(out, "  severity: fail")?;
    if let Some(place) = &shortfall.place {
        writeln!(out, "  at:")?;
        writeln!(out, "    file: {}", quoted(&place.file))?;
        writeln!(out, "    line: {}", place.line)?;
    }
    writeln!(out, "  ...")
}

const fn verdict(failed: bool) -> &'static str {
    if failed { "not ok" } else { "ok" }
}

/// A `#` would begin a directive, such as `# SKIP`.
fn description(text: &str) -> String {
    let text = printable(text);
    text.replace('\\', "\\\\").replace('#', "\\#")
}

fn comment(text: &str) -> String {
    printable(text)
}

/// A YAML scalar: JSON's strings are among YAML's double-quoted ones (YAML 1.2 §1.3).
fn quoted(text: &str) -> String {
    serde_json::Value::from(printable(text)).to_string()
}
