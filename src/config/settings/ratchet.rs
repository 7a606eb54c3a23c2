//! What a configuration says of what sessions have read.

use std::path::PathBuf;

/// Where it is kept, and under which names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ratchet {
    /// The journal; without it what is held ends with the gate.
    pub file: Option<PathBuf>,
    /// Sessions that are remembered.
    pub max_sessions: usize,
    /// The session of an agent on standard streams.
    pub session: Option<String>,
    /// A header that names the session, in lower case.
    pub session_header: Option<String>,
}

impl Default for Ratchet {
    fn default() -> Self {
        Self {
            file: None,
            max_sessions: 100_000,
            session: None,
            session_header: None,
        }
    }
}
