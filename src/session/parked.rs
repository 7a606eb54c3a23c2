//! Requests that wait before they are judged.

use std::sync::Arc;
use std::time::Duration;

use super::request::{Agreed, Asker, AuditIds, CarriedFacts, Reception, Target};

/// A request that waits before it is judged.
#[derive(Debug, Clone)]
pub struct Parked {
    pub awaits: Awaits,
    /// Who waits for the call, so that it can be cancelled while it waits.
    pub asker: Asker,
    pub received: Reception,
    pub carried: CarriedFacts,
    pub ids: AuditIds,
    /// The call as it was received; it is judged from its first byte when its turn comes.
    pub frame: Vec<u8>,
    /// What the call is about.
    pub target: Target,
    /// When it has waited long enough, whatever the upstream tells.
    pub deadline: Duration,
    /// The agent does not want it any more.
    pub cancelled: bool,
    /// The number of the question that a person has said yes to, if it waits with that.
    pub agreed_to: Option<Arc<str>>,
    pub attempt: Attempt,
    /// What a person had agreed to when it was sent the first time.
    pub agreed: Option<Agreed>,
}

/// What a request waits for before it is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaits {
    /// That the gate knows what the upstream speaks or, of a call, what it offers.
    Upstream,
    /// That the agent's model has worked for the server.
    Model,
}

/// Whether a request was sent before, and was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Attempt {
    #[default]
    First,
    Second,
}
