//! What `limits` means.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::gate::Rates;

/// What one message, one call and one stop may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one message from the agent.
    pub max_message_bytes: usize,
    /// Bytes of one message from the upstream.
    pub max_message_bytes_to_agent: usize,
    /// Nesting of one message; the outermost object counts 1.
    pub max_depth: usize,
    /// Values (scalars, arrays, objects) in one message.
    pub max_nodes: usize,
    /// Requests of one agent that may wait for their reply at the same time.
    pub max_in_flight: usize,
    /// How often requests may come, and how many calls a session may make.
    pub rates: Rates,
    /// How long the upstream may take to reply to one request.
    pub request_timeout: Duration,
    /// Whether that counts from the last progress that the upstream has told.
    pub progress_extends: bool,
    /// How long it may take in all, with progress; never less than without.
    pub max_request_timeout: Duration,
    /// The same for calls of single tools, by exact name.
    pub tool_timeouts: BTreeMap<String, Duration>,
    /// How long a stop waits for requests that are in flight.
    pub shutdown_grace_period: Duration,
    /// Conversations of agents over HTTP at the same time, if that was said.
    pub max_sessions: Option<usize>,
    /// Those of them that may be one agent's, if that was said.
    pub max_sessions_per_agent: Option<usize>,
    /// How long a conversation over HTTP lives in which nothing happens.
    pub session_idle_timeout: Duration,
    /// Connections of agents over HTTP at the same time.
    pub max_connections: usize,
    /// Bytes of memory that the gate's process may take.
    pub max_memory: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_message_bytes: 4 << 20,
            max_message_bytes_to_agent: 4 << 20,
            max_depth: 64,
            max_nodes: 50_000,
            max_in_flight: 256,
            rates: Rates::default(),
            request_timeout: Duration::from_mins(1),
            progress_extends: true,
            max_request_timeout: Duration::from_mins(10),
            tool_timeouts: BTreeMap::new(),
            shutdown_grace_period: Duration::from_secs(10),
            max_sessions: None,
            max_sessions_per_agent: None,
            session_idle_timeout: Duration::from_mins(5),
            max_connections: 2_048,
            max_memory: 512 << 20,
        }
    }
}
