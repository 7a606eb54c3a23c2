//! The order of all filters. All other features are still steps of [`Gate::pass`](super::Gate).

use std::sync::Arc;

use super::Gate;
use super::again::HeaderMirror;
use super::asking::ServerRequests;
use super::caching::CacheHints;
use super::consent::{ConsentFilter, at_the_gate};
use super::cursors::Cursors;
use super::eras::EraFilter;
use super::exchange::Progress;
use super::failures::FatalErrors;
use super::filter::{Chain, Filter};
use super::isolate::Isolation;
use super::kept::KeptResults;
use super::leaks::SecretsGuard;
use super::links::RealPaths;
use super::listening::Subscriptions;
use super::listing::ListFilter;
use super::pinning::PinFacts;
use super::ratchet::{ContainedPlaces, Sensitivity};
use super::rates::RateLimit;
use super::rates::budget::CallBudget;
use super::resources::UriGuard;
use super::rounds::{AtTheGate, RoundFilter};
use super::schemas::SchemaGuard;
use super::shadow::Shadowing;
use super::shortening::Shortener;
use super::tasks::TaskFilter;
use super::text::Sanitizer;
use super::unlisted::UnlistedFilter;

impl Gate {
    /// Builds the chains anew, from what the gate is set to.
    pub(super) fn assemble(&mut self) {
        self.chain = Chain::new(self.filters());
        // For what the gate answers itself: no server is needed, and all was checked when it came.
        self.local_chain = Chain::new([
            Arc::new(PinFacts) as Arc<dyn Filter>,
            Arc::new(RealPaths),
            Arc::new(Shadowing),
            Arc::new(Sensitivity(Arc::clone(&self.ratchet))),
        ]);
    }

    /// All filters, in the order in which they meet a message.
    fn filters(&self) -> Vec<Arc<dyn Filter>> {
        let over_http = self.settings.over_http;
        let mut filters: Vec<Arc<dyn Filter>> = vec![
            // Before all that could reject a reply: the tool has failed, whatever becomes of the reply.
            Arc::new(FatalErrors(Arc::clone(&self.ratchet))),
            Arc::new(RateLimit(Arc::clone(&self.pace))),
            // Adds facts, so before whatever judges.
            Arc::new(PinFacts),
            // The next three reject messages that lead nowhere before a person is asked about them.
            Arc::new(Isolation {
                from: self.settings.isolate_from,
            }),
            Arc::new(Cursors),
            Arc::new(TaskFilter::new(Arc::clone(&self.tasks), over_http)),
            // Add facts and questions, so before what a person is shown is put together.
            Arc::new(ContainedPlaces),
            Arc::new(Subscriptions),
            Arc::new(RealPaths),
            Arc::new(KeptResults),
            Arc::new(HeaderMirror { over_http }),
            // Before sampling: an answer to a server's question is no new call.
            Arc::new(RoundFilter {
                rounds: Arc::clone(&self.rounds),
                at_the_gate: match self.desk {
                    Some(_) => at_the_gate,
                    None => |_| AtTheGate::Unasked,
                },
            }),
            // Checks of contents: the gate's own, then the tool's, then those for credentials.
            Arc::new(ServerRequests),
            Arc::new(UriGuard),
            Arc::new(SchemaGuard),
            Arc::new(SecretsGuard),
            // Before consent is spent: a call too many takes none.
            Arc::new(CallBudget(Arc::clone(&self.ratchet))),
        ];
        if let Some(desk) = &self.desk {
            // After all facts, and before candidate policies are asked under the same consent.
            filters.push(Arc::new(ConsentFilter {
                desk: Arc::clone(desk),
                along: Arc::clone(&self.along),
                rounds: Arc::clone(&self.rounds),
                recorder: self.recorder.clone(),
                secrets: self.settings.secrets.clone(),
            }));
        }
        let last: [Arc<dyn Filter>; 9] = [
            Arc::new(Shadowing),
            // After all other checks: what is refused needs no server.
            Arc::new(EraFilter(Arc::clone(&self.eras))),
            Arc::new(ListFilter {
                schemas: Arc::clone(&self.schemas),
                seen: Arc::clone(&self.seen),
                recorder: self.recorder.clone(),
                over_http,
            }),
            Arc::new(Shortener(Arc::clone(&self.kept))),
            // After the list: it looks at the items of a page.
            Arc::new(Sanitizer),
            // After the shortener: it reads `EditPlan::shortened_over`.
            Arc::new(CacheHints),
            // The next two act only on messages that leave, so their place does not matter.
            Arc::new(Progress {
                terms: self.settings.terms.clone(),
            }),
            Arc::new(UnlistedFilter(Arc::clone(&self.unlisted))),
            // Last: nothing may be awaited between the moment at which it compares what was judged with
            // what is so and the moment at which the call is counted.
            Arc::new(Sensitivity(Arc::clone(&self.ratchet))),
        ];
        filters.extend(last);
        filters
    }
}
