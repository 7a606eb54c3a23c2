//! What one agent may hold of what all agents share: who asks for everything gets a part, and
//! leaves the rest to the others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Semaphore;

use crate::identity::Identity;

use super::body;
use super::settings::Settings;

/// The shares of all agents that hold anything just now.
#[derive(Debug)]
pub(super) struct Shares {
    held: Mutex<HashMap<String, Weak<Share>>>,
    sessions: usize,
    body_units: usize,
}

/// What one agent may still take. Whatever roles and groups its tokens name, it is one agent.
#[derive(Debug)]
pub(super) struct Share {
    pub(super) sessions: Arc<Semaphore>,
    pub(super) bodies: Semaphore,
}

/// Which part of the bodies that are being read may be one agent's.
const PART_OF_BODIES: usize = 4;

impl Shares {
    pub(super) fn new(settings: &Settings) -> Self {
        let part = settings.max_waiting_bodies / PART_OF_BODIES;
        Self {
            held: Mutex::default(),
            sessions: settings.max_sessions_per_agent.min(Semaphore::MAX_PERMITS),
            // The largest message must fit, or it could never be sent.
            body_units: body::units(part.max(settings.limits.max_bytes)),
        }
    }

    pub(super) fn of(&self, identity: &Identity) -> Arc<Share> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = held.get(&identity.subject).and_then(Weak::upgrade) {
            return share;
        }
        // There are never more entries than twice what is held, so that names cannot pile up.
        if held.len() == held.capacity() {
            held.retain(|_, share| share.strong_count() > 0);
        }
        let share = Arc::new(Share {
            sessions: Arc::new(Semaphore::new(self.sessions)),
            bodies: Semaphore::new(self.body_units),
        });
        held.insert(identity.subject.clone(), Arc::downgrade(&share));
        share
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
        let share = shares.of(&alice);
        assert!(Arc::ptr_eq(&share, &shares.of(&promoted)));
        assert!(!Arc::ptr_eq(&share, &shares.of(&Identity::named("bob"))));
    }

    #[test]
    fn agents_that_hold_nothing_leave_nothing_behind() {
        let shares = Shares::new(&Settings::default());
        let kept = shares.of(&Identity::named("kept"));
        for number in 0..10_000 {
            shares.of(&Identity::named(number.to_string()));
        }
        assert!(shares.held.lock().unwrap().len() < 100);
        assert!(Arc::ptr_eq(&kept, &shares.of(&Identity::named("kept"))));
    }
}
