//! What a check has found, before it is a report.

use miette::Diagnostic;

use crate::lint::Lint;
use crate::loading::{BuiltinPolicy, WarningMode};

/// Anything that can be told.
pub(super) type BoxedDiagnostic = Box<dyn Diagnostic + Send + Sync>;

/// What was found in what was checked.
pub(super) struct CheckFindings {
    pub(super) told: Vec<BoxedDiagnostic>,
    pub(super) checked: Vec<String>,
    /// The gate's own policies that a configuration puts in force.
    pub(super) builtin: Vec<BuiltinPolicy>,
    /// A file that was written.
    pub(super) wrote: Option<String>,
    /// Whether warnings count as findings.
    pub(super) warnings: WarningMode,
}

/// What is not told.
#[derive(Debug, Default)]
pub(super) struct IgnoredFindings {
    pub(super) lints: Vec<&'static Lint>,
    /// Codes of what the loader remarks.
    pub(super) notices: Vec<&'static str>,
}

pub(super) fn one(diagnostic: impl Diagnostic + Send + Sync + 'static) -> Vec<BoxedDiagnostic> {
    vec![Box::new(diagnostic)]
}
