//! How a message came, and the receiver of the answer when it does not pass.

use std::net::IpAddr;
use std::time::Duration;

use crate::session::Asker;
use crate::wire::{ArrivalForm, Side, Stream, TraceContext, TransportHeaders};

/// How a message came.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) from: Side,
    pub(super) stream: Stream,
    pub(super) form: ArrivalForm,
    /// The address that it came from, if it came over a network.
    pub(super) peer: Option<IpAddr>,
    /// What the HTTP request says of a trace that brought it.
    pub(super) trace: Option<TraceContext>,
    /// Time since the clock was made.
    pub(super) at: Duration,
    pub(super) waited: Waited,
}

/// Whether a message is a reply that has waited, and with it its request, which has this id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waited {
    No,
    ForAPerson(u64),
}

/// Where a message of the agent's came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub stream: Stream,
    /// The address, if it came over a network.
    pub peer: Option<IpAddr>,
    /// What the HTTP request says of a trace that brought it.
    pub trace: Option<TraceContext>,
    /// What else it says of it.
    pub carrier: TransportHeaders,
}

impl Source {
    /// A message that no HTTP request has brought.
    pub fn on(stream: Stream) -> Self {
        Self {
            stream,
            peer: None,
            trace: None,
            carrier: TransportHeaders::default(),
        }
    }
}

impl Arrival {
    /// From the server, which has no address.
    pub(super) fn of_the_server(stream: Stream, form: ArrivalForm, at: Duration) -> Self {
        Self {
            from: Side::Upstream,
            stream,
            form,
            peer: None,
            trace: None,
            at,
            waited: Waited::No,
        }
    }

    /// Whole, as everything that an agent sends.
    pub(super) fn with(source: &Source, from: Side, at: Duration) -> Self {
        Self {
            from,
            stream: source.stream,
            form: ArrivalForm::Whole,
            peer: source.peer,
            trace: source.trace,
            at,
            waited: Waited::No,
        }
    }
}

/// The receiver of the answer when a message does not pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum AnswerTo {
    #[default]
    None,
    /// The one who asked, under its own id.
    Asker(Side, Asker),
    /// The one who waits for the reply that the message was to be, under its own id.
    Waiting(Side, Asker),
    /// The sender of something whose id could not be read.
    Unreadable,
}

/// Whether the bridge before an agent asks it for a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lends {
    Nothing,
    Model,
}
