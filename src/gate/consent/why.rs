//! Why a request has no consent.

use crate::audit::{Consent, ConsentOutcome};
use crate::consent::{By, Desk, Misfit, NotAsked, TicketId, Void};
use crate::policy::Denial;

use crate::gate::rejection::Rejection;

/// Why a request that a person could have agreed to does not pass.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::gate) enum Unconsented {
    /// It goes on when its agent brings the answer.
    #[error("a person has to agree to it, and the agent was told to ask")]
    Asked,
    #[error("{0} said no")]
    Denied(By),
    #[error("no person answered the approval request in time")]
    TimedOut,
    #[error("the answer has been used: it was good for one request")]
    Used,
    #[error("what was agreed to is not this: {0}")]
    Changed(Misfit),
    #[error("the gate withdrew the approval request: new policies are in force")]
    Replaced,
    #[error("the gate cannot ask a person now: {0}")]
    NotAsked(NotAsked),
    #[error(
        "the gate cannot ask a person: the agent's client shows no forms, and no other channel is configured"
    )]
    NoWay,
    #[error(
        "the gate cannot ask a person: the arguments are longer than the {0} bytes that a prompt shows"
    )]
    TooLong(usize),
}

impl Unconsented {
    /// What was agreed to is not this.
    pub(super) fn of(misfit: Misfit) -> Self {
        match misfit {
            Misfit::Expired => Self::TimedOut,
            misfit @ (Misfit::Principal
            | Misfit::Session
            | Misfit::Request
            | Misfit::Definition
            | Misfit::Revision) => Self::Changed(misfit),
        }
    }

    /// Somebody has come back with it before, or it has ended.
    pub(super) fn settled(desk: &Desk, ticket: &TicketId) -> Self {
        if desk.is_over(ticket) {
            Self::TimedOut
        } else {
            Self::Used
        }
    }

    /// Nobody is asked any more.
    pub(super) fn withdrawn(void: Void) -> Self {
        match void {
            Void::Stopping => Self::NotAsked(NotAsked::Stopping),
            Void::Policies => Self::Replaced,
        }
    }

    /// The request is rejected for want of it.
    pub(super) fn rejection(&self, denial: Denial) -> Rejection {
        Rejection::unconsented(denial, self.code(), self, self.told(), self.recorded())
    }

    /// What its record says of consent.
    fn recorded(&self) -> Consent {
        let (outcome, by) = match self {
            Self::Denied(by) => (Some(ConsentOutcome::Denied), Some(by)),
            Self::TimedOut => (Some(ConsentOutcome::Timeout), None),
            Self::Replaced => (Some(ConsentOutcome::Cancelled), None),
            Self::Asked
            | Self::Used
            | Self::Changed(_)
            | Self::NotAsked(_)
            | Self::NoWay
            | Self::TooLong(_) => (None, None),
        };
        Consent {
            required: true,
            outcome,
            ticket: None,
            by: by.map(|by| by.to_string().into()),
        }
    }

    /// A stable word for it, in records and in answers.
    pub(in crate::gate) fn code(&self) -> &'static str {
        match self {
            Self::Asked => "consent_asked",
            Self::Denied(_) => "consent_denied",
            Self::TimedOut => "consent_timeout",
            Self::Used => "consent_already_used",
            Self::Changed(_) | Self::Replaced => "consent_stale",
            Self::NotAsked(_) | Self::NoWay => "consent_unavailable",
            Self::TooLong(_) => "consent_arguments_too_large",
        }
    }

    /// What the agent is told. Who answers is the operator's business.
    pub(in crate::gate) fn told(&self) -> String {
        match self {
            Self::Denied(_) => "a person said no".to_owned(),
            Self::NotAsked(NotAsked::OfPrincipal(_) | NotAsked::InAll(_) | NotAsked::Memory) => {
                "too many questions wait for an answer".to_owned()
            }
            Self::Asked
            | Self::TimedOut
            | Self::Used
            | Self::Changed(_)
            | Self::Replaced
            | Self::NotAsked(NotAsked::Stopping)
            | Self::NoWay
            | Self::TooLong(_) => self.to_string(),
        }
    }
}
