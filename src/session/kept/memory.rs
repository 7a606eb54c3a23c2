//! What is kept as long as the gate runs.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::policy::SessionSensitivity;

use super::room;
use super::{Answer, Budget, Counted, Kept, Places, Raised, SessionKey, SessionStore, StoreFault};

/// Keys that are kept where nobody said how many. Each takes some hundreds of bytes.
const MOST: usize = 100_000;

/// In memory. Nothing is ever dropped: who comes when it is full is held to have read everything, for
/// to forget one of those that are kept would be to lower it.
#[derive(Debug)]
pub struct InMemory {
    /// Nobody has written anything yet, as where nothing is labelled: then nobody needs to look.
    is_empty: AtomicBool,
    by_key: RwLock<HashMap<SessionKey, Kept>>,
    nothing: Kept,
    beyond: Kept,
    most: usize,
}

impl Default for InMemory {
    fn default() -> Self {
        Self::holding(MOST)
    }
}

impl InMemory {
    /// For so many keys.
    pub fn holding(most: usize) -> Self {
        Self {
            is_empty: AtomicBool::new(true),
            by_key: RwLock::default(),
            nothing: Kept::default(),
            beyond: Kept::beyond(&Arc::new(SessionSensitivity::highest())),
            most,
        }
    }

    pub(super) fn get(&self, key: &SessionKey) -> Kept {
        self.get_beside(key, 0)
    }

    pub(super) fn has(&self, key: &SessionKey) -> bool {
        self.read().contains_key(key)
    }

    /// The same where so many more places are as good as taken.
    pub(super) fn get_beside(&self, key: &SessionKey, others: usize) -> Kept {
        // INVARIANT: cleared before whoever wrote is answered, so that whoever learned of what was
        // read finds it here.
        if others == 0 && self.is_empty.load(Ordering::SeqCst) {
            return self.nothing.clone();
        }
        let by_key = self.read();
        match by_key.get(key) {
            Some(kept) => kept.clone(),
            None if by_key.len().saturating_add(others) >= self.most => self.beyond.clone(),
            None => self.nothing.clone(),
        }
    }

    /// All there is, in one order.
    pub(super) fn all(&self) -> Vec<(SessionKey, Kept)> {
        let by_key = self.read();
        let mut all: Vec<_> = by_key
            .iter()
            .map(|(key, kept)| (key.clone(), kept.clone()))
            .collect();
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        all
    }

    /// The same as [`Self::join`], however many there are already.
    pub(super) fn join_beyond(&self, key: &SessionKey, by: &Kept) {
        let mut by_key = self.write();
        let kept = by_key.entry(key.clone()).or_default();
        *kept = kept.join(by);
    }

    /// Joins what is kept with this.
    pub fn join(&self, key: &SessionKey, by: &Kept) {
        self.change(key, |kept| (kept.join(by), ()), ());
    }

