//! Rules of which no more can be told than that they decided: those in Rego, and of a record, which does
//! not tell enough to evaluate them, those in CEL as well.

use std::ops::Range;
use std::sync::Arc;

use crate::policy::engines::is_rego_or_cel;
use crate::policy::{Decision, PolicyOrigin, PolicySnapshot, RuleEffect};

use super::record::RecordedMessage;
use super::report::{ExplanationDepth, PolicyReport};
use super::request::ExplainRequest;

/// A longer rule is shown by its first line.
const MOST_LINES: usize = 16;

/// Whether there are any whose answer a record leaves open.
pub(super) fn are_there(policies: &PolicySnapshot) -> bool {
    let mut sources = policies.sources().iter();
    // They may fail on what a record leaves out.
    sources.any(|source| is_rego_or_cel(&source.name))
}

/// The note about rules in Rego and CEL, for a record.
pub(super) fn note(policies: &PolicySnapshot, request: &ExplainRequest) -> Option<String> {
    match request {
        ExplainRequest::Message(_) => None,
        ExplainRequest::Recorded(_) => are_there(policies).then(|| {
            "a rule in Rego or CEL may depend on facts that a record lacks: `explain` names the \
             rules that decided, and has no verdict of the others"
                .to_owned()
        }),
    }
}

/// Those that decided, besides `known` ones.
pub(super) fn of_decision(
    policies: &PolicySnapshot,
    decision: &Decision,
    known: &[String],
) -> Vec<PolicyReport> {
    let effect = if decision.is_allow() {
        RuleEffect::Permit
    } else {
        RuleEffect::Forbid
    };
    let reasons = decision.reasons().iter();
    let unknown = reasons.filter(|reason| !known.iter().any(|id| *id == reason.policy.as_str()));
    let reports = unknown.map(|reason| PolicyReport {
        advice: reason.advice.as_deref().map(str::to_owned),
        ..report(policies, reason.policy.as_str(), &reason.origin, effect)
    });
    reports.collect()
}

/// Those that decided when a record was made, besides `known` ones.
pub(super) fn of_record(
    policies: &PolicySnapshot,
    recorded: &RecordedMessage,
    known: &[String],
) -> Vec<PolicyReport> {
    let unknown = recorded.policies().iter().filter(|id| !known.contains(id));
    let reports = unknown.filter_map(|id| {
        let mut entries = policies.policies().iter();
        let entry = entries.find(|entry| entry.id.as_str() == id)?;
        Some(report(policies, id, &entry.origin, recorded.effect()))
    });
    reports.collect()
}

fn report(
    policies: &PolicySnapshot,
    id: &str,
    origin: &PolicyOrigin,
    effect: RuleEffect,
) -> PolicyReport {
    let mut entries = policies.policies().iter();
    let entry = entries.find(|entry| entry.id.as_str() == id);
    let text = entry
        .map(|entry| Arc::clone(&entry.text))
        .unwrap_or_default();
    let mut sources = policies.sources().iter();
    let source = sources.find(|source| source.name == origin.file);
    let source = source.map_or_else(|| Arc::clone(&text), |source| Arc::clone(&source.text));
    let span = place(&source, &text, origin.line);
    PolicyReport {
        id: id.to_owned(),
        effect: effect.word(),
        file: Arc::clone(&origin.file),
        line: Some(origin.line).filter(|line| *line > 0),
        builtin: origin.file.starts_with('<'),
        decided: true,
        value: "true",
        error: None,
        in_scope: true,
        told: ExplanationDepth::Decision,
        advice: None,
        parts: Vec::new(),
        source,
        span,
    }
}

/// Where a rule stands in its file, which may say the same elsewhere; its first line if it is long.
fn place(source: &str, text: &str, line: u32) -> Range<usize> {
    let line = usize::try_from(line)
        .unwrap_or(usize::MAX)
        .saturating_sub(1);
    let lines = source.split_inclusive('\n').take(line);
    let at: usize = lines.map(str::len).sum();
    let rest = source.get(at..).unwrap_or_default();
    let text = text.trim_end();
    let found = rest.find(text).filter(|_| !text.is_empty());
    let start = at + found.unwrap_or_default();
    shown(source, start..start + found.map_or(0, |_| text.len()))
}

/// A place, or its first line if it is long or not known.
pub(super) fn shown(source: &str, place: Range<usize>) -> Range<usize> {
    let text = source.get(place.clone()).unwrap_or_default();
    if (1..=MOST_LINES).contains(&text.lines().count()) {
        return place;
    }
    let first = source
        .get(place.start..)
        .and_then(|rest| rest.lines().next());
    place.start..place.start + first.map_or(0, str::len)
}
