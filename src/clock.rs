//! The only caller of the system clock.

use std::time::{Duration, Instant};

use jiff::Timestamp;

/// A source of time: the system's, or one that a test moves by hand.
pub trait Clock: std::fmt::Debug + Send + Sync {
    /// Wall-clock time, for records and for policies.
    fn now(&self) -> Timestamp;
    /// Monotonic time since the clock was made, for durations and deadlines.
    fn elapsed(&self) -> Duration;
}

/// The operating system's clock.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one caller of the system clock"
    )]
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one caller of the system clock"
    )]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

/// A clock that stands still, for tests and for fixtures that name their time.
#[derive(Debug, Clone, Copy)]
pub struct FixedClock(pub Timestamp);

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        self.0
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}
