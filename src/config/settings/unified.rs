//! One endpoint for several servers.

use std::collections::BTreeMap;
use std::time::Duration;

/// The endpoint of all servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unified {
    /// How long after a request for all servers the gate waits for all answers.
    pub wait: Duration,
    /// Names of tools, each with the one that it replaces.
    pub aliases: BTreeMap<String, String>,
}

impl Unified {
    pub(in crate::config) const WAIT: Duration = Duration::from_secs(5);
}
