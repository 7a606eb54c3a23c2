//! Who counts what happens, without reading the log.

use std::fmt;

use super::fault::AuditFault;
use super::record::{Decision, Direction, Event, Kind, Record, TraceFields};
use super::text::Text;

/// Receives every record once its outcome is known.
pub trait AuditObserver: Send + Sync + fmt::Debug {
    /// Called on the path of a message: must return at once. With the fault if the record was not
    /// taken, so that what it is about does not happen.
    fn observe(&self, sighting: &AuditEventSummary, fault: Option<&AuditFault>);
}

/// A summary of a record. The texts are words of the gate's own, except where a field says
/// otherwise.
#[derive(Debug, Clone)]
pub struct AuditEventSummary {
    pub kind: Kind,
    pub event: Option<Event>,
    pub direction: Option<Direction>,
    pub decision: Option<Decision>,
    pub stage: Option<Text>,
    /// A policy's own word, where a policy decided.
    pub code: Option<Text>,
    pub duration_us: Option<u64>,
    /// The server, by its name in the configuration.
    pub upstream: Option<Text>,
    /// The session, by the gate's own name for it.
    pub session: Option<Text>,
    /// The gate's name for the message.
    pub reference: Option<Text>,
    /// What a peer wrote; not redacted yet.
    pub method: Option<Text>,
    /// The same.
    pub target: Option<Text>,
    /// What belongs in a trace, if this message is in one.
    pub story: Option<AuditTrace>,
}

/// The parts of a record that a trace tells. What peers chose is not redacted yet.
#[derive(Debug, Clone)]
pub struct AuditTrace {
    pub traced: TraceFields,
    pub reference: Option<Text>,
    pub upstream: Option<Text>,
    pub target: Option<Text>,
    pub policies: Vec<Text>,
    pub revision: Option<Text>,
    pub error_code: Option<i64>,
}

impl AuditEventSummary {
    pub(crate) fn of(record: &Record) -> Self {
        Self {
            kind: record.kind,
            event: record.event,
            direction: record.direction,
            decision: record.decision,
            stage: record.stage.clone(),
            code: record.reason.code.clone(),
            duration_us: record.duration_us,
            upstream: record.upstream.clone(),
            session: record.session_id.clone(),
            reference: record.reference.clone(),
            method: record.method.clone(),
            target: record.target.clone(),
            story: record
                .traced
                .as_deref()
                .map(|traced| AuditTrace::of(record, traced)),
        }
    }
}

impl AuditTrace {
    fn of(record: &Record, traced: &TraceFields) -> Self {
        Self {
            traced: traced.clone(),
            reference: record.reference.clone(),
            upstream: record.upstream.clone(),
            target: record.target.clone(),
            policies: record.policies.clone(),
            revision: record.revision.clone(),
            error_code: record.error_code,
        }
    }
}

/// How the log is doing, since the gate started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogFigures {
    /// Records that were taken and are not yet written.
    pub queued: u64,
    pub written: u64,
    /// Records that were refused or dropped.
    pub lost: u64,
    /// How often writing ceased to work.
    pub faults: u64,
    pub state: LogState,
}

/// Whether records are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogState {
    #[default]
    Working,
    /// Writing does not work, and nothing waits for it.
    Faulty,
    /// Writing does not work, so that calls are refused.
    Denying,
}