    /// Changes what is kept under a key, at one moment; where there is no place for it, nothing.
    fn change<T>(&self, key: &SessionKey, make: impl FnOnce(&Kept) -> (Kept, T), full: T) -> T {
        let mut by_key = self.write();
        let taken = by_key.len();
        match by_key.entry(key.clone()) {
            Entry::Occupied(mut entry) => {
                let (kept, answer) = make(entry.get());
                entry.insert(kept);
                answer
            }
            Entry::Vacant(_) if taken >= self.most => full,
            Entry::Vacant(entry) => {
                let (kept, answer) = make(&self.nothing);
                if !kept.is_nothing() {
                    entry.insert(kept);
                    room::tell(taken.saturating_add(1), self.most);
                }
                answer
            }
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<SessionKey, Kept>> {
        self.by_key.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<SessionKey, Kept>> {
        let by_key = self.by_key.write().unwrap_or_else(PoisonError::into_inner);
        self.is_empty.store(false, Ordering::SeqCst);
        by_key
    }

    pub(super) fn raised(&self, key: &SessionKey, by: &SessionSensitivity) -> Raised {
        if by.is_nothing() {
            return Raised::unchanged(&self.get(key).held);
        }
        let full = Raised::unchanged(&self.beyond.held);
        let make = |kept: &Kept| {
            let raised = Raised::joining(&kept.held, by);
            let held = Arc::clone(&raised.after);
            let kept = kept.clone();
            (Kept { held, ..kept }, raised)
        };
        self.change(key, make, full)
    }

    fn counted(&self, key: &SessionKey, budget: Budget) -> Counted {
        let make = |kept: &Kept| match kept.one_more(budget) {
            Some(more) => (more, Counted::Yes),
            None => (kept.clone(), Counted::Spent),
        };
        self.change(key, make, Counted::NoRoom)
    }
}

impl Kept {
    /// With one more call, if its budget has one.
    pub(super) fn one_more(&self, budget: Budget) -> Option<Self> {
        let calls = budget.one_more(self.calls)?;
        Some(Self {
            calls,
            ..self.clone()
        })
    }

    pub(super) fn ended_by(tool: &str) -> Self {
        Self {
            ended: Some(tool.into()),
            ..Self::default()
        }
    }
}

impl StoreFault {
    pub(super) fn no_room() -> Self {
        Self::new("all places are taken (`ratchet.max_sessions`)")
    }
}

impl SessionStore for InMemory {
    fn kept<'a>(&'a self, key: &'a SessionKey) -> Answer<'a, Kept> {
        Answer::Now(Ok(self.get(key)))
    }

    fn raise<'a>(&'a self, key: &'a SessionKey, by: &'a SessionSensitivity) -> Answer<'a, Raised> {
        Answer::Now(Ok(self.raised(key, by)))
    }

    fn count<'a>(&'a self, key: &'a SessionKey, budget: Budget) -> Answer<'a, Counted> {
        Answer::Now(Ok(self.counted(key, budget)))
    }

    fn end<'a>(&'a self, key: &'a SessionKey, tool: &'a str) -> Answer<'a, ()> {
        let ended = Kept::ended_by(tool);
        let make = |kept: &Kept| (kept.join(&ended), Ok(()));
        Answer::Now(self.change(key, make, Err(StoreFault::no_room())))
    }

    fn places(&self) -> Option<Places> {
        Some(Places {
            taken: self.read().len(),
            most: self.most,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::policy::fixture::any_held;

    fn key(name: &str) -> SessionKey {
        SessionKey::of(name, None)
    }

    fn of(most: i64) -> Budget {
        Budget { most, rest: None }
    }

    proptest! {
        #[test]
        fn a_store_never_falls_and_ends_the_same_whatever_the_order(
            (raises, shuffled) in prop::collection::vec(any_held(), 0..8)
                .prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
        ) {
            let end = |raises: &[SessionSensitivity]| {
                let store = InMemory::default();
                for by in raises {
                    let before = store.get(&key("a")).held;
                    let raised = store.raised(&key("a"), by);
                    assert_eq!(raised.before, before);
                    assert!(raised.after.covers(&before) && raised.after.covers(by));
                    assert_eq!(store.get(&key("a")).held, raised.after);
                }
                assert!(store.get(&key("b")).is_nothing());
                SessionSensitivity::clone(&store.get(&key("a")).held)
            };
            prop_assert_eq!(end(&raises), end(&shuffled));
        }
    }

    #[test]
    fn no_choice_of_names_makes_one_key_of_two() {
        let store = InMemory::default();
        store.raised(&SessionKey::of("a", Some("b")), &SessionSensitivity::at(3));
        for other in [
            SessionKey::of("a", None),
            SessionKey::of("ab", None),
            SessionKey::of("", Some("ab")),
            SessionKey::of("a", Some("")),
            SessionKey::of("b", Some("a")),
        ] {
            assert!(store.get(&other).is_nothing(), "{other:?}");
        }
    }

    #[test]
    fn who_comes_when_it_is_full_has_read_everything_and_nobody_is_forgotten() {
        let store = InMemory::holding(2);
        store.raised(&key("a"), &SessionSensitivity::at(1));
        assert!(store.get(&key("c")).is_nothing());
        store.raised(&key("b"), &SessionSensitivity::at(1));
        assert_eq!(
            store.get(&key("c")),
            Kept::beyond(&Arc::new(SessionSensitivity::highest()))
        );
        assert_eq!(
            *store.raised(&key("c"), &SessionSensitivity::at(1)).after,
            SessionSensitivity::highest()
        );
        assert_eq!(store.get(&key("a")).held.level, 1);
        assert_eq!(
            store
                .raised(&key("a"), &SessionSensitivity::at(2))
                .after
                .level,
            2
        );
    }

    #[test]
    fn of_a_thousand_calls_at_once_exactly_as_many_are_counted_as_a_budget_has() {
        let store = InMemory::default();
        let counted: usize = std::thread::scope(|scope| {
            let count = || {
                let all = (0..50).map(|_| store.counted(&key("a"), of(137)));
                all.filter(|it| *it == Counted::Yes).count()
            };
            let threads: Vec<_> = (0..20).map(|_| scope.spawn(count)).collect();
            threads.into_iter().map(|it| it.join().unwrap()).sum()
        });
        assert_eq!(counted, 137);
        assert_eq!(store.get(&key("a")).calls.made, 137);
        assert_eq!(store.counted(&key("b"), of(1)), Counted::Yes);
        assert_eq!(store.counted(&key("b"), of(1)), Counted::Spent);
    }

    #[test]
    fn who_comes_when_it_is_full_has_no_budget_and_cannot_be_ended() {
        let store = InMemory::holding(1);
        assert_eq!(store.counted(&key("a"), of(5)), Counted::Yes);
        assert_eq!(store.counted(&key("b"), of(5)), Counted::NoRoom);
        let Answer::Now(ended) = store.end(&key("b"), "send") else {
            panic!("it is in memory");
        };
        assert!(ended.is_err());
        let places = Places { taken: 1, most: 1 };
        assert_eq!(store.places(), Some(places));
        assert_eq!(store.counted(&key("a"), of(5)), Counted::Yes);
    }
}
