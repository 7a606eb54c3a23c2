//! How starts of the server's command go.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::clock::Clock;

/// How the latest start of a command went, of whatever conversation.
#[derive(Debug, Clone)]
pub(super) struct Starts {
    last: Arc<Mutex<Start>>,
    pub(super) clock: Arc<dyn Clock>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// None has got so far that anything could be said of it.
    Unknown,
    Completed,
    /// At this time since the clock was made.
    Failed(Duration),
}

/// One server that is started, and perhaps started again.
#[derive(Debug, Clone)]
pub(super) struct Started {
    starts: Starts,
    /// The process that runs now has done what shows that it can serve.
    completed: Arc<AtomicBool>,
}

impl Starts {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            last: Arc::new(Mutex::new(Start::Unknown)),
            clock,
        }
    }

    pub(super) fn begin(&self) -> Started {
        Started {
            starts: self.clone(),
            completed: Arc::default(),
        }
    }

    pub(super) fn failed(&self) {
        self.set(Start::Failed(self.clock.elapsed()));
    }

    fn set(&self, start: Start) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = start;
    }

    /// Whether a server that was started has shaken hands, and none has failed to since.
    pub(super) fn are_good(&self) -> bool {
        self.last() == Start::Completed
    }

    pub(super) fn last(&self) -> Start {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Started {
    /// The server has answered as one that can serve.
    pub(super) fn completed(&self) {
        if !self.completed.swap(true, Ordering::Relaxed) {
            self.starts.set(Start::Completed);
        }
    }

    /// It ended.
    pub(super) fn ended(&self) {
        if !self.completed.swap(false, Ordering::Relaxed) {
            self.starts.failed();
        }
    }
}
