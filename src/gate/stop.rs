//! Reasons for which a message does not pass now.

use std::sync::Arc;

use crate::consent::{Binding, Question};
use crate::policy::{Denial, PolicySnapshot};
use crate::session::Exchange;
use crate::wire::{ArrivalForm, Stream};

use super::rejection::Rejection;

/// Why there is no decision that lets a message pass now.
#[derive(Debug)]
pub(super) enum Stop {
    Refused(Rejection),
    /// Whether the tool exists is not known yet: the call waits for the catalogue.
    Park,
    /// The agent's model works for the server: the call waits until it is done.
    Hold,
    /// A person can lift what forbids it: it waits for an answer.
    Ask(Box<Asking>),
    /// Its session goes on with another server: what was said of it by what the first one offers
    /// counts for nothing there.
    Elsewhere,
    /// The requester already has its answer.
    Settled,
    /// The agent has disconnected, so no answer can be sent.
    AgentGone,
}

impl<R: Into<Rejection>> From<R> for Stop {
    fn from(refusal: R) -> Self {
        Self::Refused(refusal.into())
    }
}

impl Stop {
    /// Why the message is rejected, if it is.
    pub(super) fn rejection(&self) -> Option<&Rejection> {
        match self {
            Self::Refused(rejection) => Some(rejection),
            Self::Park
            | Self::Hold
            | Self::Ask(_)
            | Self::Elsewhere
            | Self::Settled
            | Self::AgentGone => None,
        }
    }
}

/// A request that a person is to be asked about.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) binding: Binding,
    pub(super) question: Question,
    /// What the request says without what it goes on with, if it goes on with anything.
    pub(super) anew: Option<String>,
    pub(super) denial: Denial,
    pub(super) snapshot: Arc<PolicySnapshot>,
    pub(super) form: Form,
    pub(super) shown_on: Stream,
    /// JSON text.
    pub(super) progress: Option<String>,
    /// Set if it is a result, for what it asks of the agent.
    pub(super) reply: Option<Reply>,
}

/// How the agent's client is asked to show a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// It has not said that it shows any.
    None,
    /// By a request, in a session.
    Request,
    /// By a result that asks for more, without one.
    Result,
}

/// A result that a person is to be asked about.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) minted: u64,
    pub(super) exchange: Exchange,
    pub(super) form: ArrivalForm,
}
