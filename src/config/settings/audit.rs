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
    pub arguments: RecordedArguments,
    pub results: RecordedResults,
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

/// The audit log as a table of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlightRecorder {
    /// A database of DuckDB; created if there is none.
    pub file: PathBuf,
    pub event_kinds: EventKinds,
}

/// The names of the events of calls and results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKinds {
    /// `tool.call` and `tool.result`
    Tool,
    /// `mcp.tool_call` and `mcp.tool_result`
    Mcp,
}

/// When a record counts as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Once it is queued; nothing is lost at a clean stop.
    Async,
    /// Once it is on disk, before the call goes out.
    Strict,
}

/// What records have of the arguments of calls and prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordedArguments {
    Digest,
    /// The digest and the arguments, without secrets.
    Redacted,
    Off,
}

/// What records have of the results of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordedResults {
    /// Without secrets.
    Redacted,
    Off,
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
            arguments: RecordedArguments::Digest,
            results: RecordedResults::Off,
            max_file_size: None,
            max_file_age: None,
            signing_key_file: None,
            checkpoint_interval: Duration::from_mins(1),
            digest_key_file: None,
            syslog: None,
        }
    }
}
