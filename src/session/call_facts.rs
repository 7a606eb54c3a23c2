//! What the records of a call repeat in that of its outcome.

use std::sync::Arc;

/// What a call needs and holds, and how its tool is defined.
#[derive(Debug, Default)]
pub struct CallFacts {
    /// The capabilities that the host says its tool needs.
    pub needed: Vec<Arc<str>>,
    /// Those that its agent is granted.
    pub held: Arc<[Arc<str>]>,
    /// The digest of its tool's definition, as the agent was told it last.
    pub digest: Option<Arc<str>>,
    /// What the server calls its own version.
    pub server_version: Option<Arc<str>>,
}
