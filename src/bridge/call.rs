//! A request of the agent's, and what the server wants to know before it answers it.

use std::time::Duration;

use crate::gate::Source;
use crate::wire::{Fragment, Id, KnownMethod};

/// One request of the agent's.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) source: Source,
    pub(super) method: KnownMethod,
    /// What went to the gate: repeated with the agent's answers, if the server asks for any.
    pub(super) frame: String,
    /// How often the server has asked.
    pub(super) rounds: u32,
    /// What it asks now.
    pub(super) round: Option<Round>,
}

/// What a server wants to know before it goes on.
#[derive(Debug)]
pub(super) struct Round {
    /// Its own note, which comes back to it as it was.
    pub(super) note: Option<Fragment>,
    pub(super) asks: Vec<Ask>,
    pub(super) deadline: Duration,
}

#[derive(Debug)]
pub(super) struct Ask {
    /// The server's name for the question.
    pub(super) key: String,
    /// The id under which the agent knows it.
    pub(super) question: u64,
    pub(super) method: KnownMethod,
    pub(super) answer: Option<Fragment>,
}

/// The request that a question belongs to.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) call: Id,
}
