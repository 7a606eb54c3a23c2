//! Notifications that a list has changed. Those that come together reach the agent as one, since it reads the lists of
//! all servers again for each.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::gate::Permit;
use crate::wire::{Id, KnownMethod, Stream};

/// From the first notification to the one that the agent gets.
const DELAY: Duration = Duration::from_millis(250);

/// Between two that the agent gets.
const INTERVAL: Duration = Duration::from_secs(1);

/// A kind of list, and the request for the subscription of the notification, if any (since 2026-07-28).
pub(super) type ListChange = (KnownMethod, Option<(Stream, Id)>);

#[derive(Default)]
pub(super) struct ListChanges(HashMap<ListChange, Waiting>);

struct Waiting {
    permit: Option<Permit>,
    /// The earliest time of the next.
    due: Instant,
}

/// Whether the method is such a notification.
pub(super) fn is_list_change(method: KnownMethod) -> bool {
    matches!(
        method,
        KnownMethod::ToolsListChanged
            | KnownMethod::PromptsListChanged
            | KnownMethod::ResourcesListChanged
    )
}

impl ListChanges {
    /// Takes a notification, or drops it if one waits.
    pub(super) fn add(&mut self, change: ListChange, permit: Permit, now: Instant) {
        let entry = self.0.entry(change);
        let waiting = entry.or_insert(Waiting {
            permit: None,
            due: now,
        });
        if waiting.permit.is_none() {
            waiting.due = waiting.due.max(later(now, DELAY));
            waiting.permit = Some(permit);
        }
    }

    /// When the next one is due.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let waiting = self.0.values().filter(|it| it.permit.is_some());
        waiting.map(|it| it.due).min()
    }

    /// Those that are due.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<(ListChange, Permit)> {
        let mut due = Vec::new();
        self.0.retain(|change, waiting| {
            if waiting.due > now {
                return true;
            }
            let Some(permit) = waiting.permit.take() else {
                // The next one waits no longer than the first.
                return false;
            };
            waiting.due = later(now, INTERVAL);
            due.push((change.clone(), permit));
            true
        });
        due
    }
}

fn later(now: Instant, by: Duration) -> Instant {
    now.checked_add(by).unwrap_or(now)
}
