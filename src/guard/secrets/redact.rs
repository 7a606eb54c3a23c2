//! The text without its secrets.

use std::borrow::Cow;

use super::finding::SecretFinding;
use super::placeholder;

/// A text and what was taken out of it.
///
/// It has no `Debug` of its findings' secrets to fear: they are gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'t> {
    /// Borrowed if nothing was found.
    pub text: Cow<'t, str>,
    /// What was found, by its place in the text as it was.
    pub findings: Vec<SecretFinding>,
}

/// The text with a placeholder for each finding. INVARIANT: the findings are sorted, apart from
/// each other, and on boundaries of characters.
pub(in crate::guard) fn replaced(text: &str, findings: Vec<SecretFinding>) -> Redacted<'_> {
    if findings.is_empty() {
        return Redacted {
            text: text.into(),
            findings,
        };
    }
    let mut out = String::with_capacity(text.len());
    let mut kept_from = 0;
    for finding in &findings {
        out.push_str(text.get(kept_from..finding.range.start).unwrap_or_default());
        out.push_str(&placeholder::of(&finding.rule));
        kept_from = finding.range.end;
    }
    out.push_str(text.get(kept_from..).unwrap_or_default());
    Redacted {
        text: out.into(),
        findings,
    }
}
