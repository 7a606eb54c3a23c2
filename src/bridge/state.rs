//! How far a bridge has come.

use std::collections::VecDeque;

use crate::gate::{Permit, Source};
use crate::wire::Id;

use super::opening::Asked;
use super::server_session::ServerSession;
use super::session::Session;
use super::step::Step;

/// Everything about a bridge that changes.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) phase: Phase,
    /// What is to be done, in order. No frame of the agent's is read while anything is.
    pub(super) steps: VecDeque<Step>,
    /// The step that was told last is being carried out.
    pub(super) in_hand: Doing,
    /// The one frame that came while the handshake was under way.
    pub(super) held: Option<Box<(Source, Vec<u8>)>>,
    pub(super) agent: Presence,
    /// The latest `server/discover` of the agent that the server has not answered.
    pub(super) discoveries: VecDeque<(Source, Vec<u8>)>,
    /// A request with an id in use is being refused.
    pub(super) aside: Option<Aside>,
}

/// The id of a request that goes on, under which another one is answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Aside(pub(super) Id);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Doing {
    #[default]
    Nothing,
    Something,
}

/// Whether the agent can still be asked something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Presence {
    #[default]
    Sends,
    Closed,
}

/// Who is on the two sides of the bridge.
#[derive(Debug, Default)]
pub(super) enum Phase {
    /// No session was asked for.
    #[default]
    Apart,
    /// `initialize` was passed on.
    Asked(Box<Asked>),
    /// It was refused, and the server is asked what it speaks instead. With the refusal, which
    /// stands if the server does not say.
    Probing(Box<Asked>, Box<Permit>),
    /// The server has sessions of its own.
    Sessions,
    /// It has none.
    Bridged(Box<Session>),
    /// It has, and the agent has not.
    Carried(Box<ServerSession>),
}
