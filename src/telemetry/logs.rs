//! Records of the audit as log records of OTLP.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use prost::Message;
use rustls::ClientConfig;
use tokio::runtime::Runtime;
use tracing::error;

use crate::audit::query::LogRecord;
use crate::audit::{Follower, Redactor};
use crate::wire::TraceContext;

use super::collector::{Collector, ExportFailure, SetupError};
use super::otlp::{
    AnyValue, ArrayValue, ExportLogsRequest, KeyValue, LogRecord as OtlpRecord, Resource,
    ResourceLogs, ScopeLogs, SeverityNumber, Value,
};
use super::semconv::{flags, resource, scope};
use super::settings::Settings;

/// Follows the audit log, and sends its records to a collector.
pub struct LogExporter {
    collector: Collector,
    runtime: Runtime,
    resource: Resource,
    refusal: Refusal,
}

/// Whether standard error has had the refusal of the collector: it gets the first alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Untold,
    Told,
}

/// A request is dear: records that come within this time are sent together.
const GATHERED: Duration = Duration::from_millis(200);

impl LogExporter {
    /// Connects to nothing yet. `tls` says which authorities are believed.
    pub fn new(settings: &Settings, tls: ClientConfig) -> Result<Self, SetupError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(SetupError::Thread)?;
        Ok(Self {
            collector: Collector::new(settings, tls)?,
            runtime,
            // No text of a peer is in it, and lines are redacted already.
            resource: resource(&settings.service, &Redactor::default()),
            refusal: Refusal::Untold,
        })
    }

    fn request(&self, lines: &[u8]) -> ExportLogsRequest {
        let lines = lines.split(|byte| *byte == b'\n');
        let lines = lines.filter(|line| !line.is_empty());
        ExportLogsRequest {
            resource_logs: vec![ResourceLogs {
                resource: Some(self.resource.clone()),
                scope_logs: vec![ScopeLogs {
                    scope: Some(scope()),
                    log_records: lines.map(log_record).collect(),
                }],
            }],
        }
    }

    /// The collector will never take them (OTLP, "Failures").
    fn lost(&mut self, records: usize, cause: &dyn fmt::Display) {
        if self.refusal == Refusal::Untold {
            error!("the collector of logs does not take {records} audit records: {cause}");
        }
        self.refusal = Refusal::Told;
    }
}

impl Follower for LogExporter {
    fn name(&self) -> Arc<str> {
        "the collector of logs".into()
    }

    fn gathers_for(&self) -> Duration {
        GATHERED
    }

    fn deliver(&mut self, lines: &[u8]) -> io::Result<()> {
        let records = memchr::memchr_iter(b'\n', lines).count();
        let request = Bytes::from(self.request(lines).encode_to_vec());
        match self.runtime.block_on(self.collector.send(request)) {
            Ok(0) => self.refusal = Refusal::Untold,
            Ok(refused) => self.lost(usize::try_from(refused).unwrap_or(records), &"it says so"),
            Err(failure @ ExportFailure::Passing(_)) => {
                return Err(io::Error::other(failure.to_string()));
            }
            Err(failure @ ExportFailure::Lasting(_)) => self.lost(records, &failure),
        }
        Ok(())
    }
}

/// A line of the log, whole, and what collectors look for.
fn log_record(line: &[u8]) -> OtlpRecord {
    let body = text(&String::from_utf8_lossy(line));
    let Ok(record) = LogRecord::parse(line) else {
        return OtlpRecord {
            body: Some(body),
            ..OtlpRecord::default()
        };
    };
    let time = record.timestamp.parse::<Timestamp>().ok();
    let time = time.and_then(|time| u64::try_from(time.as_nanosecond()).ok());
    let (severity, name) = match &*record.decision {
        "ERROR" => (SeverityNumber::Error, "ERROR"),
        "BLOCK" => (SeverityNumber::Warn, "WARN"),
        _ => (SeverityNumber::Info, "INFO"),
    };
    let span = TraceContext::parse(&record.span);
    OtlpRecord {
        time_unix_nano: time.unwrap_or_default(),
        observed_time_unix_nano: time.unwrap_or_default(),
        severity_number: severity.into(),
        severity_text: name.to_owned(),
        body: Some(body),
        attributes: attributes(&record),
        flags: span.as_ref().map_or(0, flags),
        trace_id: span.map_or_else(Vec::new, |span| span.trace.bytes().to_vec()),
        span_id: span.map_or_else(Vec::new, |span| span.span.bytes().to_vec()),
    }
}

/// Under the names that spans have.
fn attributes(record: &LogRecord<'_>) -> Vec<KeyValue> {
    let texts = [
        ("mcp_protector.kind", &*record.kind),
        ("mcp_protector.decision", &*record.decision),
        ("mcp_protector.reason", &*record.reason.code),
        ("mcp_protector.reference", &*record.reference),
        ("mcp.method.name", &*record.method),
        ("mcp_protector.target", &*record.target),
        ("mcp.session.id", &*record.session_id),
        ("mcp_protector.upstream", &*record.upstream),
    ];
    let there = texts.into_iter().filter(|(_, value)| !value.is_empty());
    let attribute = |key: &str, value| KeyValue {
        key: key.to_owned(),
        value: Some(value),
    };
    let mut attributes: Vec<_> = there
        .map(|(key, value)| attribute(key, text(value)))
        .collect();
    let values: Vec<_> = record.policies.iter().map(|policy| text(policy)).collect();
    if !values.is_empty() {
        let policies = Value::List(ArrayValue { values });
        let policies = AnyValue {
            value: Some(policies),
        };
        attributes.push(attribute("mcp_protector.policies", policies));
    }
    attributes
}

fn text(text: &str) -> AnyValue {
    AnyValue {
        value: Some(Value::Text(text.to_owned())),
    }
}

/// Where the collector is, but nothing that is sent.
impl fmt::Debug for LogExporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LogExporter").field(&self.collector).finish()
    }
}
