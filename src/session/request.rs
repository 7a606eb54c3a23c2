//! What is known of each request: who asked, what it is about, and what a person agreed to.

use std::sync::Arc;

use crate::policy::Consent;
use crate::wire::{Id, ListedMethod, Stream};

/// Who waits for a reply: its own id, and where no other may have the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Asker {
    pub id: Id,
    /// The stream that the id belongs to; [`Stream::MAIN`] where it belongs to the whole session.
    pub scope: Stream,
}

/// What a request is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Tool(String),
    Resource(String),
    Prompt(String),
    /// What the method of an extension does.
    Method(ListedMethod),
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
