//! A record of the log as rows of `fr_events`. `docs/flight-recorder.md` has the mapping.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::query::{LineError, LogRecord, LogText};
use super::calls::RecentCalls;
use super::{EventKinds, SOURCE};

/// A record, and what the table has of it.
#[derive(Debug)]
pub(super) struct Entry {
    /// The run of a gate, and the record's number in it.
    pub(super) instance: String,
    pub(super) seq: u64,
    pub(super) rows: Vec<Row>,
}

/// The columns of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) ts: String,
    pub(super) event_kind: String,
    pub(super) job_id: Option<String>,
    pub(super) source: String,
    pub(super) level: String,
    pub(super) message: String,
    pub(super) payload: String,
}

/// The fields of a record that only rows have.
#[derive(Debug, Default, Deserialize)]
struct Details<'l> {
    #[serde(borrow, default)]
    tool: Tool<'l>,
    #[serde(borrow, default)]
    capabilities: Option<Capabilities<'l>>,
    #[serde(borrow, default)]
    arguments_digest: LogText<'l>,
    #[serde(borrow)]
    arguments: Option<&'l RawValue>,
    #[serde(borrow)]
    result: Option<&'l RawValue>,
    #[serde(borrow)]
    params: Option<&'l RawValue>,
    #[serde(borrow, default)]
    correlation: Ids<'l>,
    consent: Option<Consent>,
}

#[derive(Debug, Default, Deserialize)]
struct Tool<'l> {
    #[serde(borrow, default)]
    digest: LogText<'l>,
    #[serde(borrow, default)]
    server_version: LogText<'l>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Capabilities<'l> {
    #[serde(borrow, default)]
    needed: Vec<LogText<'l>>,
    #[serde(borrow, default)]
    held: Vec<LogText<'l>>,
}

#[derive(Debug, Default, Deserialize)]
struct Ids<'l> {
    #[serde(borrow, default)]
    job_id: LogText<'l>,
    #[serde(borrow, default)]
    workflow_run_id: LogText<'l>,
}

#[derive(Debug, Deserialize)]
struct Consent {
    #[serde(default)]
    required: bool,
}

/// The words of a row beside its columns. What a record lacks is absent.
#[derive(Debug, Serialize)]
struct Payload<'l> {
    #[serde(skip_serializing_if = "str::is_empty")]
    tool_name: &'l str,
    #[serde(skip_serializing_if = "str::is_empty")]
    tool_version: &'l str,
    #[serde(skip_serializing_if = "Option::is_none")]
    inputs: Option<&'l RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outputs: Option<&'l RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<i64>,
    #[serde(skip_serializing_if = "str::is_empty")]
    job_id: &'l str,
    #[serde(skip_serializing_if = "str::is_empty")]
    workflow_run_id: &'l str,
    #[serde(skip_serializing_if = "str::is_empty")]
    trace_id: &'l str,
    #[serde(skip_serializing_if = "Option::is_none")]
    capability_id: Option<String>,
    #[serde(skip_serializing_if = "str::is_empty")]
    server_id: &'l str,
    #[serde(skip_serializing_if = "str::is_empty")]
    method: &'l str,
    #[serde(skip_serializing_if = "str::is_empty")]
    tool_arguments_schema_id: &'l str,
    #[serde(skip_serializing_if = "Option::is_none")]
    capabilities: Option<&'l Capabilities<'l>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consent_required: Option<bool>,
    #[serde(skip_serializing_if = "str::is_empty")]
    decision: &'l str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    redactions_applied: &'l [LogText<'l>],
    /// The line of the log.
    record: &'l RawValue,
}

/// A log message of the server, as far as a row tells of it.
#[derive(Debug, Default, Deserialize)]
struct LogMessage<'l> {
    #[serde(borrow, default)]
    level: LogText<'l>,
    #[serde(borrow, default)]
    logger: LogText<'l>,
    #[serde(borrow)]
    data: Option<&'l RawValue>,
    #[serde(borrow, default)]
    fields: Fields<'l>,
}

/// The data of a log message, if it is an object.
#[derive(Debug, Default, Deserialize)]
struct LogData<'l> {
    #[serde(borrow, default)]
    message: LogText<'l>,
    #[serde(borrow)]
    fields: Option<Fields<'l>>,
}

#[derive(Debug, Default, Deserialize)]
struct Fields<'l> {
    #[serde(borrow, default)]
    event_kind: LogText<'l>,
    #[serde(borrow, default)]
    server_id: LogText<'l>,
    #[serde(borrow, default)]
    message: LogText<'l>,
}

