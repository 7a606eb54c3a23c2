//! Results, and requests with their results, that wait for a person.

use std::sync::Arc;

use crate::consent::TicketId;
use crate::policy::Denial;
use crate::session::{Replied, Run, SessionId, State, Taken};
use crate::wire::Id;

use crate::gate::stop::Reply;

/// A result that is kept until its agent brings what a person says to it.
#[derive(Debug, Clone)]
pub(in crate::gate) struct KeptReply {
    pub(super) session: SessionId,
    pub(super) ticket: TicketId,
    pub(super) denial: Denial,
    pub(super) run: Run,
    /// `None` once the agent has come back. The gate still answers how the question ended.
    pub(super) whole: Option<Arc<Whole>>,
}

/// A result, and the request that it answers.
#[derive(Debug)]
pub(in crate::gate) struct Whole {
    pub(super) reply: Reply,
    pub(super) frame: Vec<u8>,
}

/// Takes out a request that waits with its reply. `false` if it has ended already.
pub(super) fn take_out(state: &mut State, reply: Option<Replied>) -> bool {
    reply.is_none_or(|reply| take_replied(state, reply).is_some())
}

pub(super) fn take_replied(state: &mut State, reply: Replied) -> Option<Taken> {
    state
        .waiting
        .to_upstream
        .take_replied(&Id::integer(reply.minted))
}
