//! How far the request has come that a connection brings.

use std::sync::{Arc, Mutex, PoisonError};

/// Of one connection: hyper waits for the rest of a request for as long as its deadlines are, also
/// while the gate stops.
#[derive(Debug, Default)]
pub(super) struct Progress(Mutex<Step>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Step {
    #[default]
    Nothing,
    /// Some of it has come, and not all of its head.
    Begun,
    /// Its head has come, and it is being answered.
    Taken,
}

/// A request that is being answered, until this is dropped.
#[derive(Debug)]
pub(super) struct Answering(Arc<Progress>);

impl Progress {
    /// Bytes have come.
    pub(super) fn heard(&self) {
        self.change(|step| match step {
            Step::Nothing | Step::Begun => Step::Begun,
            Step::Taken => Step::Taken,
        });
    }

    /// The head of a request is there.
    pub(super) fn take(self: &Arc<Self>) -> Answering {
        self.change(|_| Step::Taken);
        Answering(Arc::clone(self))
    }

    /// Whether there is something of a request that nobody answers yet.
    pub(super) fn is_half_sent(&self) -> bool {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) == Step::Begun
    }

    fn change(&self, to: impl FnOnce(Step) -> Step) {
        let mut step = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *step = to(*step);
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.change(|_| Step::Nothing);
    }
}