#[derive(Debug, Default, Deserialize)]
struct Progress<'l> {
    #[serde(borrow, rename = "progress")]
    done: Option<&'l RawValue>,
    #[serde(borrow)]
    total: Option<&'l RawValue>,
    #[serde(borrow, default)]
    message: LogText<'l>,
}

/// The columns that depend on what a record is about.
struct Columns<'l> {
    event_kind: Cow<'l, str>,
    source: Cow<'l, str>,
    level: Cow<'l, str>,
    message: String,
}

impl Entry {
    /// The run and the number of a record.
    pub(super) fn place(line: &[u8]) -> Option<(String, u64)> {
        #[derive(Deserialize)]
        struct RecordPlace<'l> {
            #[serde(borrow)]
            instance: LogText<'l>,
            seq: u64,
        }

        let place: RecordPlace<'_> = parse(line)?;
        Some((place.instance.to_string(), place.seq))
    }

    /// # Errors
    /// [`LineError`] for a line that is no record.
    pub(super) fn of(
        line: &[u8],
        kinds: EventKinds,
        calls: &mut RecentCalls,
    ) -> Result<Self, LineError> {
        let record = LogRecord::parse(line)?;
        if record.timestamp.parse::<Timestamp>().is_err() {
            return Err(LineError::NoRecord { byte: 1 });
        }
        let wrong = LineError::NoRecord { byte: 1 };
        let details: Details<'_> = parse(line).ok_or(wrong)?;
        let inputs = match &*record.kind {
            "tool_result" => calls.take(&record.reference),
            _ => inputs(&details),
        };
        let payload = payload(&record, &details, inputs.as_deref(), line);
        let payload = payload.ok_or(LineError::NoRecord { byte: 1 })?;
        let row = |columns: Columns<'_>| Row {
            ts: record.timestamp.to_string(),
            event_kind: columns.event_kind.into_owned(),
            job_id: (!details.correlation.job_id.is_empty())
                .then(|| details.correlation.job_id.to_string()),
            source: columns.source.into_owned(),
            level: columns.level.into_owned(),
            message: columns.message,
            payload: payload.clone(),
        };
        let is_permitted_call = &*record.kind == "tool_call" && &*record.decision == "ALLOW";
        let call = is_permitted_call.then(|| Columns {
            event_kind: kinds.call().into(),
            ..columns(&record, &details, kinds)
        });
        if let (true, Some(inputs)) = (is_permitted_call, inputs.clone()) {
            calls.keep(&record.reference, inputs);
        }
        let own = columns(&record, &details, kinds);
        Ok(Self {
            rows: [Some(own), call].into_iter().flatten().map(row).collect(),
            instance: record.instance.to_string(),
            seq: record.seq,
        })
    }
}

/// Read leniently: whatever is no such value is absent.
#[expect(
    clippy::disallowed_methods,
    reason = "a record of the log, which its strict reader has accepted"
)]
fn parse<'l, T: Deserialize<'l>>(json: &'l [u8]) -> Option<T> {
    serde_json::from_slice(json).ok()
}

/// The arguments as JSON text: whole, or their digest.
fn inputs(details: &Details<'_>) -> Option<String> {
    let digest = &*details.arguments_digest;
    let digest = (!digest.is_empty()).then(|| serde_json::to_string(digest).ok());
    let whole = details
        .arguments
        .map(|arguments| arguments.get().to_owned());
    whole.or(digest.flatten())
}

fn payload(
    record: &LogRecord<'_>,
    details: &Details<'_>,
    inputs: Option<&str>,
    line: &[u8],
) -> Option<String> {
    let capabilities = details.capabilities.as_ref();
    let needed = capabilities.filter(|it| !it.needed.is_empty());
    let is_call = &*record.method == "tools/call";
    let payload = Payload {
        tool_name: if is_call { &record.target } else { "" },
        tool_version: &details.tool.server_version,
        inputs: inputs.and_then(|inputs| parse(inputs.as_bytes())),
        outputs: details.result,
        status: status(record),
        #[expect(
            clippy::cast_precision_loss,
            reason = "exact for the first three centuries"
        )]
        duration_ms: record.duration_us.map(|duration| duration as f64 / 1000.0),
        error_code: record.error_code,
        job_id: &details.correlation.job_id,
        workflow_run_id: &details.correlation.workflow_run_id,
        trace_id: &record.correlation.trace_id,
        capability_id: needed.map(|it| {
            let names: Vec<&str> = it.needed.iter().map(|name| &**name).collect();
            names.join(",")
        }),
        server_id: &record.upstream,
        method: &record.method,
        tool_arguments_schema_id: &details.tool.digest,
        capabilities,
        consent_required: is_call.then(|| {
            details
                .consent
                .as_ref()
                .is_some_and(|consent| consent.required)
        }),
        decision: &record.decision,
        redactions_applied: &record.redactions,
        record: parse(line)?,
    };
    serde_json::to_string(&payload).ok()
}

