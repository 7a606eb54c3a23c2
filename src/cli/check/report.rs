//! What was found, in each format.

use std::io::{self, Write};

use serde::Serialize;

use super::{ALL, BoxedDiagnostic, CheckFindings, Finding, FindingLevel, WarningMode, terminal};
use crate::findings::{self, Rule, Tool};

/// The version of the JSON format.
const SCHEMA: u32 = 1;

/// What the check came to.
pub(super) struct CheckReport {
    pub(super) outcome: CheckOutcome,
    told: Vec<BoxedDiagnostic>,
    findings: Vec<Finding>,
    checked: Vec<String>,
    wrote: Option<String>,
}

/// How it went as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CheckOutcome {
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
    summary: CheckSummary,
    findings: &'r [Finding],
}

#[derive(Serialize)]
struct CheckSummary {
    errors: usize,
    warnings: usize,
}

impl CheckReport {
    pub(super) fn of(found: CheckFindings) -> Self {
        let mut report = Self::with(CheckOutcome::Clean, found.told, found.checked);
        report.wrote = found.wrote;
        let CheckSummary { errors, warnings } = report.summary();
        if errors > 0 || warnings > 0 && found.warnings == WarningMode::Error {
            report.outcome = CheckOutcome::Findings;
        }
        report
    }

    pub(super) fn not_checked(why: Vec<BoxedDiagnostic>) -> Self {
        Self::with(CheckOutcome::NotChecked, why, Vec::new())
    }

    fn with(outcome: CheckOutcome, told: Vec<BoxedDiagnostic>, checked: Vec<String>) -> Self {
        let findings = told.iter().flat_map(|told| Finding::all(&**told)).collect();
        Self {
            outcome,
            told,
            findings,
            checked,
            wrote: None,
        }
    }

    /// Everything with its snippet, and a line that sums it up.
    pub(super) fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        for told in &self.told {
            writeln!(out, "{}", terminal::text(&**told))?;
        }
        if self.outcome == CheckOutcome::NotChecked {
            return Ok(());
        }
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

    pub(super) fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let written = JsonReport {
            schema: SCHEMA,
            outcome: self.outcome,
            checked: &self.checked,
            summary: self.summary(),
            findings: &self.findings,
        };
        findings::json(&written, out)
    }

    pub(super) fn sarif(&self, out: &mut dyn Write) -> io::Result<()> {
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

    pub(super) fn github(&self, out: &mut dyn Write) -> io::Result<()> {
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
