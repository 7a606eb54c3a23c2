//! What a configuration says of the audit log.

use std::path::PathBuf;
use std::time::Duration;

use crate::audit::syslog::{Facility, SyslogAddress};

/// Where decisions are recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    /// A JSON Lines file that is appended to, besides the stream.
    pub file: Option<PathBuf>,
    pub durability: Durability,
    pub on_fault: OnFault,
    /// In bytes; the file is rotated then.
    pub max_file_size: Option<usize>,
    /// Since the file's first record.
    pub max_file_age: Option<Duration>,
    /// An Ed25519 private key in PEM that signs checkpoints of the log.
    pub signing_key_file: Option<PathBuf>,
    pub checkpoint_interval: Duration,
    /// A secret of at least 32 bytes.
    pub digest_key_file: Option<PathBuf>,
    /// A server that gets every record too.
    pub syslog: Option<Syslog>,
}

/// A syslog server that follows the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Syslog {
    pub address: SyslogAddress,
    pub facility: Facility,
    /// A PEM file of authorities that are trusted besides those of the system.
    pub ca_file: Option<PathBuf>,
}

/// When a record counts as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Once it is queued; nothing is lost at a clean stop.
    Async,
    /// Once it is on disk, before the call goes out.
    Strict,
}

/// What happens to calls while records cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFault {
    /// They are refused until writing works again.
    Deny,
    /// They pass, with a warning in the log.
    Warn,
}

impl Default for Audit {
    fn default() -> Self {
        Self {
            file: None,
            durability: Durability::Async,
            on_fault: OnFault::Deny,
            max_file_size: None,
            max_file_age: None,
            signing_key_file: None,
            checkpoint_interval: Duration::from_mins(1),
            digest_key_file: None,
            syslog: None,
        }
    }
}
