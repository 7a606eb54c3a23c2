//! What consent is given to, and the receipt that says so.

use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::policy::Consent;
use crate::wire::KnownMethod;

use super::settings::By;
use super::ticket::TicketId;

/// All that consent is bound to. Two requests with equal bindings are the same request, judged under
/// the same policies, of a tool that is defined in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The gate's own id of whoever asks.
    pub principal: Arc<str>,
    /// A digest of its roles, capabilities and claims: a yes to one token is none to another.
    pub rights: [u8; 32],
    /// The gate's own id of the session; none where agents share one that know nothing of each other.
    pub session: Option<Arc<str>>,
    pub server: Arc<str>,
    pub method: KnownMethod,
    /// The tool, prompt or URI.
    pub name: Arc<str>,
    /// A digest of how the server defines the tool, if its list has told.
    pub definition: Option<[u8; 32]>,
    /// SHA-256 of the canonical text of what the request says: the order of members and the
    /// spelling of strings make no difference, everything else does. Also of the servers whose results it is
    /// known to repeat.
    pub arguments: [u8; 32],
    /// The same of the answers and the state with which it goes on at the server, if it brings any.
    pub round: Option<[u8; 32]>,
    /// The revision of the policies that asked for consent.
    pub revision: Arc<str>,
}

/// A person's yes to one request. Whoever spends it has it no more.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Receipt {
    ticket: TicketId,
    binding: Box<Binding>,
    by: By,
    /// Milliseconds since the Unix epoch.
    at_ms: i64,
    /// Until when it can be spent: time since the clock was made.
    until: Duration,
}

/// Why a receipt is not good for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    #[error("the answer is too old")]
    Expired,
    #[error("the answer was given to another principal")]
    Principal,
    #[error("the answer was given in another session")]
    Session,
    #[error("the answer was given to another request")]
    Request,
    #[error("the tool is no longer defined as it was when somebody agreed")]
    Definition,
    #[error("the policies are no longer those under which somebody agreed")]
    Revision,
}

impl Binding {
    /// How far it is from another, if it is.
    fn misfit(&self, other: &Self) -> Option<Misfit> {
        let Self {
            principal,
            rights,
            session,
            server,
            method,
            name,
            definition,
            arguments,
            round,
            revision,
        } = other;
        if self.principal != *principal || self.rights != *rights {
            Some(Misfit::Principal)
        } else if self.session != *session {
            Some(Misfit::Session)
        } else if self.server != *server
            || self.method != *method
            || self.name != *name
            || self.arguments != *arguments
            || self.round != *round
        {
            Some(Misfit::Request)
        } else if self.definition != *definition {
            Some(Misfit::Definition)
        } else if self.revision != *revision {
            Some(Misfit::Revision)
        } else {
            None
        }
    }

    /// Whether it is the server that asks for it.
    pub(super) fn is_servers(&self) -> bool {
        matches!(
            self.method,
            KnownMethod::CreateMessage | KnownMethod::Elicit | KnownMethod::RootsList
        )
    }

    /// SHA-256 of a text.
    pub fn digest(text: &str) -> [u8; 32] {
        Sha256::digest(text.as_bytes()).into()
    }

    /// The same for all calls of one tool: whatever their arguments are.
    #[must_use]
    pub fn whatever_the_arguments(&self) -> Self {
        Self {
            arguments: [0; 32],
            ..self.of_any_round()
        }
    }

    /// The same for all calls of one tool that send something to this destination, from a session that has
    /// read this.
    #[must_use]
    pub fn for_destination(&self, read: &str, destination: &str) -> Self {
        Self {
            arguments: Self::digest(&format!("destination {destination:?} of {read}")),
            ..self.of_any_round()
        }
    }

    /// The same for all rounds of one request: whatever they go on with.
    #[must_use]
    pub fn of_any_round(&self) -> Self {
        Self {
            round: None,
            ..self.clone()
        }
    }

    /// One digest of all of it. Parts cannot be shifted: each has its length before it.
    pub fn of_all(&self) -> [u8; 32] {
        let Self {
            principal,
            rights,
            session,
            server,
            method,
            name,
            definition,
            arguments,
            round,
            revision,
        } = self;
        // No session has an empty name.
        let parts = [
            principal.as_bytes(),
            rights,
            session.as_deref().unwrap_or_default().as_bytes(),
            server.as_bytes(),
            method.name().as_bytes(),
            name.as_bytes(),
            definition.as_ref().map_or(&[], <[u8; 32]>::as_slice),
            arguments,
            round.as_ref().map_or(&[], <[u8; 32]>::as_slice),
            revision.as_bytes(),
        ];
        let mut hash = Sha256::new();
        for part in parts {
            let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
            hash.update(length.to_be_bytes());
            hash.update(part);
        }
        hash.finalize().into()
    }
}

impl Receipt {
    pub(super) fn new(
        ticket: TicketId,
        binding: Binding,
        by: By,
        at_ms: i64,
        until: Duration,
    ) -> Self {
        Self {
            ticket,
            binding: Box::new(binding),
            by,
            at_ms,
            until,
        }
    }

    /// What policies are told of the consent, if it is good for this request. It is spent when the
    /// request goes on: by whoever drops it then.
    ///
    /// # Errors
    /// [`Misfit`] when it was given to anything else, or is too old.
    pub fn fits(&self, binding: &Binding, now: Duration) -> Result<Consent, Misfit> {
        if now >= self.until {
            return Err(Misfit::Expired);
        }
        if let Some(misfit) = self.binding.misfit(binding) {
            return Err(misfit);
        }
        Ok(Consent {
            granted: true,
            scope: binding.name.as_ref().to_owned(),
            by: Some(self.by.to_string()),
            at_ms: Some(self.at_ms),
        })
    }

    /// The number of the question that it answers.
    pub fn ticket(&self) -> &TicketId {
        &self.ticket
    }

    /// Whether it was given to this very request.
    pub(super) fn is_for(&self, binding: &Binding) -> bool {
        *self.binding == *binding
    }

    /// Who has agreed.
    pub fn by(&self) -> &By {
        &self.by
    }

    /// Until when it can be spent.
    pub fn until(&self) -> Duration {
        self.until
    }
}
