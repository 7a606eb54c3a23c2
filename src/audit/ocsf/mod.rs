//! Records in the words of the Open Cybersecurity Schema Framework: `API Activity` (class 6003).
//!
//! `docs/audit-log-schema.md` has the mapping.

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use serde::Serialize;

use super::line::push_line;
use super::query::{LogRecord, LogText};

/// The version of the framework.
pub const OCSF_VERSION: &str = "1.8.0";

const CLASS: u32 = 6003;
const CATEGORY: u32 = 6;

/// Attributes that only a control of security has.
const PROFILE: &str = "security_control";

const PRODUCT: &str = env!("CARGO_PKG_NAME");

/// Appends the record as one line, if it has a decision.
pub fn push_event(record: &LogRecord<'_>, out: &mut Vec<u8>) -> Exported {
    let event = ApiActivity::of(record);
    match event.map(|event| push_line(&event, out)) {
        Some(Ok(())) => Exported::Yes,
        // All of it can be written.
        Some(Err(_)) | None => Exported::No,
    }
}

/// Whether a record has a place in the class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exported {
    Yes,
    No,
}

#[derive(Debug, Serialize)]
struct ApiActivity<'r> {
    class_uid: u32,
    class_name: &'static str,
    category_uid: u32,
    category_name: &'static str,
    activity_id: u32,
    activity_name: &'r str,
    type_uid: u32,
    /// Milliseconds since 1970.
    time: i64,
    severity_id: u32,
    status_id: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_code: Option<String>,
    #[serde(skip_serializing_if = "str::is_empty")]
    status_detail: &'r str,
    action_id: u32,
    disposition_id: u32,
    message: String,
    metadata: Metadata<'r>,
    actor: Actor<'r>,
    api: Api<'r>,
    src_endpoint: Named<'r>,
    dst_endpoint: Named<'r>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resources: Vec<Resource<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    authorizations: Vec<Authorization<'r>>,
    unmapped: Unmapped<'r>,
}

#[derive(Debug, Serialize)]
struct Metadata<'r> {
    version: &'static str,
    profiles: [&'static str; 1],
    product: Product,
    uid: String,
    sequence: u64,
    event_code: &'r str,
    #[serde(skip_serializing_if = "str::is_empty")]
    correlation_uid: &'r str,
    original_time: &'r str,
    log_name: &'static str,
    log_version: String,
}

#[derive(Debug, Serialize)]
struct Product {
    name: &'static str,
    vendor_name: &'static str,
}

/// At least one of them is there.
#[derive(Debug, Default, Serialize)]
struct Actor<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<User<'r>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    app_name: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<Uid<'r>>,
}

#[derive(Debug, Serialize)]
struct User<'r> {
    uid: &'r str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    groups: Vec<Named<'r>>,
}

#[derive(Debug, Serialize)]
struct Api<'r> {
    operation: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<Named<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<Uid<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<Response<'r>>,
}

#[derive(Debug, Serialize)]
struct Response<'r> {
    code: i64,
    #[serde(skip_serializing_if = "str::is_empty")]
    error: &'r str,
}

#[derive(Debug, Serialize)]
struct Named<'r> {
    name: &'r str,
}

#[derive(Debug, Serialize)]
struct Uid<'r> {
    uid: &'r str,
}

#[derive(Debug, Serialize)]
struct Resource<'r> {
    name: &'r str,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Debug, Serialize)]
struct Authorization<'r> {
    decision: &'r str,
    policy: Policy<'r>,
}

#[derive(Debug, Serialize)]
struct Policy<'r> {
    uid: &'r str,
    #[serde(skip_serializing_if = "str::is_empty")]
    version: &'r str,
}

