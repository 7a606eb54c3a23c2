//! How an agent opens a session.

use std::sync::Arc;
use std::time::Duration;

use crate::gate::Source;
use crate::session::Spoken;
use crate::wire::{Fragment, Id};

/// A handshake that an agent has begun.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) id: Id,
    pub(super) source: Source,
    /// Time since the clock was made.
    pub(super) since: Duration,
    pub(super) opening: Opening,
}

/// What an agent said of itself at `initialize`.
#[derive(Debug, Clone)]
pub(super) struct Opening {
    /// What it speaks; at first what it asked for.
    pub(super) spoken: Spoken,
    /// Its `clientInfo`.
    pub(super) client: Fragment,
    /// Its `capabilities`, as far as they mean the same without a session.
    pub(super) capabilities: Fragment,
    pub(super) urls: Urls,
}

/// Whether an agent lets servers ask its user to open a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Urls {
    Opened,
    Refused,
}

impl Opening {
    pub(super) fn revision(&self) -> Arc<str> {
        Arc::clone(&self.spoken.version)
    }
}
