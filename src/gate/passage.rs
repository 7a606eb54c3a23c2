//! What whoever carries a permitted message must know of it.

use std::borrow::Cow;
use std::sync::Arc;

use super::user_identity::UserProof;
use crate::audit::Redactor;
use crate::wire::{ArrivalForm, KnownMethod, OutgoingTrace, Stream};

/// Where a permitted message belongs, and what it is: what a transport says of it outside its text
/// is made from this, never copied from what came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// To the agent: the stream of the request that the message belongs to, or
    /// [`Stream::MAIN`] if it belongs to none. To the upstream: always the main one.
    pub stream: Stream,
    pub carried: Carried,
    /// The trace that whoever takes it goes on with, where traces are collected.
    pub trace: Option<OutgoingTrace>,
    /// To the upstream: by what it knows the user, where it learns that beside the text.
    pub proof: Option<UserProof>,
}

/// What a permitted message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carried {
    Request {
        /// The id that the gate minted, as it stands in the text.
        id: u64,
        method: KnownMethod,
        /// The tool, prompt or resource that a request for one is about.
        name: Option<Box<str>>,
        /// The revision that the message speaks if it says so itself (from `2026-07-28` on).
        revision: Option<Arc<str>>,
    },
    Notification {
        method: KnownMethod,
        /// The request that it ends, by the id that the gate minted.
        ends: Option<u64>,
        /// As for requests.
        revision: Option<Arc<str>>,
    },
    Reply {
        /// The code, if it is an error.
        error: Option<i64>,
        /// How it came; what the gate answers itself is whole.
        form: ArrivalForm,
    },
}

impl Carried {
    /// What a request is about is called otherwise from here on.
    pub(super) fn rename(&mut self, other: &str) {
        if let Some(name) = self.name() {
            *name = other.into();
        }
    }

    /// What it is about is said without secrets of the gate's own, as in the text.
    pub(super) fn conceal(&mut self, secrets: &Redactor) {
        if let Some(name) = self.name()
            && let Cow::Owned(without) = secrets.redact(name)
        {
            *name = without.into();
        }
    }

    fn name(&mut self) -> Option<&mut Box<str>> {
        match self {
            Self::Request { name, .. } => name.as_mut(),
            Self::Notification { .. } | Self::Reply { .. } => None,
        }
    }
}