fn status(record: &LogRecord<'_>) -> Option<&'static str> {
    let failed = record.error_code.is_some() || !record.error_class.is_empty();
    Some(match (&*record.kind, &*record.decision) {
        (_, "") => return None,
        (_, "BLOCK") => "denied",
        ("tool_call", "ALLOW") => "started",
        (_, "ALLOW") if !failed => "success",
        _ => "error",
    })
}

fn columns<'l>(record: &'l LogRecord<'_>, details: &Details<'l>, kinds: EventKinds) -> Columns<'l> {
    // The receiver does not get a rejected message: its row is a decision.
    let was_delivered = &*record.decision == "ALLOW";
    let params = details.params.filter(|_| was_delivered);
    let params = params.map(|params| params.get().as_bytes());
    match (&*record.method, params) {
        ("notifications/message", Some(params)) if &*record.direction == "upstream_to_agent" => {
            log_message(record, &parse(params).unwrap_or_default())
        }
        ("notifications/progress", Some(params)) => {
            let progress: Progress<'_> = parse(params).unwrap_or_default();
            Columns {
                event_kind: "mcp.progress".into(),
                message: progress.told(),
                ..of_gate(record, kinds)
            }
        }
        _ => of_gate(record, kinds),
    }
}

/// What the gate says itself.
fn of_gate<'l>(record: &'l LogRecord<'_>, kinds: EventKinds) -> Columns<'l> {
    let event_kind = match (&*record.kind, &*record.decision) {
        ("tool_result", _) => kinds.result().into(),
        // Such as `mcp.gate.startup`.
        (kind, "") => format!("mcp.gate.{kind}").into(),
        _ => "mcp.gate.decision".into(),
    };
    let sender = match &*record.direction {
        "agent_to_upstream" => &*record.agent.id,
        "upstream_to_agent" => &*record.upstream,
        _ => SOURCE,
    };
    let level = match &*record.decision {
        "BLOCK" => "warning",
        "ERROR" => "error",
        _ => "info",
    };
    let about = if record.method.is_empty() {
        &record.kind
    } else {
        &record.method
    };
    let words = [
        about,
        &record.target,
        &record.event,
        &record.decision,
        &record.reason.code,
    ];
    let words = words.map(|word| &**word).into_iter();
    let message: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    Columns {
        event_kind,
        source: sender.into(),
        level: level.into(),
        message: message.join(" "),
    }
}

/// What the server says of itself: only its own rows may look like it.
fn log_message<'l>(record: &'l LogRecord<'_>, message: &LogMessage<'l>) -> Columns<'l> {
    let text = message.data.map(RawValue::get).unwrap_or_default();
    let data: LogData<'_> = parse(text.as_bytes()).unwrap_or_default();
    let fields = data.fields.as_ref().unwrap_or(&message.fields);
    let said = [&*data.message, &*fields.message];
    let said = said.into_iter().find(|text| !text.is_empty());
    let said = said.map(str::to_owned).or_else(|| parse(text.as_bytes()));
    let source = [&*fields.server_id, &*message.logger, &*record.upstream];
    let source = source.into_iter().find(|name| !name.is_empty());
    let kind = &*fields.event_kind;
    let level = if message.level.is_empty() {
        "info"
    } else {
        &message.level
    };
    Columns {
        event_kind: if is_servers_own(kind) {
            kind
        } else {
            "mcp.logging"
        }
        .to_owned()
        .into(),
        source: source.unwrap_or_default().to_owned().into(),
        level: level.to_owned().into(),
        message: said.unwrap_or_else(|| text.to_owned()),
    }
}

/// Whether a server may call its events so: a short name, and none that the gate uses.
fn is_servers_own(kind: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let is_gates = ["mcp.", "tool."]
        .into_iter()
        .any(|begin| kind.starts_with(begin));
    (1..=64).contains(&kind.len()) && kind.bytes().all(is_plain) && !is_gates
}

impl Progress<'_> {
    fn told(&self) -> String {
        let number = |value: Option<&RawValue>| value.map(|value| value.get().to_owned());
        let numbers = [number(self.done), number(self.total)];
        let numbers = numbers.into_iter().flatten().collect::<Vec<_>>().join("/");
        let words = [numbers.as_str(), &self.message].into_iter();
        words
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }
}
