//! Which instance of the server a session speaks to: the open one, or the isolated one. One way.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::parked::Attempt;
use crate::wire::{Stream, TraceContext};

/// Where a session stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Place {
    /// It speaks to the server as every session does that begins.
    #[default]
    Open,
    /// It has left the open server, and the isolated one does not know yet what was agreed on.
    Moving,
    /// It speaks to the isolated server, or to nobody while that one does not run.
    Isolated,
}

/// One of the two instances of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Instance {
    Open,
    Isolated,
}

/// Which instances of the server are reached over HTTP, where headers repeat what messages say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OverHttp {
    pub open: bool,
    pub isolated: bool,
}

impl OverHttp {
    pub fn reaches(self, instance: Instance) -> bool {
        match instance {
            Instance::Open => self.open,
            Instance::Isolated => self.isolated,
        }
    }
}

/// One life of one server, among all that a session speaks to in the course of time: what a server
/// said or asked in an earlier one counts no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Run {
    /// The session has left the open server.
    pub has_left: bool,
    /// How often a server had ended before.
    pub ended: u64,
}

/// A message of the agent's that waits until its session has arrived.
#[derive(Debug)]
pub struct Travelling {
    /// The name under which the audit knows it.
    pub reference: Arc<str>,
    pub frame: Vec<u8>,
    pub stream: Stream,
    pub peer: Option<IpAddr>,
    pub trace: Option<TraceContext>,
    /// When it came: time since the clock was made.
    pub came: Duration,
    pub attempt: Attempt,
}

impl Run {
    pub fn instance(self) -> Instance {
        if self.has_left {
            Instance::Isolated
        } else {
            Instance::Open
        }
    }
}
