//! Changes that wait for the disk. Those that come while it is busy go there together: as many calls may
//! be counted within one sync as come meanwhile.

use std::collections::HashMap;
use std::fmt;

use tokio::sync::oneshot;

use super::journal::line;
use super::{InMemory, Kept, Room, SessionKey, StoreFault};

/// A change, and who waits for it.
pub(super) trait Waiting: Send + fmt::Debug {
    fn key(&self) -> &SessionKey;

    /// What is kept from then on; nothing where that is what was kept before.
    fn make(&mut self, kept: Kept) -> Option<Kept>;

    fn tell(self: Box<Self>, written: Result<(), StoreFault>);
}

/// What was kept before, and what came of it.
type Told<T> = Result<(Kept, T), StoreFault>;

struct Change<T, F> {
    key: SessionKey,
    make: Option<F>,
    made: Option<(Kept, T)>,
    told: oneshot::Sender<Told<T>>,
}

/// A change of what is kept under a key, and what tells its outcome.
pub(super) fn change<T: Send + 'static>(
    key: &SessionKey,
    make: impl FnOnce(&Kept) -> (Option<Kept>, T) + Send + 'static,
) -> (Box<dyn Waiting>, oneshot::Receiver<Told<T>>) {
    let (told, outcome) = oneshot::channel();
    let change = Change {
        key: key.clone(),
        make: Some(make),
        made: None,
        told,
    };
    (Box::new(change), outcome)
}

impl<T, F> fmt::Debug for Change<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Change").field(&self.key).finish()
    }
}

impl<T, F> Waiting for Change<T, F>
where
    T: Send,
    F: FnOnce(&Kept) -> (Option<Kept>, T) + Send,
{
    fn key(&self) -> &SessionKey {
        &self.key
    }

    fn make(&mut self, kept: Kept) -> Option<Kept> {
        let (changed, answer) = self.make.take()?(&kept);
        self.made = Some((kept, answer));
        changed
    }

    fn tell(self: Box<Self>, written: Result<(), StoreFault>) {
        let made = self.made.ok_or_else(|| StoreFault::new("it was not made"));
        // Who does not wait any more need not know.
        let _ = self.told.send(written.and(made));
    }
}

/// What some changes come to, one after the other, before any of it is kept.
pub(super) struct Batch<'m> {
    memory: &'m InMemory,
    changed: HashMap<SessionKey, Kept>,
    /// Keys among them that have no place yet.
    added: usize,
}

impl<'m> Batch<'m> {
    pub(super) fn new(memory: &'m InMemory) -> Self {
        Self {
            memory,
            changed: HashMap::new(),
            added: 0,
        }
    }

    pub(super) fn make(&mut self, change: &mut dyn Waiting) {
        let key = change.key().clone();
        let before = self.changed.get(&key).cloned();
        let is_new = before.is_none() && !self.memory.has(&key);
        let before = before.unwrap_or_else(|| self.memory.get_beside(&key, self.added));
        let room = before.room;
        if let (Some(changed), Room::Left) = (change.make(before), room) {
            self.changed.insert(key, changed);
            self.added = self.added.saturating_add(usize::from(is_new));
        }
    }

    /// One line for each key.
    pub(super) fn lines(&self) -> String {
        let lines = self.changed.iter().map(|(key, kept)| line(key, kept));
        lines.collect()
    }

    /// Keeps it.
    pub(super) fn keep(self) {
        for (key, kept) in &self.changed {
            self.memory.join(key, kept);
        }
    }
}
