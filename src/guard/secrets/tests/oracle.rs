//! What holds for every text. Fuzz targets call it too.

use std::borrow::Cow;

use super::secrets::{Redacted, SecretRules};

/// The longest placeholder.
const LONGEST: usize = "[redacted:]".len() + 64;

/// All laws at once.
#[track_caller]
pub(super) fn laws(rules: &SecretRules, text: &str) {
    let Redacted {
        text: redacted,
        findings,
    } = rules.redact(text);
    let mut kept = String::new();
    let mut from = 0;
    for finding in &findings {
        assert!(from <= finding.range.start, "not sorted: {findings:?}");
        assert!(finding.range.start < finding.range.end, "{findings:?}");
        kept.push_str(text.get(from..finding.range.start).unwrap());
        kept.push_str(&["[redacted:", finding.rule.as_str(), "]"].concat());
        from = finding.range.end;
    }
    kept.push_str(text.get(from..).unwrap());
    assert_eq!(kept, redacted, "the rest is unchanged");
    assert_eq!(findings.is_empty(), matches!(redacted, Cow::Borrowed(_)));
    assert!(redacted.len() <= text.len() + LONGEST * findings.len());
    // A shorter text has less effort, which may be too little: so with as much as before.
    let shorter = text.len().saturating_sub(redacted.len());
    let padded = [&*redacted, &*"\n".repeat(shorter)].concat();
    assert_eq!(rules.find(&padded), [], "{redacted:?} of {text:?}");
    assert_eq!(rules.redact(&padded).text, padded);
}
