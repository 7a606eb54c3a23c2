//! A line of the log as a record, without copies.

use std::borrow::Cow;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::audit::record::VERSION;
use crate::audit::verify::LineForm;

/// The fields of a record that questions are about. An absent text is empty, as the gate writes no empty one.
#[derive(Debug, Deserialize)]
pub struct LogRecord<'l> {
    version: u64,
    pub seq: u64,
    #[serde(borrow)]
    pub timestamp: LogText<'l>,
    #[serde(borrow)]
    pub instance: LogText<'l>,
    #[serde(borrow)]
    pub kind: LogText<'l>,
    #[serde(borrow, default)]
    pub reference: LogText<'l>,
    #[serde(borrow, default)]
    pub event: LogText<'l>,
    #[serde(borrow, default)]
    pub session_id: LogText<'l>,
    #[serde(borrow, default)]
    pub agent: LoggedAgent<'l>,
    #[serde(borrow, default)]
    pub operator: LogText<'l>,
    #[serde(borrow, default)]
    pub upstream: LogText<'l>,
    #[serde(borrow, default)]
    pub direction: LogText<'l>,
    #[serde(borrow, default)]
    pub method: LogText<'l>,
    #[serde(borrow, default)]
    pub target: LogText<'l>,
    #[serde(borrow, default)]
    pub decision: LogText<'l>,
    #[serde(borrow, default)]
    pub stage: LogText<'l>,
    #[serde(borrow, default)]
    pub policies: Vec<LogText<'l>>,
    #[serde(borrow, default)]
    pub reason: LoggedReason<'l>,
    #[serde(borrow, default)]
    pub revision: LogText<'l>,
    pub duration_us: Option<u64>,
    pub error_code: Option<i64>,
    #[serde(borrow, default)]
    pub error_class: LogText<'l>,
    #[serde(borrow, default)]
    pub correlation: LoggedCorrelation<'l>,
    #[serde(borrow, default)]
    pub sensitivity: LoggedSensitivity<'l>,
    #[serde(borrow, default)]
    pub redactions: Vec<LogText<'l>>,
    #[serde(default)]
    pub audit_fault: bool,
    /// The gate's span of the message, as W3C Trace Context.
    #[serde(borrow, default)]
    pub span: LogText<'l>,
}

#[derive(Debug, Default, Deserialize)]
pub struct LoggedAgent<'l> {
    #[serde(borrow)]
    pub id: LogText<'l>,
    #[serde(borrow, default)]
    pub asserted_name: LogText<'l>,
    #[serde(borrow, default)]
    pub roles: Vec<LogText<'l>>,
}

#[derive(Debug, Default, Deserialize)]
pub struct LoggedReason<'l> {
    #[serde(borrow, default)]
    pub code: LogText<'l>,
}

#[derive(Debug, Default, Deserialize)]
pub struct LoggedCorrelation<'l> {
    #[serde(borrow, default)]
    pub trace_id: LogText<'l>,
    #[serde(borrow, default)]
    pub traceparent: LogText<'l>,
}

#[derive(Debug, Default, Deserialize)]
pub struct LoggedSensitivity<'l> {
    #[serde(borrow, default)]
    pub after: LogText<'l>,
    #[serde(borrow, default)]
    pub datasets: Vec<LogText<'l>>,
    #[serde(borrow, default)]
    pub sources: Vec<LogText<'l>>,
    #[serde(borrow, default)]
    pub untrusted_from: Vec<LogText<'l>>,
}

/// A string of a record: a part of the line, unless it has escapes.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(transparent)]
pub struct LogText<'l>(#[serde(borrow)] Cow<'l, str>);

impl Deref for LogText<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// The reason why a line is no record.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// The gate was killed within the line, or still writes it.
    #[error("the line is a part of a record")]
    Half,
    #[error("the line is no record of the audit log: see its byte {byte}")]
    NoRecord { byte: usize },
    #[error("the record has version {0}, and this program reads version {VERSION}")]
    Version(u64),
    #[error("the `timestamp` of the record is no time")]
    NoTime,
}

impl<'l> LogRecord<'l> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a record of the log, no message; two equal names of a field are an error"
    )]
    pub fn parse(line: &'l [u8]) -> Result<Self, LineError> {
        /// The field that any version has.
        #[derive(Deserialize)]
        struct Version {
            version: u64,
        }

        // An array with the values would do for serde.
        if line.trim_ascii_start().starts_with(b"[") {
            return Err(LineError::NoRecord { byte: 1 });
        }
        let error = match serde_json::from_slice::<Self>(line) {
            Ok(record) if record.version == u64::from(VERSION) => return Ok(record),
            Ok(record) => return Err(LineError::Version(record.version)),
            Err(error) => error,
        };
        match serde_json::from_slice::<Version>(line) {
            Ok(Version { version }) if version != u64::from(VERSION) => {
                Err(LineError::Version(version))
            }
            _ if LineForm::of(line) == LineForm::Half => Err(LineError::Half),
            Ok(_) | Err(_) => Err(LineError::NoRecord {
                byte: error.column(),
            }),
        }
    }

    /// The trace: the one that the gate names, and the one of `traceparent`.
    pub fn traces(&self) -> [&str; 2] {
        let parent = self.correlation.traceparent.split('-').nth(1);
        [&self.correlation.trace_id, parent.unwrap_or_default()]
    }
}
