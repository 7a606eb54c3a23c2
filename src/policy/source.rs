//! The texts that rules are compiled from.

use std::sync::Arc;

use super::decision::{PolicyId, PolicyOrigin};
use super::server_key::ServerKey;

/// One text that rules were compiled from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySource {
    /// The path as the user would write it, or `<…>` for what is built in or compiled.
    pub name: Arc<str>,
    pub text: Arc<str>,
    /// The server whose own policies these are, of several.
    pub server: Option<ServerKey>,
}

impl PolicySource {
    /// One that is of no single server.
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
            server: None,
        }
    }
}

/// Where a policy's text stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyEntry {
    pub id: PolicyId,
    pub origin: PolicyOrigin,
    /// The policy's own text, annotations included.
    pub text: Arc<str>,
    /// The server whose own policy it is, of several.
    pub server: Option<ServerKey>,
}

impl PolicyEntry {
    /// One without a name of its own is called by its line, which any edit above it moves.
    pub fn is_named(&self) -> bool {
        let id = self.id.as_str();
        let own = self.server.as_ref().and_then(|key| key.name_in(id));
        own.unwrap_or(id) != self.origin.to_string()
    }
}