/// What the class has no attribute for, under the names of the log.
#[derive(Debug, Serialize)]
struct Unmapped<'r> {
    instance: &'r str,
    #[serde(skip_serializing_if = "str::is_empty")]
    event: &'r str,
    #[serde(skip_serializing_if = "str::is_empty")]
    direction: &'r str,
    #[serde(skip_serializing_if = "str::is_empty")]
    stage: &'r str,
    #[serde(skip_serializing_if = "str::is_empty")]
    revision: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_us: Option<u64>,
    #[serde(skip_serializing_if = "str::is_empty")]
    sensitivity: &'r str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    datasets: Vec<&'r str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sources: Vec<&'r str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    untrusted_from: Vec<&'r str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    traceparent: &'r str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    redactions: Vec<&'r str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    audit_fault: bool,
}

fn texts<'r>(list: &'r [LogText<'r>]) -> Vec<&'r str> {
    list.iter().map(|it| &**it).collect()
}

/// What a decision is called.
struct Outcome {
    severity: u32,
    status: u32,
    action: u32,
    disposition: u32,
}

impl Outcome {
    fn of(record: &LogRecord<'_>) -> Option<Self> {
        // 1 is success, 2 failure; an error of the server passes.
        let status = match record.error_code {
            None if record.error_class.is_empty() => 1,
            None | Some(_) => 2,
        };
        match &*record.decision {
            "ALLOW" => Some(Self {
                severity: 1,
                status,
                action: 1,
                disposition: 1,
            }),
            "BLOCK" => Some(Self {
                severity: 3,
                status: 2,
                action: 2,
                disposition: 2,
            }),
            "ERROR" => Some(Self {
                severity: 4,
                status: 2,
                action: 2,
                disposition: 27,
            }),
            _ => None,
        }
    }
}

impl<'r> ApiActivity<'r> {
    fn of(record: &'r LogRecord<'_>) -> Option<Self> {
        let outcome = Outcome::of(record)?;
        let time: Timestamp = record.timestamp.parse().ok()?;
        let operation = some(&record.method).unwrap_or(&record.kind);
        let (activity_id, activity_name) = activity(record);
        let sides = Sides::of(record);
        let authorization = |policy: &'r super::query::LogText<'_>| Authorization {
            decision: &record.decision,
            policy: Policy {
                uid: policy,
                version: &record.revision,
            },
        };
        let redactions = record.redactions.iter().map(|it| &**it);
        Some(Self {
            class_uid: CLASS,
            class_name: "API Activity",
            category_uid: CATEGORY,
            category_name: "Application Activity",
            activity_id,
            activity_name,
            type_uid: CLASS * 100 + activity_id,
            time: time.as_millisecond(),
            severity_id: outcome.severity,
            status_id: outcome.status,
            status_code: record.error_code.map(|code| code.to_string()),
            status_detail: &record.reason.code,
            action_id: outcome.action,
            disposition_id: outcome.disposition,
            message: message(record, operation),
            metadata: Metadata::of(record),
            actor: sides.actor,
            api: Api {
                operation,
                service: some(&record.upstream).map(|name| Named { name }),
                request: some(&record.reference).map(|uid| Uid { uid }),
                response: record.error_code.map(|code| Response {
                    code,
                    error: &record.reason.code,
                }),
            },
            src_endpoint: Named { name: sides.source },
            dst_endpoint: Named {
                name: sides.destination,
            },
            resources: resource(record).into_iter().collect(),
            authorizations: record.policies.iter().map(authorization).collect(),
            unmapped: Unmapped {
                instance: &record.instance,
                event: &record.event,
                direction: &record.direction,
                stage: &record.stage,
                revision: &record.revision,
                duration_us: record.duration_us,
                sensitivity: &record.sensitivity.after,
                datasets: texts(&record.sensitivity.datasets),
                sources: texts(&record.sensitivity.sources),
                untrusted_from: texts(&record.sensitivity.untrusted_from),
                traceparent: &record.correlation.traceparent,
                redactions: redactions.collect(),
                audit_fault: record.audit_fault,
            },
        })
    }
}

impl<'r> Metadata<'r> {
    fn of(record: &'r LogRecord<'_>) -> Self {
        Self {
            version: OCSF_VERSION,
            profiles: [PROFILE],
            product: Product {
                name: PRODUCT,
                vendor_name: PRODUCT,
            },
            uid: format!("{}-{}", &*record.instance, record.seq),
            sequence: record.seq,
            event_code: &record.kind,
            correlation_uid: &record.correlation.trace_id,
            original_time: &record.timestamp,
            log_name: "audit",
            log_version: super::VERSION.to_string(),
        }
    }
}

/// Who did it, and between whom.
struct Sides<'r> {
    actor: Actor<'r>,
    source: &'r str,
    destination: &'r str,
}

