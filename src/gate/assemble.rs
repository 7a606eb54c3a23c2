//! The order of all filters. Features that are no filters yet are steps of [`Gate::pass`](super::Gate).

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
        // Before texts are sanitized: what a list of tasks does not show needs no look.
        Arc::new(TaskFilter::new(
            Arc::clone(stores.tasks),
            Arc::clone(stores.seen),
            settings.over_http,
        )) as Arc<dyn Filter>,
        // Edits texts as the server wrote them, before any other filter replaces them.
        Arc::new(Sanitizer),
        // Reads whether texts will be shortened, which is settled before all filters.
        Arc::new(CacheHints),
        // Keeps only what leaves, so its place among the filters does not matter.
        Arc::new(RoundFilter(Arc::clone(stores.rounds))),
        Arc::new(UnlistedFilter(Arc::clone(stores.unlisted))),
    ])
}
