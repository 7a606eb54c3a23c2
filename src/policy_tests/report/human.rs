//! The report as people read it.

use std::fmt::Display;
use std::io::{self, Write};

use super::super::fixture_words::{ServerInstance, TestDecision};
use super::super::suggest;
use super::{
    Actual, DecidingPolicy, Expected, ReplayReport, Report, SuiteReport, TestOutcome, TestReport,
};
use crate::findings::printable;
use crate::gate::Stage;

/// Whether the report may use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    Plain,
    Coloured,
}

#[derive(Debug, Clone, Copy)]
enum ReportColour {
    Good,
    Bad,
    Faint,
    Bold,
}

/// What is shown of decisions that cannot be compared.
const MOST_UNKNOWN: usize = 5;

/// Lines that are shown of one policy.
const MOST_LINES: usize = 20;

impl Report {
    /// Writes a tree of suites and tests, and a line that sums it up.
    pub fn write(&self, out: &mut dyn Write, paint: Paint) -> io::Result<()> {
        for suite in &self.suites {
            suite.write(out, paint)?;
            writeln!(out)?;
        }
        let summary = &self.summary;
        let tests = match summary.tests {
            1 => "1 test".to_owned(),
            more => format!("{more} tests"),
        };
        let suites = match summary.suites {
            1 => "1 suite".to_owned(),
            more => format!("{more} suites"),
        };
        let failed = format!("{} failed", summary.failed);
        let failed = match summary.failed {
            0 => failed,
            _ => paint.dye(ReportColour::Bad, failed),
        };
        write!(
            out,
            "{tests} in {suites}: {} passed, {failed}",
            summary.passed
        )?;
        if summary.left_out > 0 {
            write!(out, ", {} left out by the filter", summary.left_out)?;
        }
        writeln!(out)?;
        self.write_extras(out)
    }

    /// Writes what the tests have seen and would notice, where that was asked for.
    pub fn write_extras(&self, out: &mut dyn Write) -> io::Result<()> {
        for coverage in &self.coverage {
            writeln!(out)?;
            coverage.write(out)?;
        }
        for mutation in &self.mutation {
            writeln!(out)?;
            mutation.write(out)?;
        }
        if self.untried {
            writeln!(out, "\nchanges were not tried: a test fails")?;
        }
        Ok(())
    }
}

impl SuiteReport {
    fn write(&self, out: &mut dyn Write, paint: Paint) -> io::Result<()> {
        let suite = paint.dye(ReportColour::Bold, printable(&self.suite));
        let file = paint.dye(ReportColour::Faint, printable(&self.file));
        writeln!(out, "{suite}  {file}")?;
        for test in &self.tests {
            test.write(&self.file, out, paint)?;
        }
        Ok(())
    }
}

/// The report of one message with an unexpected outcome.
struct Details<'r> {
    file: &'r str,
    line: usize,
    expected: Option<&'r Expected>,
    got: Option<&'r Actual>,
    problems: &'r [String],
    shown: &'r [DecidingPolicy],
    hint: Option<&'r str>,
}

impl TestReport {
    fn write(&self, file: &str, out: &mut dyn Write, paint: Paint) -> io::Result<()> {
        let name = printable(&self.name);
        let cell = match &self.cell {
            Some(cell) => paint.dye(ReportColour::Faint, format!("  [{}]", printable(cell))),
            None => String::new(),
        };
        writeln!(out, "  {} {name}{cell}", paint.mark(self.outcome))?;
        if let Some(replay) = &self.replay {
            replay.write(out, paint)?;
        }
        if self.outcome == TestOutcome::Passed {
            return Ok(());
        }
        let problems: &[String] = if self.steps.is_empty() {
            &self.problems
        } else {
            // They are told step by step.
            &[]
        };
        let details = Details {
            file,
            line: self.line,
            expected: self.expected.as_ref(),
            got: self.got.as_ref(),
            problems,
            shown: &self.shown,
            hint: self.hint.as_deref(),
        };
        details.write("test", out, paint)?;
        for (step, number) in self.steps.iter().zip(1..) {
            let sends = printable(&step.sends);
            let number = paint.dye(ReportColour::Faint, format!("step {number:<3}"));
            writeln!(out, "    {} {number}  {sends}", paint.mark(step.outcome))?;
            if step.outcome == TestOutcome::Failed {
                let details = Details {
                    file,
                    line: step.line,
                    expected: Some(&step.expected),
                    got: step.got.as_ref(),
                    problems: &step.problems,
                    shown: &step.shown,
                    hint: step.hint.as_deref(),
                };
                details.write("step", out, paint)?;
            }
        }
        Ok(())
    }
}

