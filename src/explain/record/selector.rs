//! Records of a log, by what names them.

use std::fmt;

use crate::wire::{Document, Limits, Value};

use super::{
    ALLOW, LateRejection, RecordError, RecordedMessage, RecordedReason, policies_of, seq_of,
    text_at,
};

/// Which record of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordSelector {
    Seq(i64),
    /// As `data.audit` of a denial tells it to the agent: the record of the message, and if that was
    /// permitted, the one of what came of it.
    Reference(String),
}

impl RecordedMessage {
    /// One record of an audit log.
    pub fn find(log: &str, which: &RecordSelector) -> Result<Self, RecordError> {
        // Decoding is strict and slow; most lines do not even hold the digits.
        let trace = which.trace();
        let lines = log.lines().filter(|line| line.contains(&trace));
        let lines: Vec<&str> = lines.filter(|line| which.is(line)).collect();
        let (line, late) = match (lines.as_slice(), which) {
            ([], _) => return Err(RecordError::NoSuch(which.clone())),
            ([line], RecordSelector::Seq(_)) => (*line, None),
            (lines, RecordSelector::Seq(_)) => {
                return Err(RecordError::Ambiguous(lines.len(), which.clone()));
            }
            ([first, later @ ..], RecordSelector::Reference(_)) => {
                if let Some(seq) = of_outcome(first)? {
                    let which = which.clone();
                    return Err(RecordError::OnlyOutcome { which, seq });
                }
                (*first, later.iter().rev().find_map(|line| refused(line)))
            }
        };
        let mut found = Self::read(line)?;
        let seq = found.seq;
        found.raises = found.passed.as_ref().map(|it| it.raises(log, seq));
        found.late = late.filter(|_| found.allowed);
        Ok(found)
    }
}

impl RecordSelector {
    /// Records that decide nothing are not meant by a reference.
    fn is(&self, line: &str) -> bool {
        let Ok(document) = decoded(line) else {
            return false;
        };
        let record = document.root();
        match self {
            Self::Seq(seq) => record.get("seq").and_then(Value::as_i64) == Some(*seq),
            Self::Reference(reference) => {
                text_at(record, &["reference"]).as_ref() == Some(reference)
                    && record.get("decision").is_some()
                    && text_at(record, &["kind"]).is_none_or(|kind| kind != "consent")
            }
        }
    }

    /// What every line that it is holds.
    fn trace(&self) -> String {
        match self {
            Self::Seq(seq) => seq.to_string(),
            Self::Reference(reference) => reference.clone(),
        }
    }
}

impl fmt::Display for RecordSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seq(seq) => write!(f, "number {seq}"),
            Self::Reference(reference) => write!(f, "reference `{}`", reference.escape_debug()),
        }
    }
}

/// The number of a record that tells what came of a request of an agent, and not the request.
fn of_outcome(line: &str) -> Result<Option<i64>, RecordError> {
    let document = decoded(line)?;
    let record = document.root();
    let kind = text_at(record, &["kind"]).unwrap_or_default();
    let is_outcome = matches!(kind.as_str(), "tool_result" | "gate_decision");
    is_outcome.then(|| seq_of(record)).transpose()
}

fn refused(line: &str) -> Option<LateRejection> {
    let document = decoded(line).ok()?;
    let record = document.root();
    let passed = text_at(record, &["decision"]).is_some_and(|decision| decision == ALLOW);
    (!passed).then_some(())?;
    Some(LateRejection {
        seq: seq_of(record).ok()?,
        stage: text_at(record, &["stage"]),
        reason: RecordedReason::read(record),
        policies: policies_of(record),
    })
}

fn decoded(line: &str) -> Result<Document, RecordError> {
    Ok(Document::decode(
        line.trim().as_bytes(),
        &Limits::default(),
    )?)
}
