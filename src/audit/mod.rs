//! Structured records of every decision: JSON Lines, in order, complete or refused.
//!
//! The format is a public contract: `docs/audit-log-schema.md`.

mod backpressure;
mod body;
mod builder;
mod chain;
mod checkpoint;
mod compression;
mod digest;
mod disk;
mod fault;
mod file;
mod finding;
mod finish;
#[cfg(feature = "flight-recorder")]
pub mod flight_recorder;
mod follower;
mod follower_queue;
mod jsonl;
mod line;
mod line_escapes;
mod memory;
mod observer;
pub mod ocsf;
pub mod query;
mod queue;
pub mod read;
mod record;
mod redact;
mod rotation;
mod settings;
mod sink;
pub mod syslog;
mod text;
pub mod verify;
mod writer;

pub use body::Body;
#[cfg(test)]
pub(crate) use checkpoint::KeyFiles;
pub use checkpoint::{KeyError, VerifyingKey, check_signing_key};
pub use digest::DigestKey;
pub use disk::check as check_file;
pub use fault::{AuditFault, OpenError};
pub use finding::{Finding, Guard};
pub use finish::LIST_LIMIT;
pub use follower::Follower;
pub use jsonl::Audit;
pub use memory::{MemoryRecords, MemorySink};
pub use observer::{AuditEventSummary, AuditObserver, AuditTrace, LogFigures, LogState};
pub use record::VERSION;
pub use record::{
    Agent, Capabilities, Consent, ConsentOutcome, Correlation, Decision, Direction, Edit, EditOp,
    ErrorClass, Event, Kind, Level, Reason, Record, Scope, Sensitivity, SeqRange, Shadow,
    TargetStatus, ToolVersion, TraceFields, Transports,
};
pub use redact::{MARKER, Redactor, SecretTooShort};
pub use rotation::{Rotation, is_rotated, log_files};
pub use settings::{Checkpoints, Durability, OnFault, Settings, Stream};
pub use sink::{LinePosition, Sink};
pub use text::Text;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::{CheckedSink, LineCheck, line_problems};
