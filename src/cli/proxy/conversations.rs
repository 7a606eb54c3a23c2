//! Which conversations there are, for whoever counts them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::admin::{ServerLabel, Sessions};
use crate::session::{Readiness, Session};

/// The sessions that live. Looking at them costs their messages a lock that is held for nanoseconds,
/// and only while somebody looks: counters that are raised and lowered would cost each message
/// something, and be wrong for ever after a conversation that broke off.
#[derive(Debug, Clone, Default)]
pub(super) struct Conversations(Arc<Mutex<Enrolled>>);

#[derive(Debug, Default)]
struct Enrolled {
    living: Vec<Weak<Session>>,
    ever: u64,
    /// The number that was given last.
    number: u64,
}

impl Conversations {
    pub(super) fn enrol(&self, session: &Arc<Session>) {
        let mut enrolled = self.lock();
        enrolled.ever = enrolled.ever.saturating_add(1);
        let living = &mut enrolled.living;
        if living.len() == living.capacity() {
            living.retain(|known| known.strong_count() > 0);
        }
        living.push(Arc::downgrade(session));
    }

    /// The number of one that begins.
    pub(super) fn next_number(&self) -> u64 {
        let mut enrolled = self.lock();
        enrolled.number = enrolled.number.saturating_add(1);
        enrolled.number
    }

    /// How many there have been since the start, those included that live.
    pub(super) fn ever(&self) -> u64 {
        self.lock().ever
    }

    /// Those of each server.
    pub(super) fn count(&self, servers: &[ServerLabel]) -> Vec<(ServerLabel, Sessions)> {
        let mut all: Vec<_> = servers
            .iter()
            .map(|server| (server.clone(), Sessions::default()))
            .collect();
        for session in self.living() {
            let state = session.state();
            let name = &*state.parties.server.name;
            let is_of = |server: &ServerLabel| server.0.as_deref().is_none_or(|key| key == name);
            let Some((_, counted)) = all.iter_mut().find(|(server, _)| is_of(server)) else {
                continue;
            };
            match state.connection.upstream {
                Readiness::Up => counted.up += 1,
                Readiness::Repeating => counted.repeating += 1,
                Readiness::Down => counted.down += 1,
            }
            counted.in_flight += state.waiting.to_upstream.len();
            counted.asked += state.waiting.to_agent.len();
            counted.parked += state.waiting.parked.len();
        }
        all
    }

    /// Of the server of the first one.
    pub(super) fn readiness(&self) -> Option<Readiness> {
        let first = self.living().into_iter().next();
        first.map(|session| session.state().connection.upstream)
    }

    fn living(&self) -> Vec<Arc<Session>> {
        let enrolled = self.lock();
        enrolled.living.iter().filter_map(Weak::upgrade).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Enrolled> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
