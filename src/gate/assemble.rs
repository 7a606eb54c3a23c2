//! The order of all filters, with the reason for each place.

use std::sync::Arc;

use super::Gate;
use super::again::HeaderMirror;
use super::asking::ServerRequests;
use super::caching::CacheHints;
use super::consent::{ConsentFilter, at_the_gate};
use super::cursors::Cursors;
use super::eras::EraFilter;
use super::evidence::EvidenceFilter;
use super::exchange::Progress;
use super::failures::FatalErrors;
use super::filter::{Chain, Filter};
use super::isolate::Isolation;
use super::kept::KeptResults;
use super::leaks::SecretsGuard;
use super::links::RealPaths;
use super::listening::Subscriptions;
use super::listing::ListFilter;
use super::named_datasets::NamedDatasets;
use super::pinning::PinFacts;
use super::rates::RateLimit;
use super::rates::budget::CallBudget;
use super::resources::UriGuard;
use super::rounds::{AtTheGate, RoundFilter};
use super::schemas::SchemaGuard;
use super::sensitivity::{ContainedPlaces, Sensitivity};
use super::shadow::Shadowing;
use super::shortening::Shortener;
use super::tasks::TaskFilter;
use super::text::Sanitizer;
use super::unknown_arguments::UnknownArguments;
use super::unlisted::UnlistedFilter;
use super::vouching::Vouching;

impl Gate {
    /// Builds the chains anew, from what the gate is set to.
    pub(super) fn assemble(&mut self) {
        self.chains.all = Chain::new(self.filters());
        // For what the gate answers itself: no server is needed, and all was checked when it came.
        self.chains.local = Chain::new([
            Arc::new(PinFacts) as Arc<dyn Filter>,
            Arc::new(RealPaths),
            Arc::new(Shadowing),
            Arc::new(Sensitivity(Arc::clone(&self.stores.ratchet))),
        ]);
    }

    /// All filters, in the order in which they meet a message.
    fn filters(&self) -> Vec<Arc<dyn Filter>> {
        let over_http = self.settings.over_http;
        let mut filters: Vec<Arc<dyn Filter>> = vec![
            // First: a fatal error ends the session even if a later filter rejects the reply.
            Arc::new(FatalErrors(Arc::clone(&self.stores.ratchet))),
            // Before the work of all others: it rejects requests that come too often.
            Arc::new(RateLimit(Arc::clone(&self.stores.pace))),
            // Before the work of all others: it rejects messages whose token is not for the server.
            Arc::new(Vouching(Arc::clone(&self.settings.user_identities))),
            // Adds facts, so it runs before the filters that read them.
            Arc::new(PinFacts),
            // The next three reject messages that cannot be used, before the gate asks a person about them.
            Arc::new(Isolation {
                thresholds: self.settings.thresholds.clone(),
            }),
            Arc::new(Cursors),
            Arc::new(TaskFilter::new(Arc::clone(&self.stores.tasks), over_http)),
            // The next four add facts and questions, which the question to a person quotes.
            Arc::new(ContainedPlaces),
            Arc::new(NamedDatasets(Arc::clone(&self.stores.ratchet))),
            Arc::new(Subscriptions),
            Arc::new(RealPaths),
            // After the filters that add questions, which get its facts.
            Arc::new(EvidenceFilter(Arc::clone(&self.stores.evidence))),
            // Rejects by the questions, so it runs after the filters that add them.
            Arc::new(KeptResults),
            // Before rounds and budgets: a call with other headers than its body takes nothing.
            Arc::new(HeaderMirror { over_http }),
            // Before `ServerRequests`, which reads the round.
            Arc::new(RoundFilter {
                rounds: Arc::clone(&self.stores.rounds),
                at_the_gate: match self.people.desk {
                    Some(_) => at_the_gate,
                    None => |_| AtTheGate::Unasked,
                },
            }),
            // Checks of contents: the gate's own, then the tool's, then those for credentials.
            Arc::new(ServerRequests),
            Arc::new(UriGuard),
            Arc::new(SchemaGuard),
            Arc::new(UnknownArguments),
            Arc::new(SecretsGuard),
            // Before consent: a call beyond the budget spends no consent.
            Arc::new(CallBudget(Arc::clone(&self.stores.ratchet))),
        ];
        if let Some(desk) = &self.people.desk {
            // After all facts, and before the candidate policies, which judge under the same consent.
            filters.push(Arc::new(ConsentFilter {
                desk: Arc::clone(desk),
                along: Arc::clone(&self.people.along),
                rounds: Arc::clone(&self.stores.rounds),
                recorder: self.recorder.clone(),
                secrets: self.settings.secrets.clone(),
            }));
        }
        let last: [Arc<dyn Filter>; 9] = [
            // After consent: see there.
            Arc::new(Shadowing),
            // The last check: the gate asks a server what it speaks only for messages that may pass.
            Arc::new(EraFilter(Arc::clone(&self.stores.eras))),
            // Before the next three, which read its page and its removals.
            Arc::new(ListFilter {
                schemas: Arc::clone(&self.stores.schemas),
                seen: Arc::clone(&self.stores.seen),
                recorder: self.recorder.clone(),
                over_http,
            }),
            // Before `CacheHints`, which reads `EditPlan::shortened_over`.
            Arc::new(Shortener(Arc::clone(&self.stores.kept))),
            // After the list: it searches the items of the page.
            Arc::new(Sanitizer::default()),
            // After the shortener: see there.
            Arc::new(CacheHints),
            // The next two act only on messages that leave, so their place does not matter.
            Arc::new(Progress {
                terms: self.settings.terms.clone(),
            }),
            Arc::new(UnlistedFilter(Arc::clone(&self.stores.unlisted))),
            // Last: no other task may run between its comparison of facts and the count of the call.
            Arc::new(Sensitivity(Arc::clone(&self.stores.ratchet))),
        ];
        filters.extend(last);
        filters
    }
}
