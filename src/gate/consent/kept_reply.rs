//! Results that wait for a person.

use std::sync::Arc;

use crate::consent::TicketId;
use crate::policy::Denial;
use crate::session::{Run, SessionId};

use crate::gate::stop::Reply;

/// Under which key of `inputRequests` the gate asks, and of `inputResponses` it is answered.
pub(in crate::gate) const KEY: &str = "mcp-protector/consent";

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
