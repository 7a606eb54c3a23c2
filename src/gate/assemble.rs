//! The order of all filters. All other features are still steps of [`Gate::pass`](super::Gate).

use std::sync::Arc;

use super::caching::CacheHints;
use super::filter::{Chain, Filter};
use super::rounds::{RoundFilter, Rounds};
use super::seen::Seen;
use super::settings::Settings;
use super::tasks::{TaskFilter, Tasks};
use super::text::Sanitizer;
use super::unlisted::{Unlisted, UnlistedFilter};

/// The stores that several parts of the gate share.
pub(super) struct Stores<'s> {
    pub(super) rounds: &'s Arc<Rounds>,
    pub(super) tasks: &'s Arc<Tasks>,
    pub(super) seen: &'s Arc<Seen>,
    pub(super) unlisted: &'s Arc<Unlisted>,
}

/// All filters, in the order in which they meet a message.
pub(super) fn chain(settings: &Settings, stores: &Stores<'_>) -> Chain {
    Chain::new([
        // First, because it rejects invalid lists of tasks: their texts are not searched.
        Arc::new(TaskFilter::new(
            Arc::clone(stores.tasks),
            Arc::clone(stores.seen),
            settings.over_http,
        )) as Arc<dyn Filter>,
        // Searches the texts as the server wrote them; every filter only plans its edits.
        Arc::new(Sanitizer),
        // Reads `EditPlan::shortened_over`, which the path sets before all filters.
        Arc::new(CacheHints),
        // The last two act only on messages that leave, so their place does not matter.
        Arc::new(RoundFilter(Arc::clone(stores.rounds))),
        Arc::new(UnlistedFilter(Arc::clone(stores.unlisted))),
    ])
}
