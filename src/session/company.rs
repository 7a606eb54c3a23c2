//! Whether one agent alone speaks in a conversation that many could share.

use std::net::IpAddr;
use std::sync::Arc;

/// Who has spoken in a conversation so far.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub enum Company {
    #[default]
    Nobody,
    /// One that names itself so, at one address.
    One(Arc<str>, Option<IpAddr>),
    /// Several, or somebody who does not say who it is.
    Many,
}

impl Company {
    /// Somebody speaks, who calls itself that: JSON text.
    pub fn meets(&mut self, client: Option<&str>, peer: Option<IpAddr>) {
        let is_known = match (&*self, client) {
            (Self::Nobody, Some(client)) => {
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
