//! Structured records of every decision: JSON Lines, in order, complete or refused.
//!
//! The format is a public contract: `docs/audit-log-schema.md`.

mod builder;
mod fault;
mod file;
mod finish;
mod follower;
mod jsonl;
mod line;
mod memory;
mod observe;
mod pace;
mod queue;
mod record;
mod redact;
mod settings;
mod sink;
mod text;
mod writer;

pub use fault::{AuditFault, OpenError};
pub use file::check as check_file;
pub use jsonl::Audit;
pub use line::VERSION;
pub use memory::{Kept, Memory};
pub use observe::{Figures, LogState, Observe, Sighting, Story};
pub use record::{
    Agent, Consent, Correlation, Decision, Direction, Edit, EditOp, ErrorClass, Event, Kind, Level,
    Named, Reason, Record, Scope, Sensitivity, Shadow, Traced,
};
pub use redact::{MARKER, Redactor, SecretTooShort};
pub use settings::{Durability, OnFault, Settings, Stream};
pub use sink::{Begun, Sink};
pub use text::Text;

#[cfg(test)]
mod tests;
