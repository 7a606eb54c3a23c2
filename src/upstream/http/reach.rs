//! Whether the server can be reached, as far as the latest attempt tells.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use reqwest::{Response, StatusCode};

use super::failure::Failure;

/// What the latest attempt to reach the server came to, of whatever conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reach {
    /// Nothing was attempted yet.
    #[default]
    Unknown,
    /// It answered.
    Reached,
    /// It did not, something in front of it answered in its place, or it does not know the gate.
    Failed,
}

#[derive(Debug, Default)]
pub(super) struct Reachability {
    last: Mutex<Reach>,
    attempts: AtomicU64,
}

impl Reachability {
    /// Notes what came of one request; what it is an answer to does not matter.
    pub(super) fn note(&self, answered: &Result<Response, Failure>) {
        let reach = match answered {
            Ok(response) => of_status(response.status()),
            Err(_) => Reach::Failed,
        };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = reach;
        self.attempts.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn last(&self) -> Reach {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many attempts have ended.
    pub(super) fn attempts(&self) -> u64 {
        self.attempts.load(Ordering::Relaxed)
    }
}

/// A server that refuses a request is there. Proxies answer 502 to 504 for one that is not; and where
/// the gate's token is not accepted, no agent will be answered.
fn of_status(status: StatusCode) -> Reach {
    match status.as_u16() {
        401 | 407 | 502..=504 => Reach::Failed,
        _ => Reach::Reached,
    }
}
