//! What was found, in each format.

use std::io::{self, Write};

use serde::Serialize;

use super::diagnostics::{BoxedDiagnostic, CheckFindings};
use crate::cli::args::CheckFormat;
use crate::cli::exit::{Exit, heard};
use crate::cli::report as terminal;
use crate::findings::{self, Finding, FindingLevel, Rule, Tool};
use crate::lint::ALL;
use crate::loading::{BuiltinPolicy, WarningMode};

/// The version of the JSON format.
const SCHEMA: u32 = 1;

/// What the check came to.
struct CheckReport {
    outcome: CheckOutcome,
    told: Vec<BoxedDiagnostic>,
    findings: Vec<Finding>,
    checked: Vec<String>,
    builtin: Vec<BuiltinPolicy>,
    wrote: Option<String>,
}

/// How it went as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum CheckOutcome {
    Clean,
    Findings,
    NotChecked,
}

/// One line of JSON, described by `docs/schema/check.schema.json`.
#[derive(Serialize)]
struct JsonReport<'r> {
    schema: u32,
    outcome: CheckOutcome,
    /// The packs, or the configuration.
    checked: &'r [String],
    /// Those that a configuration puts in force.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    builtin_policies: &'r [BuiltinPolicy],
    summary: CheckSummary,
    findings: &'r [Finding],
}

#[derive(Serialize)]
struct CheckSummary {
    errors: usize,
    warnings: usize,
}

/// Writes the report.
pub(super) fn finish(
    done: Result<CheckFindings, Vec<BoxedDiagnostic>>,
    format: CheckFormat,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Exit {
    let report = match done {
        Ok(found) => CheckReport::of(found),
        Err(why) => CheckReport::not_checked(why),
    };
    let written = match format {
        CheckFormat::Human => report.human(stderr),
        CheckFormat::Json => report.json(stdout),
        CheckFormat::Sarif => report.sarif(stdout),
        CheckFormat::Github => report.github(stdout),
        CheckFormat::Gitlab => findings::gitlab(&report.findings, stdout),
    };
    // An unwritten report is a failure.
    match (report.outcome, heard(written.and_then(|()| stdout.flush()))) {
        (_, Err(_)) | (CheckOutcome::NotChecked, _) => Exit::NotChecked,
        (CheckOutcome::Clean, Ok(())) => Exit::Success,
        (CheckOutcome::Findings, Ok(())) => Exit::Findings,
    }
}

impl CheckReport {
    fn of(found: CheckFindings) -> Self {
        let mut report = Self::with(CheckOutcome::Clean, found.told, found.checked);
        report.wrote = found.wrote;
        report.builtin = found.builtin;
        let CheckSummary { errors, warnings } = report.summary();
        if errors > 0 || warnings > 0 && found.warnings == WarningMode::Error {
            report.outcome = CheckOutcome::Findings;
        }
        report
    }

    fn not_checked(why: Vec<BoxedDiagnostic>) -> Self {
        Self::with(CheckOutcome::NotChecked, why, Vec::new())
    }

    fn with(outcome: CheckOutcome, told: Vec<BoxedDiagnostic>, checked: Vec<String>) -> Self {
        let findings = told.iter().flat_map(|told| Finding::all(&**told)).collect();
        Self {
            outcome,
            told,
            findings,
            checked,
            builtin: Vec::new(),
            wrote: None,
        }
    }

    /// Everything with its snippet, and a line that sums it up.
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        for told in &self.told {
            writeln!(out, "{}", terminal::text(&**told))?;
        }
        if self.outcome == CheckOutcome::NotChecked {
            return Ok(());
        }
        self.builtin(out)?;
        if let Some(file) = &self.wrote {
            return writeln!(out, "{file}: written");
        }
        let CheckSummary { errors, warnings } = self.summary();
        let checked = match self.checked.as_slice() {
            [one] => one.clone(),
            several => format!("{} packs", several.len()),
        };
        if errors + warnings == 0 {
            return writeln!(out, "{checked}: nothing found");
        }
        let errors = count(errors, "error");
        writeln!(out, "{checked}: {errors}, {}", count(warnings, "warning"))
    }

    fn builtin(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.builtin.is_empty() {
            return Ok(());
        }
        writeln!(out, "built-in policies in force:")?;
        for BuiltinPolicy { id, about, key } in &self.builtin {
            let key = key.map_or_else(String::new, |key| format!(" (`{key}`)"));
            writeln!(out, "  {id}{key}: {about}")?;
        }
        Ok(())
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let written = JsonReport {
            schema: SCHEMA,
            outcome: self.outcome,
            checked: &self.checked,
            builtin_policies: &self.builtin,
            summary: self.summary(),
            findings: &self.findings,
        };
        findings::json(&written, out)
    }

    fn sarif(&self, out: &mut dyn Write) -> io::Result<()> {
        let rules = ALL.iter().map(|lint| Rule {
            code: lint.code.to_owned(),
            about: lint.about.to_owned(),
            help_uri: Some(format!(
                "{}/blob/main/docs/lints.md#{}",
                env!("CARGO_PKG_REPOSITORY"),
                lint.name()
            )),
        });
        let tool = Tool {
            rules: rules.collect(),
        };
        findings::sarif(&tool, &self.findings, out)
    }

    fn github(&self, out: &mut dyn Write) -> io::Result<()> {
        findings::github(&self.findings, out)
    }

    fn summary(&self) -> CheckSummary {
        let count = |level| {
            let all = self.findings.iter();
            all.filter(|finding| finding.severity == level).count()
        };
        CheckSummary {
            errors: count(FindingLevel::Error),
            warnings: count(FindingLevel::Warning),
        }
    }
}

fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        more => format!("{more} {what}s"),
    }
}
