//! A token of the agent's that its server may have, or that the gate exchanges for one.

use std::fmt;
use std::sync::Arc;

use secrecy::SecretString;

/// A token that the gate has verified, and the configured servers that its audiences name. Clones
/// share its text.
#[derive(Clone)]
pub struct AgentToken(Arc<Verified>);

struct Verified {
    text: SecretString,
    servers: Vec<Arc<str>>,
    /// Seconds since 1970.
    until: i64,
}

impl AgentToken {
    pub fn new(text: SecretString, servers: Vec<Arc<str>>, until: i64) -> Self {
        Self(Arc::new(Verified {
            text,
            servers,
            until,
        }))
    }

    pub fn text(&self) -> &SecretString {
        &self.0.text
    }

    /// Whether it was issued for this server.
    pub fn is_for(&self, server: &str) -> bool {
        self.0.servers.iter().any(|known| **known == *server)
    }

    /// From when the gate no longer accepts it, in seconds since 1970.
    pub fn until(&self) -> i64 {
        self.0.until
    }

    /// Whether the gate would still accept it, at this many seconds since 1970.
    pub fn is_valid_at(&self, now: i64) -> bool {
        now < self.0.until
    }
}

/// The same token of the same request.
impl PartialEq for AgentToken {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for AgentToken {}

impl fmt::Debug for AgentToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentToken")
            .field("servers", &self.0.servers)
            .finish_non_exhaustive()
    }
}
