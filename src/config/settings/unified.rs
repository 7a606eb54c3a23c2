//! One endpoint for several servers.

use std::collections::BTreeMap;
use std::time::Duration;

/// The endpoint of all servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unified {
    /// How long those that have answered wait for the others.
    pub wait: Duration,
    /// Other names of tools, each with the name that the tool has without it.
    pub aliases: BTreeMap<String, String>,
}

impl Unified {
    pub(in crate::config) const WAIT: Duration = Duration::from_secs(5);
}
