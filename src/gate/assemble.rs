//! The order of all filters. All other features are still steps of [`Gate::pass`](super::Gate).

use crate::gate::Gate;
use crate::gate::asking::ElicitationGuard;
use crate::gate::consent::ConsentFilter;
use crate::gate::cursors::Cursors;
use crate::gate::eras::EraFilter;
use crate::gate::failures::FatalErrors;
use crate::gate::isolate::Isolation;
use crate::gate::kept::KeptResults;
use crate::gate::leaks::SecretsGuard;
use crate::gate::links::RealPaths;
use crate::gate::listening::Subscriptions;
use crate::gate::pin::PinFacts;
use crate::gate::ratchet::ContainedPlaces;
use crate::gate::ratchet::Sensitivity;
use crate::gate::resources::UriGuard;
use crate::gate::schemas::SchemaGuard;
use crate::gate::shadow::Shadowing;
use std::sync::Arc;

use super::caching::CacheHints;
use super::filter::{Chain, Filter};
use super::rounds::RoundFilter;
use super::tasks::TaskFilter;
use super::text::Sanitizer;
use super::unlisted::UnlistedFilter;

impl Gate {
    /// The gate with its filters, in the order in which they meet a message.
    pub(super) fn assembled(mut self) -> Self {
        let filters: Vec<Arc<dyn Filter>> = vec![
            // Before all that could reject a reply: the tool has failed, whatever becomes of the reply.
            Arc::new(FatalErrors(Arc::clone(&self.ratchet))),
            // Facts of policies, so before whatever judges.
            Arc::new(PinFacts),
            // The next three reject replies and cursors before a person is asked about them.
            Arc::new(Isolation),
            Arc::new(Cursors),
            // Before the search of texts: it rejects invalid lists of tasks.
            Arc::new(TaskFilter::new(
                Arc::clone(&self.tasks),
                Arc::clone(&self.seen),
                self.settings.over_http,
            )),
            // Facts of policies again.
            Arc::new(ContainedPlaces),
            Arc::new(Subscriptions),
            // Adds questions, so before what a person is shown is put together.
            Arc::new(RealPaths),
            Arc::new(KeptResults),
            // Checks of contents: the gate's own, then the tool's, then those for credentials.
            Arc::new(ElicitationGuard),
            Arc::new(UriGuard),
            Arc::new(SchemaGuard),
            Arc::new(SecretsGuard),
        ];
        let consent = self.desk.as_ref().map(|desk| {
            // After all facts, and before the candidate policies are asked under the same consent.
            Arc::new(ConsentFilter {
                desk: Arc::clone(desk),
                along: Arc::clone(&self.along),
                rounds: Arc::clone(&self.rounds),
                recorder: self.recorder.clone(),
                secrets: self.settings.secrets.clone(),
            }) as Arc<dyn Filter>
        });
        let last: [Arc<dyn Filter>; 7] = [
            Arc::new(Shadowing),
            // What is refused needs no server: after all other checks.
            Arc::new(EraFilter(Arc::clone(&self.eras))),
            // Searches the texts as the server wrote them; every filter only plans its edits.
            Arc::new(Sanitizer),
            // Reads `EditPlan::shortened_over`, which the path sets before all filters.
            Arc::new(CacheHints),
            // The next two act only on messages that leave, so their place does not matter.
            Arc::new(RoundFilter(Arc::clone(&self.rounds))),
            Arc::new(UnlistedFilter(Arc::clone(&self.unlisted))),
            // Last: nothing may be awaited between the moment at which it compares what was judged with
            // what is so and the moment at which the call is counted.
            Arc::new(Sensitivity(Arc::clone(&self.ratchet))),
        ];
        self.chain = Chain::new(filters.into_iter().chain(consent).chain(last));
        // For what the gate answers itself: no server is needed, and all was checked when it came.
        self.local_chain = Chain::new([
            Arc::new(PinFacts) as Arc<dyn Filter>,
            Arc::new(RealPaths),
            Arc::new(Shadowing),
            Arc::new(Sensitivity(Arc::clone(&self.ratchet))),
        ]);
        self
    }
}
