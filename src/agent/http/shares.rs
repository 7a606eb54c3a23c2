//! What one agent may hold of what all agents share: who asks for everything gets a part, and
//! leaves the rest to the others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Semaphore;

use crate::identity::Identity;

use super::room::Budget;
use super::settings::Settings;

/// The shares of all agents that hold anything just now.
#[derive(Debug)]
pub(super) struct Shares {
    sessions: Held<Semaphore>,
    bodies: Held<Budget>,
    most_sessions: usize,
    body_bytes: usize,
    largest_body: usize,
}

/// What is held under each name.
#[derive(Debug)]
struct Held<T>(Mutex<HashMap<String, Weak<T>>>);

/// Which part of the bodies that are being read may be one sender's.
const PART_OF_BODIES: usize = 4;

impl Shares {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            sessions: Held::default(),
            bodies: Held::default(),
            most_sessions: settings.max_sessions_per_agent.min(Semaphore::MAX_PERMITS),
            body_bytes: settings.max_waiting_bodies / PART_OF_BODIES,
            largest_body: settings.limits.max_bytes,
        }
    }

    /// Sessions that an agent may still begin. Whatever roles and groups its tokens name, it is one
    /// agent.
    pub(super) fn sessions(&self, identity: &Identity) -> Arc<Semaphore> {
        self.sessions
            .of(&identity.subject, || Semaphore::new(self.most_sessions))
    }

    /// Room for the bodies of one sender, by a name that is unique to it.
    pub(super) fn bodies(&self, sender: &str) -> Arc<Budget> {
        self.bodies
            .of(sender, || Budget::new(self.body_bytes, self.largest_body))
    }
}

impl<T> Held<T> {
    fn of(&self, name: &str, new: impl FnOnce() -> T) -> Arc<T> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = held.get(name).and_then(Weak::upgrade) {
            return share;
        }
        // There are never more entries than twice what is held, so that names cannot pile up.
        if held.len() == held.capacity() {
            held.retain(|_, share| share.strong_count() > 0);
        }
        let share = Arc::new(new());
        held.insert(name.to_owned(), Arc::downgrade(&share));
        share
    }
}

impl<T> Default for Held<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_has_one_share_whatever_its_tokens_name() {
        let shares = Shares::new(&Settings::default());
        let alice = Identity::named("alice");
        let promoted = Identity {
            roles: vec!["admin".to_owned()],
            session: Some("another".to_owned()),
            ..alice.clone()
        };
        let share = shares.sessions(&alice);
        assert!(Arc::ptr_eq(&share, &shares.sessions(&promoted)));
        let bob = Identity::named("bob");
        assert!(!Arc::ptr_eq(&share, &shares.sessions(&bob)));
    }

    #[test]
    fn agents_that_hold_nothing_leave_nothing_behind() {
        let shares = Shares::new(&Settings::default());
        let kept = shares.bodies("kept");
        for number in 0..10_000 {
            shares.bodies(&number.to_string());
        }
        assert!(shares.bodies.0.lock().unwrap().len() < 100);
        assert!(Arc::ptr_eq(&kept, &shares.bodies("kept")));
    }
}
