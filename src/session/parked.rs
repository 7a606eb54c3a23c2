//! Requests that wait before they are judged.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::wire::{Stream, TraceContext, TransportHeaders, WorkIds};

use super::request::Agreed;
use super::request::{Asker, Target};

/// A request that waits before it is judged.
#[derive(Debug, Clone)]
pub struct Parked {
    pub awaits: Awaits,
    /// Who waits for the call, so that it can be cancelled while it waits.
    pub asker: Asker,
    /// The stream on which it came, and from where, if it came over a network.
    pub stream: Stream,
    pub peer: Option<IpAddr>,
    /// What the HTTP request said of a trace that brought it.
    pub trace: Option<TraceContext>,
    /// What headers said of it.
    pub carrier: TransportHeaders,
    /// What its agent's systems call it.
    pub correlation: Arc<WorkIds>,
    /// The call as it was received; it is judged from its first byte when its turn comes.
    pub frame: Vec<u8>,
    /// The revision that the call names, if it belongs to no session with a handshake.
    pub version: Option<Arc<str>>,
    /// What the call is about.
    pub target: Target,
    /// When it came: time since the clock was made.
    pub started: Duration,
    /// When it has waited long enough, whatever the upstream tells.
    pub deadline: Duration,
    /// The agent does not want it any more.
    pub cancelled: bool,
    /// The name under which the audit knows it.
    pub reference: Arc<str>,
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
