//! What the agent sends, and what is known of it.

use std::fmt;
use std::net::IpAddr;

use bytes::Bytes;

use crate::wire::{Stream, TraceContext, TransportHeaders};

/// Which of the protocol's two eras a conversation is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConversationKind {
    /// Begun by `initialize`, until 2025-11-25.
    Session,
    /// All requests of one identity, from 2026-07-28 on.
    Stateless,
}

/// What is known of a message besides its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brought {
    /// Whose connection brought it.
    pub peer: IpAddr,
    /// What the request says of a trace that brought it.
    pub trace: Option<TraceContext>,
    pub carrier: TransportHeaders,
}

/// What the agent sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inbound {
    Frame {
        stream: Stream,
        bytes: Bytes,
        brought: Brought,
    },
    /// The agent closed this POST, which cancels its request (stateless only).
    HungUp { stream: Stream },
    /// No stream is open that would bring a `ping` to the agent, by the id that was minted for it.
    Unheard { minted: u64 },
}

/// Takes what the agent sent where it was read, and yields what it leaves to the inbox.
pub struct Router(Box<dyn Fn(Inbound) -> Option<Inbound> + Send + Sync>);

impl Router {
    pub fn new(route: impl Fn(Inbound) -> Option<Inbound> + Send + Sync + 'static) -> Self {
        Self(Box::new(route))
    }

    pub(super) fn offer(&self, inbound: Inbound) -> Option<Inbound> {
        (self.0)(inbound)
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router").finish_non_exhaustive()
    }
}
