//! What was found, in each format.

use std::io::{self, Write};

use serde::Serialize;

use super::{ALL, Finding, Found, Level, Told, Warnings, terminal};
use crate::findings::{self, Rule, Tool};

/// The version of the JSON format.
const SCHEMA: u32 = 1;

/// What the check came to.
pub(super) struct Report {
    pub(super) outcome: Outcome,
    told: Vec<Told>,
    findings: Vec<Finding>,
    checked: Vec<String>,
    wrote: Option<String>,
}

/// How it went as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    Clean,
    Findings,
    NotChecked,
}

/// One line of JSON, described by `docs/schema/check.schema.json`.
#[derive(Serialize)]
struct Written<'r> {
    schema: u32,
    outcome: Outcome,
    /// The packs, or the configuration.
    checked: &'r [String],
    summary: Summary,
    findings: &'r [Finding],
}

#[derive(Serialize)]
struct Summary {
    errors: usize,
    warnings: usize,
}

impl Report {
    pub(super) fn of(found: Found) -> Self {
        let mut report = Self::with(Outcome::Clean, found.told, found.checked);
        report.wrote = found.wrote;
        let Summary { errors, warnings } = report.summary();
        if errors > 0 || warnings > 0 && found.warnings == Warnings::Error {
            report.outcome = Outcome::Findings;
        }
        report
    }

    pub(super) fn not_checked(why: Vec<Told>) -> Self {
        Self::with(Outcome::NotChecked, why, Vec::new())
    }

    fn with(outcome: Outcome, told: Vec<Told>, checked: Vec<String>) -> Self {
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
        if self.outcome == Outcome::NotChecked {
            return Ok(());
        }
        if let Some(file) = &self.wrote {
            return writeln!(out, "{file}: written");
        }
        let Summary { errors, warnings } = self.summary();
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
        let written = Written {
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

    fn summary(&self) -> Summary {
        let count = |level| {
            let all = self.findings.iter();
            all.filter(|finding| finding.severity == level).count()
        };
        Summary {
            errors: count(Level::Error),
            warnings: count(Level::Warning),
        }
    }
}

fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        more => format!("{more} {what}s"),
    }
}
