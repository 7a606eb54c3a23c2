//! A yes that cannot be made use of yet.
//!
//! A person has agreed, and then the request may not go on just now, for a reason that has nothing to
//! do with that: it comes too often, there is no memory for it, or its tool is not known at the moment. Then
//! the yes is put by,
//! until its own time is over.

use std::sync::Arc;

use crate::audit::{Finding, Guard};
use crate::consent::{Binding, Desk, TicketId};
use crate::policy::Consent;
use crate::session::{Agreed, Parked};

use crate::gate::Gate;
use crate::gate::record::Trail;
use crate::gate::rejection::Property;
use crate::gate::stop::Stop;

use super::brought::Brought;

impl Gate {
    /// Puts by the yes of a request that may come again.
    pub(in crate::gate) fn keep_consent(&self, stop: &Stop, trail: &mut Trail) {
        let rejection = stop.rejection();
        if !rejection.is_some_and(|it| it.has(Property::KeepsConsent)) {
            return;
        }
        // Of two that made the last call of a budget one has begun in vain.
        let begun = trail.consent.begun_with.take();
        if let Some((desk, receipt)) = self.people.desk.as_ref().zip(begun) {
            desk.keep(receipt);
        }
        let _ = self.put_by(trail);
    }

    /// Puts by the yes of a request that waits; yields the number of its question.
    pub(in crate::gate) fn put_by(&self, trail: &mut Trail) -> Option<Arc<str>> {
        let desk = self.people.desk.as_ref()?;
        let receipt = trail.consent.brought.take_receipt()?;
        let ticket: Arc<str> = receipt.ticket().as_str().into();
        desk.keep(receipt);
        Some(ticket)
    }

    /// A request that waited goes on with what was put by for it.
    pub(in crate::gate) fn take_along(&self, parked: &Parked, trail: &mut Trail) {
        let ticket = parked.agreed_to.as_deref().and_then(TicketId::parse);
        let kept = self.people.desk.as_ref().zip(ticket);
        if let Some(receipt) = kept.and_then(|(desk, ticket)| desk.kept(&ticket)) {
            trail.consent.brought = Brought::Receipt(receipt);
        }
    }
}

/// Consent that was put by for the very same request: of this session, or of this principal where its
/// agents know nothing of each other, since more is not known of who asked.
pub(super) fn put_by_for(
    desk: &Desk,
    binding: &Binding,
    now: std::time::Duration,
    trail: &mut Trail,
) -> Option<Consent> {
    let receipt = desk.kept_for(binding)?;
    let consent = receipt.fits(binding, now).ok()?;
    let ticket = receipt.ticket();
    trail.found(vec![Finding {
        guard: Guard::Consent,
        code: "approved_before".into(),
        detail: format!("question {ticket} was answered for this request before").into(),
    }]);
    let ticket = receipt.ticket().as_str().into();
    trail.consent.brought = Brought::Fits(receipt);
    trail.consent.agreed = Some(Agreed {
        binding: binding.of_any_round().of_all(),
        ticket,
        consent: consent.clone(),
    });
    Some(consent)
}
