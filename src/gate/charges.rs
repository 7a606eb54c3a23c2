//! Charges agents for requests: `dues.rs` has what a message owes, `rates` the tokens that pay for it.

use std::sync::Arc;

use crate::session::{Attempt, Session};

use super::Gate;
use super::dues::Counted;
use super::record::Trail;

impl Gate {
    /// Charges the agent of a session for a request that ends while it waits.
    pub(super) async fn charge_for(&self, session: &Session) {
        let current = self.policy.current();
        let rates = &self.terms(&current).rates;
        if rates.are_limits() {
            let agent = Arc::clone(&session.state().parties.agent);
            self.stores.pace.charge(rates, &agent.id).await;
        }
    }

    /// Notes that a request which waited is charged for, also if policy is not asked about it.
    pub(super) fn owes(&self, session: &Session, trail: &mut Trail) {
        let current = self.policy.current();
        if trail.retry.attempt == Attempt::First && self.terms(&current).rates.are_limits() {
            let agent = Arc::clone(&session.state().parties.agent);
            trail.holds.counted = Counted::Owed(agent.id.clone());
        }
    }

    /// Charges for a message that has left the path what it still owes.
    pub(super) async fn settle_rates(&self, trail: &mut Trail) {
        if let Counted::Owed(principal) = std::mem::take(&mut trail.holds.counted) {
            let current = self.policy.current();
            let rates = &self.terms(&current).rates;
            self.stores.pace.charge(rates, &principal).await;
        }
    }
}
