//! Whether one agent alone speaks in a conversation that many could share.

use std::net::IpAddr;
use std::sync::Arc;

/// Who has spoken in a conversation so far.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub enum Company {
    #[default]
    None,
    /// One agent, by its `clientInfo` and its address.
    One(Arc<str>, Option<IpAddr>),
    /// Several agents, or one without a `clientInfo`.
    Many,
}

impl Company {
    /// Notes the `clientInfo` (JSON text) and the address of a message.
    pub fn meets(&mut self, client: Option<&str>, peer: Option<IpAddr>) {
        let is_known = match (&*self, client) {
            (Self::None, Some(client)) => {
                *self = Self::One(client.into(), peer);
                return;
            }
            (Self::One(known, at), Some(client)) => **known == *client && *at == peer,
            (Self::Many, _) | (_, None) => false,
        };
        if !is_known {
            *self = Self::Many;
        }
    }

    pub fn is_one(&self) -> bool {
        matches!(self, Self::One(..))
    }
}
