//! What is known of each request: who asked, what it is about, and what a person agreed to.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::policy::Consent;
use crate::wire::{
    Id, ListedMethod, Span, Stream, TraceContext, TraceState, TransportHeaders, WorkIds,
};

use super::call_facts::CallFacts;
use super::pages::Offered;

/// Who waits for a reply: its own id, and where no other may have the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Asker {
    pub id: Id,
    /// The stream that the id belongs to; [`Stream::MAIN`] where it belongs to the whole session.
    pub scope: Stream,
}

/// When and from where a message came.
#[derive(Debug, Clone, Copy)]
pub struct Reception {
    /// Time since the clock was made.
    pub started: Duration,
    /// The stream on which it came, and an answer is waited for.
    pub stream: Stream,
    /// The address that it came from, if it came over a network.
    pub peer: Option<IpAddr>,
}

/// What was said of a message outside its body.
#[derive(Debug, Clone, Default)]
pub struct CarriedFacts {
    /// What the HTTP request said of a trace that brought it.
    pub trace: Option<TraceContext>,
    /// What is to be said along its trace.
    pub trace_state: Option<TraceState>,
    /// What headers say of it.
    pub headers: TransportHeaders,
    /// The revision that its sender speaks.
    pub version: Option<Arc<str>>,
}

/// Under which names the audit and other systems know a message.
#[derive(Debug, Clone, Default)]
pub struct AuditIds {
    /// The reference under which the audit knows it.
    pub reference: Arc<str>,
    /// `job_id`, `trace_id` and the like: names by which the agent's own systems refer to it.
    pub correlation: Arc<WorkIds>,
    /// Its own place in a trace.
    pub span: Option<Span>,
}

/// What a message asks for, once that is understood.
#[derive(Debug, Clone, Default)]
pub struct About {
    pub target: Target,
    /// How the tool is defined whose result is to be checked.
    pub offered: Option<Offered>,
    /// What is recorded of the tool, if it is a call.
    pub call: Option<Arc<CallFacts>>,
    /// Which round of one request it is, if its result may ask for more.
    pub turn: Turn,
}

/// Where a request stands among those that ask for one thing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Turn {
    /// The round that it answers; 0 if it is the first request.
    pub round: u32,
    /// How many answers it brings that the server has asked for.
    pub answers: usize,
    /// A digest of method, name and arguments, if its result may ask for more.
    pub subject: Option<[u8; 32]>,
}

/// What a request is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Target {
    Tool(String),
    Resource(String),
    Prompt(String),
    /// What the method of an extension does.
    Method(ListedMethod),
    #[default]
    Server,
}

/// Consent under which a request was judged: what comes of it, and what goes on with it, is judged
/// under the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreed {
    /// A digest of all that the consent is bound to, but for what a round goes on with: a yes to a request
    /// holds for the rounds that follow.
    pub binding: [u8; 32],
    /// The number of the question.
    pub ticket: Arc<str>,
    pub consent: Consent,
}

impl Target {
    /// The name or URI, for records.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Tool(name) | Self::Resource(name) | Self::Prompt(name) => Some(name),
            // The record has its method.
            Self::Method(_) | Self::Server => None,
        }
    }
}

impl Agreed {
    /// The bytes that it takes, about.
    pub fn weight(&self) -> usize {
        let by = self.consent.by.as_ref().map_or(0, String::len);
        size_of::<Self>() + self.consent.scope.len() + self.ticket.len() + by
    }
}
