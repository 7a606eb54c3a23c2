//! Filters of records.

use jiff::Timestamp;
use memchr::{memchr, memmem};

use super::record::{LineError, LogRecord};

/// The beginning of each line that the gate writes.
const BEGINNING: &[u8] = br#"{"version":1,"seq":"#;

/// A field that a filter compares with values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Server,
    Agent,
    Session,
    Direction,
    Kind,
    Decision,
    /// The target of a `tools/call`.
    Tool,
    /// Any of the policies.
    Policy,
    Reason,
    Reference,
    /// Either trace id, with or without the hyphens of a UUID.
    Trace,
}

/// Conditions that a record fulfils all. Without conditions, each record does.
#[derive(Debug, Default)]
pub struct Filter {
    conditions: Vec<Condition>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

/// A field that has one of some values.
#[derive(Debug)]
struct Condition {
    field: Field,
    values: Vec<String>,
    /// The values as each matching line without escapes has them. Empty if a line may have them otherwise.
    written: Vec<memmem::Finder<'static>>,
}

impl Filter {
    /// Records from `since` on, and before `until`.
    pub fn between(since: Option<Timestamp>, until: Option<Timestamp>) -> Self {
        Self {
            conditions: Vec::new(),
            since,
            until,
        }
    }

    /// Only records whose field has one of these values. Without values, there is no condition.
    #[must_use]
    pub fn with(mut self, field: Field, values: Vec<String>) -> Self {
        if !values.is_empty() {
            self.conditions.push(Condition::new(field, values));
        }
        self
    }

    /// The record of a line, if it matches.
    ///
    /// A line that cannot match is not parsed, if it begins and ends as a record does.
    ///
    /// # Errors
    /// [`LineError`] for a line that is no record.
    pub fn read<'l>(&self, line: &'l [u8]) -> Result<Option<LogRecord<'l>>, LineError> {
        if !self.may_match(line) {
            return Ok(None);
        }
        let record = LogRecord::parse(line)?;
        Ok(self.matches(&record)?.then_some(record))
    }

    fn may_match(&self, line: &[u8]) -> bool {
        let has_values = self.conditions.iter().all(|condition| {
            let mut written = condition.written.iter();
            condition.written.is_empty() || written.any(|value| value.find(line).is_some())
        });
        // With an escape, a value may be written in another way.
        has_values
            || !(line.starts_with(BEGINNING) && line.ends_with(b"}"))
            || memchr(b'\\', line).is_some()
    }

    fn matches(&self, record: &LogRecord<'_>) -> Result<bool, LineError> {
        let mut conditions = self.conditions.iter();
        Ok(conditions.all(|it| it.matches(record)) && self.is_in_time(record)?)
    }

    fn is_in_time(&self, record: &LogRecord<'_>) -> Result<bool, LineError> {
        if self.since.is_none() && self.until.is_none() {
            return Ok(true);
        }
        let time: Timestamp = record.timestamp.parse().map_err(|_| LineError::NoTime)?;
        Ok(self.since.is_none_or(|since| since <= time)
            && self.until.is_none_or(|until| time < until))
    }
}

impl Condition {
    fn new(field: Field, values: Vec<String>) -> Self {
        let values: Vec<String> = match field {
            Field::Trace => values.iter().map(|value| trace_digits(value)).collect(),
            Field::Server
            | Field::Agent
            | Field::Session
            | Field::Direction
            | Field::Kind
            | Field::Decision
            | Field::Tool
            | Field::Policy
            | Field::Reason
            | Field::Reference => values,
        };
        let is_plain = |value: &String| {
            let mut bytes = value.bytes();
            bytes.all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'))
        };
        let written = if field != Field::Trace && values.iter().all(is_plain) {
            let quoted = values.iter().map(|value| format!("\"{value}\""));
            quoted
                .map(|value| memmem::Finder::new(value.as_bytes()).into_owned())
                .collect()
        } else {
            Vec::new()
        };
        Self {
            field,
            values,
            written,
        }
    }

    fn matches(&self, record: &LogRecord<'_>) -> bool {
        let has = |text: &str| self.values.iter().any(|value| value == text);
        match self.field {
            Field::Server => has(&record.upstream),
            Field::Agent => has(&record.agent.id),
            Field::Session => has(&record.session_id),
            Field::Direction => has(&record.direction),
            Field::Kind => has(&record.kind),
            Field::Decision => has(&record.decision),
            Field::Tool => &*record.method == "tools/call" && has(&record.target),
            Field::Policy => record.policies.iter().any(|policy| has(policy)),
            Field::Reason => has(&record.reason.code),
            Field::Reference => has(&record.reference),
            Field::Trace => {
                let mut traces = record.traces().into_iter().filter(|it| !it.is_empty());
                traces.any(|trace| has(&trace_digits(trace)))
            }
        }
    }
}

/// A trace id without the hyphens of a UUID, in lower case.
fn trace_digits(trace: &str) -> String {
    trace.replace('-', "").to_ascii_lowercase()
}
