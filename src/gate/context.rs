//! One message while the gate judges it.

use crate::gate::Gate;
use std::sync::Arc;
use std::time::Duration;

use crate::policy::{PolicySnapshot, SessionSensitivity};
use crate::session::Session;
use crate::wire::Limits;

use super::edits::EditPlan;
use super::pin::Pins;
use super::query::{Circumstances, Understood};
use super::record::Trail;
use super::settings::Terms;

/// A message, what policy is asked about it, and what the filters have found out and planned so far.
#[derive(Debug)]
pub(super) struct RequestContext<'m> {
    pub(super) understood: Understood<'m>,
    pub(super) session: &'m Session,
    /// The policies that judge the message.
    pub(super) snapshot: &'m Arc<PolicySnapshot>,
    /// The settings in force with these policies.
    pub(super) terms: &'m Terms,
    pub(super) pins: Pins<'m>,
    pub(super) limits: &'m Limits,
    pub(super) now: Circumstances,
    /// Time since the clock was made.
    pub(super) at: Duration,
    pub(super) plan: EditPlan<'m>,
    /// What the receiver's session will have read once it has the message.
    pub(super) brings: SessionSensitivity,
    pub(super) trail: &'m mut Trail,
}

impl Gate {
    /// What is known of a message when filters first meet it.
    pub(super) fn context<'m>(
        &'m self,
        understood: Understood<'m>,
        session: &'m Session,
        snapshot: &'m Arc<PolicySnapshot>,
        trail: &'m mut Trail,
    ) -> RequestContext<'m> {
        RequestContext {
            session,
            snapshot,
            terms: self.terms(snapshot),
            pins: self.pins(session, snapshot),
            limits: self.limits(understood.identified.from),
            now: self.circumstances(session),
            at: self.clock.elapsed(),
            plan: EditPlan::default(),
            brings: SessionSensitivity::default(),
            trail,
            understood,
        }
    }
}
