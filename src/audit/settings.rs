//! Where audit records go, and how surely.

use std::path::PathBuf;
use std::time::Duration;

use super::rotation::Rotation;

/// What `[audit]` of the configuration means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Appended to, created for the owner alone. Its directory has to exist.
    pub file: Option<PathBuf>,
    pub rotation: Rotation,
    pub stream: Stream,
    pub durability: Durability,
    pub on_fault: OnFault,
    pub checkpoints: Option<Checkpoints>,
}

/// Signed checkpoints of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoints {
    /// An Ed25519 private key in PEM.
    pub key_file: PathBuf,
    /// The longest time for which a record waits for its checkpoint.
    pub interval: Duration,
}

/// The standard stream that gets every record, beside the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// For agents over HTTP only: with agents on stdio it belongs to the protocol.
    Stdout,
    Stderr,
    None,
}

/// When a record counts as taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Durability {
    /// Once it is queued. A gate that is killed loses what it had not yet written.
    #[default]
    Async,
    /// Once it is written and the file synced. One sync serves all that wait for it.
    Strict,
}

/// What a record means for the call while records cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnFault {
    /// No record, no call.
    #[default]
    Deny,
    /// Calls go on; what does not fit into the queue is lost and counted.
    Warn,
}
