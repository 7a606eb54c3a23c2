//! One thing to tell.

use miette::{Diagnostic, Severity};
use serde::Serialize;

use super::FileSpan;

/// One thing that is wrong, or looks wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub severity: FindingLevel,
    /// A stable word, for example `policy::syntax`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub place: Option<FileSpan>,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingLevel {
    Error,
    Warning,
    Advice,
}

impl Finding {
    /// A diagnostic with its first place.
    pub fn of(diagnostic: &dyn Diagnostic) -> Self {
        Self {
            severity: FindingLevel::of(diagnostic.severity()),
            code: diagnostic.code().map(|code| code.to_string()),
            message: diagnostic.to_string(),
            help: diagnostic.help().map(|help| help.to_string()),
            place: FileSpan::of(diagnostic),
        }
    }

    /// A diagnostic and what it gathers; one that only gathers others says nothing of its own.
    pub fn all(diagnostic: &dyn Diagnostic) -> Vec<Self> {
        let related: Vec<&dyn Diagnostic> = diagnostic.related().into_iter().flatten().collect();
        if related.is_empty() {
            return vec![Self::of(diagnostic)];
        }
        related.into_iter().flat_map(Self::all).collect()
    }

    /// The message, and what to do about it.
    pub fn told(&self) -> String {
        match &self.help {
            Some(help) => format!("{}\nhelp: {help}", self.message),
            None => self.message.clone(),
        }
    }
}

impl FindingLevel {
    fn of(severity: Option<Severity>) -> Self {
        match severity.unwrap_or_default() {
            Severity::Error => Self::Error,
            Severity::Warning => Self::Warning,
            Severity::Advice => Self::Advice,
        }
    }
}
