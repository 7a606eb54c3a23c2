//! The right of a message to leave. Only this module makes one.

mod decide;
mod visible;

use crate::audit::Redactor;
use crate::policy::{AllowDecision, StandingConsent};
use crate::wire::{ArrivalForm, Edits, Side, Stream};

use super::own::OwnMessage;
use super::passage::{Carried, Passage};
use super::query::Respelled;
use super::user_identity::UserProof;

pub(super) use decide::{decide, revision};
pub(super) use visible::{listed, sees, visible_in};

/// A message that policy lets through, before its obligations were carried out.
#[derive(Debug)]
pub(super) struct Allowed {
    pub(super) allowances: Vec<AllowDecision>,
    /// The approval that stands for a person's answer, if a server asks for the agent's model.
    pub(super) standing: Option<StandingConsent>,
    /// What is to stand in place of paths and URIs.
    pub(super) respelled: Respelled,
    to: Side,
}

/// The right of one message to leave the gate, in either direction, as it was judged.
///
/// Nothing outside this file can make one:
///
/// ```compile_fail,E0451
/// use mcp_protector::{gate::Permit, wire::Side};
/// let forged = Permit { to: Side::Upstream, line: String::from("{}"), passage: todo!() };
/// ```
#[derive(Debug)]
pub struct Permit {
    to: Side,
    line: String,
    passage: Passage,
}

impl Permit {
    /// The side that the message may be sent to.
    pub fn to(&self) -> Side {
        self.to
    }

    /// Data that the transport needs to deliver the message.
    pub fn passage(&self) -> &Passage {
        &self.passage
    }

    pub fn line(&self) -> &str {
        &self.line
    }

    /// The message: one compact line without its line end.
    pub fn into_line(self) -> String {
        self.line
    }

    /// The same right for the same side, in the words of another revision or under the agent's names.
    ///
    /// INVARIANT: only `src/bridge/` and `src/unified/` call this, with what they made of [`Permit::line`] by
    /// edits and out of pieces, for the stream that the message was permitted to.
    #[must_use]
    pub fn translated(&self, line: String, carried: Carried) -> Self {
        self.translated_for(self.passage.stream, line, carried)
    }

    /// The same for a reply, in the form in which the server gave it.
    ///
    /// INVARIANT: as above.
    #[must_use]
    pub fn answering(&self, line: String, error: Option<i64>) -> Self {
        let form = match self.passage.carried {
            Carried::Reply { form, .. } => form,
            Carried::Request { .. } | Carried::Notification { .. } => ArrivalForm::Whole,
        };
        self.translated(line, Carried::Reply { error, form })
    }

    /// The same for another stream of the same agent's: one that waits for what was asked for it.
    ///
    /// INVARIANT: as above.
    #[must_use]
    pub fn translated_for(&self, stream: Stream, line: String, carried: Carried) -> Self {
        Self {
            to: self.to,
            line,
            passage: Passage {
                stream,
                carried,
                trace: self.passage.trace.clone(),
                proof: self.passage.proof.clone(),
            },
        }
    }

    /// What the gate says of itself needs no policy: it is one of a closed set.
    /// It may quote a peer, so it is searched for secrets like everything that leaves; what stands
    /// in their place is plain text, within the same quotes.
    pub(super) fn own(to: Side, stream: Stream, message: OwnMessage, secrets: &Redactor) -> Self {
        let (text, carried) = message.into_parts();
        let line = secrets.redact(&text).into_owned();
        let passage = Passage {
            stream,
            carried,
            trace: None,
            proof: None,
        };
        Self { to, line, passage }
    }

    /// One for an agent, for tests of what stands before the gate.
    #[cfg(test)]
    pub(crate) fn for_test(line: String, stream: Stream, carried: Carried) -> Self {
        let passage = Passage {
            stream,
            carried,
            trace: None,
            proof: None,
        };
        Self {
            to: Side::Agent,
            line,
            passage,
        }
    }

    /// The same, which shows the server who the user is.
    pub(super) fn with_proof(mut self, proof: Option<UserProof>) -> Self {
        self.passage.proof = proof;
        self
    }
}

impl Allowed {
    /// Whose message it is.
    pub(super) fn from(&self) -> Side {
        match self.to {
            Side::Agent => Side::Upstream,
            Side::Upstream => Side::Agent,
        }
    }

    /// The message as it will be sent.
    pub(super) fn seal(self, edits: Edits<'_>, mut passage: Passage) -> Permit {
        if let Some(uri) = self.respelled.get("/params/uri") {
            // A header repeats it.
            passage.carried.rename(uri);
        }
        Permit {
            to: self.to,
            line: edits.finish(),
            passage,
        }
    }
}