impl Details<'_> {
    fn write(&self, what: &str, out: &mut dyn Write, paint: Paint) -> io::Result<()> {
        let line = |out: &mut dyn Write, name: &str, text: &dyn Display| {
            let name = paint.dye(ReportColour::Faint, format!("{name:<8}"));
            writeln!(out, "      {name}  {text}")
        };
        let place = format!("{}:{}", printable(self.file), self.line);
        line(out, what, &place)?;
        if let Some(expected) = self.expected {
            line(out, "expected", &printable(&expected.told()))?;
        }
        if let Some(got) = self.got {
            line(out, "got", &printable(&got.told()))?;
        }
        let decisions = (
            self.expected.map(|it| it.decision),
            self.got.map(|it| it.decision),
        );
        let different_decision =
            matches!(decisions, (Some(expected), Some(got)) if expected != got);
        for problem in self.problems {
            // The two lines above have said it.
            let said = different_decision && problem.starts_with("expected ");
            if !said {
                line(out, "problem", &printable(problem))?;
            }
        }
        for policy in self.shown {
            policy.write(out, paint)?;
        }
        if let Some(hint) = self.hint {
            line(out, "hint", &printable(hint))?;
        }
        Ok(())
    }
}

impl ReplayReport {
    fn write(&self, out: &mut dyn Write, paint: Paint) -> io::Result<()> {
        let (changed, unknown) = (self.changed.len(), self.unknown.len());
        let name = paint.dye(ReportColour::Faint, "replay  ");
        let file = printable(&self.file);
        writeln!(
            out,
            "      {name}  {file}: {} same, {changed} changed, {unknown} unknown",
            self.same
        )?;
        let name = paint.dye(ReportColour::Faint, "unknown ");
        for unknown in self.unknown.iter().take(MOST_UNKNOWN) {
            let text = format!("line {}: {}: {}", unknown.line, unknown.about, unknown.why);
            writeln!(out, "      {name}  {}", printable(&text))?;
        }
        match self.unknown.len().saturating_sub(MOST_UNKNOWN) {
            0 => Ok(()),
            more => writeln!(out, "      {name}  … and {more} more"),
        }
    }
}

impl Expected {
    fn told(&self) -> String {
        let mut decided = self.decision.word().to_owned();
        if !self.policies.is_empty() {
            decided = format!("{decided} because of {}", suggest::list(&self.policies));
        }
        if let Some(exactly) = &self.policies_exact {
            decided = match exactly.as_slice() {
                [] => format!("{decided} because of no policy"),
                exactly => format!("{decided} because of exactly {}", suggest::list(exactly)),
            };
        }
        let mut parts = vec![decided];
        let words = [
            ("code", &self.code),
            ("advice", &self.advice),
            ("reason", &self.reason),
        ];
        for (key, word) in words {
            parts.extend(word.as_ref().map(|word| format!("{key} `{word}`")));
        }
        if let Some(obligations) = &self.obligations {
            parts.push(format!("asking for {}", names(obligations)));
        }
        if let Some(edits) = &self.edits {
            parts.push(format!("changed at {}", names(edits)));
        }
        parts.extend(self.upstream_receives.map(at_the_server));
        if let Some(errors) = &self.errors {
            parts.push(format!(
                "with an error that holds {}",
                suggest::list(errors)
            ));
        }
        if let Some(visible) = &self.listed {
            parts.push(format!("showing {}", names(visible)));
        }
        if !self.hidden.is_empty() {
            parts.push(format!("hiding {}", names(&self.hidden)));
        }
        if let Some(received) = &self.received {
            parts.push(format!("its answer: {}", received.told()));
        }
        parts.join(", ")
    }
}

