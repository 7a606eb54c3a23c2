//! Whether a message needed a person's consent, and what came of that.

use jiff::Timestamp;

use crate::audit::{Consent, ConsentOutcome, Finding, Guard};
use crate::consent::Outcome;
use crate::policy::{Denial, OnDeny, StandingConsent};
use crate::session::Agreed;

use crate::gate::rejection::Rejection;

use super::Trail;

impl Trail {
    /// A question about it came to this.
    pub(in crate::gate) fn was_asked_about(&mut self, ticket: &str, outcome: &Outcome) {
        let (outcome, by) = match outcome {
            Outcome::Granted(receipt) => (ConsentOutcome::Granted, Some(receipt.by())),
            Outcome::Denied(by) => (ConsentOutcome::Denied, Some(by)),
            Outcome::TimedOut => (ConsentOutcome::Timeout, None),
            Outcome::Withdrawn(_) => (ConsentOutcome::Cancelled, None),
        };
        self.record.consent = Some(Consent {
            required: true,
            outcome: Some(outcome),
            ticket: Some(ticket.into()),
            by: by.map(|by| by.to_string().into()),
        });
    }

    /// A question about it is asked no more.
    pub(in crate::gate) fn is_not_asked_about(&mut self, ticket: &str) {
        self.record.consent = Some(Consent {
            required: true,
            outcome: Some(ConsentOutcome::Cancelled),
            ticket: Some(ticket.into()),
            by: None,
        });
    }

    /// What it is, or answers, was judged under this.
    pub(super) fn is_agreed_to(&mut self, agreed: Option<&Agreed>) {
        if self.record.consent.is_none() {
            self.record.consent = agreed.map(granted);
        }
    }

    /// A sample passes by the standing approval of its agent, without a question. Where a person has
    /// approved something else of the message, only the finding records the standing approval.
    pub(super) fn stands_approved(&mut self, standing: &StandingConsent) {
        let StandingConsent { by, until_ms } = standing;
        let until = Timestamp::from_millisecond(*until_ms).unwrap_or(Timestamp::MAX);
        self.found(vec![Finding {
            guard: Guard::Consent,
            code: "standing_consent".into(),
            detail: format!("{by} has agreed to all samples of this agent until {until}").into(),
        }]);
        if self.record.consent.is_none() && self.consent.agreed.is_none() {
            self.record.consent = Some(Consent {
                required: true,
                outcome: Some(ConsentOutcome::Granted),
                ticket: None,
                by: Some(format!("standing:{by}").into()),
            });
        }
    }

    /// What its record says of consent, where it passes.
    pub(super) fn consent_of_passing(&self) -> Option<Consent> {
        let known = self.record.consent.clone();
        known.or_else(|| self.consent.agreed.as_ref().map(granted))
    }

    /// The same where it does not.
    pub(super) fn consent_of_refusal(&self, refusal: &Rejection) -> Option<Consent> {
        let known = self.consent_of_passing();
        if known.is_some() {
            return known;
        }
        if let Some(missing) = refusal.missing_consent() {
            return Some(missing.clone());
        }
        let lifts = refusal.denial().and_then(Denial::remedy);
        matches!(lifts, Some(OnDeny::AskConsent)).then(|| Consent {
            required: true,
            ..Consent::default()
        })
    }
}

fn granted(agreed: &Agreed) -> Consent {
    Consent {
        required: true,
        outcome: Some(ConsentOutcome::Granted),
        ticket: Some((&agreed.ticket).into()),
        by: agreed.consent.by.as_deref().map(Into::into),
    }
}
