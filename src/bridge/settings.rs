//! What a bridge must be told.

use std::time::Duration;

use crate::gate::Terms;
use crate::wire::Limits;

/// Bounds of one bridge, all of them the gate's own.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The name of the protected server, for agents whose server does not name itself.
    pub server: String,
    /// Limits of what goes to the gate.
    pub from_agent: Limits,
    /// How deep a message may be that comes from it.
    pub from_upstream: Limits,
    /// How many requests of the agent may wait at once.
    pub max_in_flight: usize,
    /// How long the agent has for the questions of one round, and the server to confirm a
    /// subscription.
    pub request_timeout: Duration,
}

impl Settings {
    /// The same under the gate's own terms.
    #[must_use]
    pub fn under(&self, terms: &Terms) -> Self {
        Self {
            max_in_flight: terms.max_in_flight,
            request_timeout: terms.request_timeout,
            ..self.clone()
        }
    }

    /// Limits of what the gate has permitted: its edits may have made it longer.
    pub(super) fn permitted(&self) -> Limits {
        Limits {
            max_bytes: u32::MAX as usize,
            max_depth: self.from_upstream.max_depth.saturating_add(8),
            max_nodes: u32::MAX as usize,
        }
    }
}
