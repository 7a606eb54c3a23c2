//! Which servers' results the arguments of a call repeat.
//!
//! Of what a session gets of a server, the gate keeps keyed hashes of some windows of 16 letters and digits. It
//! looks for all windows of later arguments among them, as they are written and decoded. What it finds proves
//! that the text was in a result; what it does not find proves nothing. So policies may only forbid by it.

mod key;
mod letters;
mod marks;
#[cfg(test)]
mod oracle;
mod readings;
mod sessions;
#[cfg(test)]
mod tests;
mod windows;

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::SessionKey;
use crate::policy::ServerKey;
use key::Key;
use readings::{Budget, read};
use sessions::Sessions;
use windows::{Windows, is_distinctive};

pub use sessions::Copies;

/// Bytes of one result that are read, in all readings.
const MOST_KEPT: usize = 256 << 10;

/// The same of the arguments of one call.
const MOST_LOOKED_AT: usize = 1 << 20;

/// Hashes that are kept, or looked for, while the lock is held.
const MOST_AT_ONCE: usize = 8192;

/// What sessions have got of several servers, as keyed hashes.
#[derive(Debug)]
pub struct EvidenceStore {
    key: Key,
    sessions: Mutex<Sessions>,
}

impl Default for EvidenceStore {
    fn default() -> Self {
        Self {
            key: Key::random(),
            sessions: Mutex::default(),
        }
    }
}

impl EvidenceStore {
    /// A session reads from a server; `sources` are those that it has read from before.
    pub fn begin(&self, session: &SessionKey, server: &ServerKey, sources: &BTreeSet<String>) {
        self.sessions().begin(session, server, sources);
    }

    /// Forgets everything.
    pub fn clear(&self) {
        *self.sessions() = Sessions::default();
    }

    /// Keeps what a session gets of a server; `sources` are those that it has read from before.
    pub fn keep<T: AsRef<str>>(
        &self,
        session: &SessionKey,
        server: &ServerKey,
        sources: &BTreeSet<String>,
        texts: impl IntoIterator<Item = T>,
    ) {
        // Its table may have been forgotten since the request left.
        self.sessions().begin(session, server, sources);
        let mut marks = Vec::new();
        let mut budget = Budget::of(MOST_KEPT);
        read(texts, Windows::sampled(), &mut budget, &mut |window| {
            marks.extend(is_distinctive(window).then(|| self.key.mark(window)));
        });
        if budget.is_spent() {
            self.sessions().forget(session, server);
        }
        for marks in marks.chunks(MOST_AT_ONCE) {
            self.sessions().keep(session, server, marks);
        }
    }

    /// What a call of a server repeats of what its session has got of others.
    pub fn look<T: AsRef<str>>(
        &self,
        session: &SessionKey,
        server: &ServerKey,
        sources: &BTreeSet<String>,
        texts: impl IntoIterator<Item = T>,
    ) -> Copies {
        let (mut copies, are_others) = self.sessions().others(session, server, sources);
        if !are_others {
            return copies;
        }
        let mut marks = Vec::new();
        let mut budget = Budget::of(MOST_LOOKED_AT);
        read(texts, Windows::all(), &mut budget, &mut |window| {
            marks.push(self.key.mark(window));
        });
        copies.incomplete |= budget.is_spent();
        for marks in marks.chunks(MOST_AT_ONCE) {
            let found = self.sessions().look(session, server, marks);
            copies.from.extend(found);
        }
        // A table may have been forgotten in between.
        let (after, _) = self.sessions().others(session, server, sources);
        copies.incomplete |= after.incomplete;
        copies
    }

    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
