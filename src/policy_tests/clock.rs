//! The time of a test: it stands where the fixture puts it, and moves when a step says so.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;

use crate::clock::Clock;

#[derive(Debug)]
pub(super) struct MovedClock {
    start: Timestamp,
    /// Milliseconds since then.
    moved: AtomicU64,
}

impl MovedClock {
    pub(super) fn new(start: Timestamp) -> Self {
        Self {
            start,
            moved: AtomicU64::new(0),
        }
    }

    pub(super) fn advance(&self, by: Duration) {
        let by = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        let moved = self.moved.load(Ordering::Relaxed);
        self.moved
            .store(moved.saturating_add(by), Ordering::Relaxed);
    }
}

impl Clock for MovedClock {
    fn now(&self) -> Timestamp {
        let moved = self.start.checked_add(self.elapsed());
        moved.unwrap_or(Timestamp::MAX)
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.moved.load(Ordering::Relaxed))
    }
}