/// The name of an agent that the gate does not know.
const UNKNOWN_AGENT: &str = "unknown agent";

/// The name of an operator whose token the gate does not know.
const UNKNOWN_OPERATOR: &str = "unknown operator";

impl<'r> Sides<'r> {
    fn of(record: &'r LogRecord<'_>) -> Self {
        let session = some(&record.session_id).map(|uid| Uid { uid });
        let agent = some(&record.agent.id).unwrap_or(UNKNOWN_AGENT);
        let server = some(&record.upstream).unwrap_or(PRODUCT);
        let by = |app_name, source, destination| Self {
            actor: Actor {
                app_name,
                ..Actor::default()
            },
            source,
            destination,
        };
        match (&*record.kind, &*record.direction) {
            ("admin_request", _) => {
                let operator = some(&record.operator);
                let mut sides = by("", operator.unwrap_or(UNKNOWN_OPERATOR), PRODUCT);
                let groups = Vec::new();
                sides.actor.user = operator.map(|uid| User { uid, groups });
                if operator.is_none() {
                    sides.actor.app_name = UNKNOWN_OPERATOR;
                }
                sides
            }
            // The gate's own message.
            (_, "") => Self::with(by(PRODUCT, PRODUCT, server), session),
            ("server_request" | "notification", "upstream_to_agent") => {
                Self::with(by(server, server, agent), session)
            }
            // A reply is part of what the agent did.
            _ => {
                let groups = record.agent.roles.iter();
                let user = some(&record.agent.id).map(|uid| User {
                    uid,
                    groups: groups.map(|name| Named { name }).collect(),
                });
                let named = some(&record.agent.asserted_name);
                let unnamed = if user.is_some() { "" } else { UNKNOWN_AGENT };
                let actor = Actor {
                    user,
                    app_name: named.unwrap_or(unnamed),
                    session,
                };
                Self {
                    actor,
                    source: agent,
                    destination: server,
                }
            }
        }
    }

    fn with(mut self, session: Option<Uid<'r>>) -> Self {
        self.actor.session = session;
        self
    }
}

/// The activity by the method, as far as a method says it: a tool may do anything.
fn activity<'r>(record: &'r LogRecord<'_>) -> (u32, &'r str) {
    match (&*record.method, &*record.kind) {
        ("", "policy_reload") => (3, "Update"),
        ("", _) => (0, "Unknown"),
        (method, _) if method.ends_with("/list") || method.ends_with("/read") => (2, "Read"),
        ("prompts/get" | "tasks/get" | "tasks/result" | "completion/complete", _) => (2, "Read"),
        (method, _) => (99, method),
    }
}

fn resource<'r>(record: &'r LogRecord<'_>) -> Option<Resource<'r>> {
    let name = some(&record.target)?;
    let kind = match record.method.split_once('/') {
        Some(("tools", _)) => "tool",
        Some(("resources", _)) => "resource",
        Some(("prompts", _)) => "prompt",
        Some(_) | None => "other",
    };
    Some(Resource { name, kind })
}

/// One sentence for people.
fn message(record: &LogRecord<'_>, operation: &str) -> String {
    let mut message = format!("{} {operation}", &*record.decision);
    if let Some(target) = some(&record.target) {
        message += " ";
        message += target;
    }
    if let Some(code) = some(&record.reason.code) {
        message += ": ";
        message += code;
    }
    message
}

fn some(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}
