//! One endpoint for several servers.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::policy::ServerKey;

/// The endpoint of all servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unified {
    /// How long after a request for all servers the gate waits for all answers.
    pub wait: Duration,
    /// Names of tools, each with the one that it replaces.
    pub aliases: BTreeMap<String, String>,
}

/// A part of the endpoint of all servers, at a path of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    pub servers: Vec<ServerKey>,
    /// Patterns of names of tools; `None` for all tools of the servers.
    pub tools: Option<Vec<String>>,
}

impl Unified {
    pub(in crate::config) const WAIT: Duration = Duration::from_secs(5);
}
