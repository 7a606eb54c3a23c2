//! What the path charges agents for their requests.

use std::sync::Arc;

use crate::session::{Attempt, Session};

use super::Gate;
use super::dues::Counted;
use super::record::Trail;

impl Gate {
    /// A request of a session's comes to nothing that was not paid for when it came.
    pub(super) async fn charge_for(&self, session: &Session) {
        let current = self.policy.current();
        let rates = &self.terms(&current).rates;
        if rates.are_limits() {
            let agent = Arc::clone(&session.state().agent);
            self.pace.charge(rates, &agent.id).await;
        }
    }

    /// A request of a session's that has waited is paid for even if it is not judged.
    pub(super) fn owes(&self, session: &Session, trail: &mut Trail) {
        let current = self.policy.current();
        if trail.attempt == Attempt::First && self.terms(&current).rates.are_limits() {
            let agent = Arc::clone(&session.state().agent);
            trail.counted = Counted::Owed(agent.id.clone());
        }
    }

    /// A message is through with the path: what it still owes is paid.
    pub(super) async fn settle_rates(&self, trail: &mut Trail) {
        if let Counted::Owed(principal) = std::mem::take(&mut trail.counted) {
            let current = self.policy.current();
            let rates = &self.terms(&current).rates;
            self.pace.charge(rates, &principal).await;
        }
    }
}
