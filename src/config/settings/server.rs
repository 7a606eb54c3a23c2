//! How a server is started and watched, and how it knows users.

use std::time::Duration;

use crate::policy::MAX_LEVEL;

/// How a server knows the user. The audience is the server's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum UserIdentity {
    #[default]
    None,
    /// By an assertion in messages.
    Meta { audience: String },
    /// By an assertion in a header.
    Header { audience: String },
    /// By the agent's token, if it was issued for this audience.
    Forward { audience: String },
    /// By a token in exchange for the agent's.
    Exchange,
}

/// What policies know of one of several servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFacts {
    pub groups: Vec<String>,
    /// The highest level of a session that may use it.
    pub clearance: i64,
    /// Whether its results are untrusted content.
    pub untrusted: bool,
}

impl Default for ServerFacts {
    fn default() -> Self {
        Self {
            groups: Vec::new(),
            clearance: MAX_LEVEL,
            untrusted: false,
        }
    }
}

/// Whether the gate finds out by itself that a server can serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StartupProbe {
    /// Where agents, or the server, are reached over HTTP and somebody may ask for `GET /health`.
    #[default]
    On,
    Off,
}

/// Whether a server of several is started and reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ServerState {
    #[default]
    Enabled,
    /// Policies may name it, and it has no endpoint.
    Disabled,
}

/// Whether the gate is ready without this server of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ServerNeed {
    #[default]
    Optional,
    Required,
}

/// When an isolated server is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keep {
    /// When a session needs it.
    #[default]
    Cold,
    /// With each session, so that none waits for it.
    Warm,
}

/// The delays before a server is started again, and how often that is tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restart {
    /// Before the first restart; each further one waits twice as long.
    pub first: Duration,
    /// No restart waits longer.
    pub max: Duration,
    /// Starts without a handshake before the server is given up.
    pub tries: u32,
}

impl Default for Restart {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(250),
            max: Duration::from_secs(30),
            tries: 5,
        }
    }
}