fn at_the_server(reached: ServerInstance) -> String {
    format!("at the {} server", reached.word())
}

impl Actual {
    fn told(&self) -> String {
        let mut decided = self.decision.word().to_owned();
        if let Some(at) = self.at.filter(|at| *at != "answer") {
            decided = format!("{decided} at the {at}");
        }
        // A policy's words say more than the gate's own.
        let elsewhere = self
            .stage
            .as_deref()
            .filter(|stage| *stage != Stage::Decide.name());
        if !self.policies.is_empty() {
            let ids = self.policies.iter().map(|policy| policy.id.as_str());
            let ids = suggest::list(ids);
            // What is refused elsewhere was permitted before.
            decided = match elsewhere {
                Some(_) if self.decision == TestDecision::Deny => {
                    format!("{decided}, though {ids} permits it")
                }
                Some(_) | None => format!("{decided} because of {ids}"),
            };
        }
        let mut parts = vec![decided];
        let words = [
            ("code", &self.code),
            ("advice", &self.advice),
            ("reason", &self.reason),
        ];
        for (key, word) in words {
            parts.extend(word.as_ref().map(|word| format!("{key} `{word}`")));
        }
        if !self.obligations.is_empty() {
            parts.push(format!("asking for {}", names(&self.obligations)));
        }
        if !self.edits.is_empty() {
            parts.push(format!("changed at {}", names(&self.edits)));
        }
        parts.extend(self.upstream_received.map(at_the_server));
        if let (Some(stage), Some(text)) = (elsewhere, &self.text) {
            parts.push(format!("refused at `{stage}`: {text}"));
        }
        if let Some(visible) = &self.listed {
            parts.push(format!("showing {}", names(visible)));
        }
        // The arrival of an answer is the default.
        let withheld = self.received.as_ref();
        if let Some(received) = withheld.filter(|it| it.decision == TestDecision::Deny) {
            parts.push(format!("its answer: {}", received.told()));
        }
        parts.join(", ")
    }
}

impl DecidingPolicy {
    /// The text as it stands in its file, numbered.
    fn write(&self, out: &mut dyn Write, paint: Paint) -> io::Result<()> {
        let place = match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            (Some(file), None) => file.to_string(),
            (None, _) => return Ok(()),
        };
        let place = paint.dye(ReportColour::Faint, printable(&place));
        writeln!(
            out,
            "      {} {}",
            paint.dye(ReportColour::Faint, "┌─"),
            place
        )?;
        let first = self.line.unwrap_or(1);
        let lines: Vec<&str> = self.text.lines().collect();
        let bar = paint.dye(ReportColour::Faint, "│");
        for (number, line) in (first..).zip(lines.iter().take(MOST_LINES)) {
            writeln!(out, "      {bar} {number:>4}  {}", printable(line))?;
        }
        let more = lines.len().saturating_sub(MOST_LINES);
        if more > 0 {
            writeln!(out, "      {bar}       … {more} more lines")?;
        }
        Ok(())
    }
}

impl Paint {
    fn mark(self, outcome: TestOutcome) -> String {
        match outcome {
            TestOutcome::Passed => self.dye(ReportColour::Good, "✓"),
            TestOutcome::Failed => self.dye(ReportColour::Bad, "✗"),
        }
    }

    fn dye(self, colour: ReportColour, text: impl Display) -> String {
        let code = match (self, colour) {
            (Self::Plain, _) => return text.to_string(),
            (Self::Coloured, ReportColour::Good) => "32",
            (Self::Coloured, ReportColour::Bad) => "31",
            (Self::Coloured, ReportColour::Faint) => "2",
            (Self::Coloured, ReportColour::Bold) => "1",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

fn names(names: &[String]) -> String {
    if names.is_empty() {
        "nothing".to_owned()
    } else {
        suggest::list(names)
    }
}
