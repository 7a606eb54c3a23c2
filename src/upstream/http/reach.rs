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
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *last, reach);
        drop(last);
        self.attempts.fetch_add(1, Ordering::Relaxed);
        // Told when it changes: whoever looks at health learns nothing but that.
        match (before, reach) {
            (Reach::Unknown | Reach::Reached, Reach::Failed) => {
                tracing::warn!("the server cannot be reached: {}", why(answered));
            }
            (Reach::Failed, Reach::Reached) => tracing::info!("the server can be reached again"),
            (_, Reach::Unknown | Reach::Reached) | (Reach::Failed, Reach::Failed) => {}
        }
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

fn why(answered: &Result<Response, Failure>) -> String {
    match answered {
        Ok(response) => format!("its status is {}", response.status().as_u16()),
        Err(Failure::Unreachable(cause) | Failure::Bad(cause)) => cause.clone(),
        Err(Failure::Broken | Failure::TooLong | Failure::SessionGone) => {
            "it did not answer".to_owned()
        }
    }
}
