//! What is kept as long as the gate runs.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::policy::Held;

use super::{Answer, Raised, RatchetKey, RatchetStore};

/// Keys that are kept where nobody said how many. Each takes some hundreds of bytes.
const MOST: usize = 100_000;

/// In memory. Nothing is ever dropped: who comes when it is full is held to have read everything, for
/// to forget one of those that are kept would be to lower it.
#[derive(Debug)]
pub struct InMemory {
    /// Nobody has raised anything yet, as where nothing is labelled: then nobody needs to look.
    is_empty: AtomicBool,
    by_key: RwLock<HashMap<RatchetKey, Arc<Held>>>,
    nothing: Arc<Held>,
    highest: Arc<Held>,
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
            nothing: Arc::default(),
            highest: Arc::new(Held::highest()),
            most,
        }
    }

    pub(super) fn get(&self, key: &RatchetKey) -> Arc<Held> {
        // INVARIANT: cleared before whoever raised is answered, so that whoever learned of what was
        // read finds it here.
        if self.is_empty.load(Ordering::SeqCst) {
            return Arc::clone(&self.nothing);
        }
        let by_key = self.by_key.read().unwrap_or_else(PoisonError::into_inner);
        match by_key.get(key) {
            Some(held) => Arc::clone(held),
            None if by_key.len() >= self.most => Arc::clone(&self.highest),
            None => Arc::clone(&self.nothing),
        }
    }

    pub(super) fn join(&self, key: &RatchetKey, by: &Held) -> Raised {
        if by.is_nothing() {
            return Raised::unchanged(&self.get(key));
        }
        let mut by_key = self.by_key.write().unwrap_or_else(PoisonError::into_inner);
        self.is_empty.store(false, Ordering::SeqCst);
        let is_full = by_key.len() >= self.most;
        match by_key.entry(key.clone()) {
            Entry::Occupied(mut entry) => {
                let raised = Raised::joining(entry.get(), by);
                entry.insert(Arc::clone(&raised.after));
                raised
            }
            Entry::Vacant(_) if is_full => Raised::unchanged(&self.highest),
            Entry::Vacant(entry) => {
                let raised = Raised::joining(&self.nothing, by);
                entry.insert(Arc::clone(&raised.after));
                raised
            }
        }
    }
}

impl RatchetStore for InMemory {
    fn held<'a>(&'a self, key: &'a RatchetKey) -> Answer<'a, Arc<Held>> {
        Answer::Now(Ok(self.get(key)))
    }

    fn raise<'a>(&'a self, key: &'a RatchetKey, by: &'a Held) -> Answer<'a, Raised> {
        Answer::Now(Ok(self.join(key, by)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::policy::fixture::any_held;

    fn key(name: &str) -> RatchetKey {
        RatchetKey::of(name, None)
    }

    proptest! {
        #[test]
        fn a_store_never_falls_and_ends_the_same_whatever_the_order(
            (raises, shuffled) in prop::collection::vec(any_held(), 0..8)
                .prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
        ) {
            let end = |raises: &[Held]| {
                let store = InMemory::default();
                for by in raises {
                    let before = store.get(&key("a"));
                    let raised = store.join(&key("a"), by);
                    assert_eq!(raised.before, before);
                    assert!(raised.after.covers(&before) && raised.after.covers(by));
                    assert_eq!(store.get(&key("a")), raised.after);
                }
                assert!(store.get(&key("b")).is_nothing());
                Held::clone(&store.get(&key("a")))
            };
            prop_assert_eq!(end(&raises), end(&shuffled));
        }
    }

    #[test]
    fn no_choice_of_names_makes_one_key_of_two() {
        let store = InMemory::default();
        store.join(&RatchetKey::of("a", Some("b")), &Held::at(3));
        for other in [
            RatchetKey::of("a", None),
            RatchetKey::of("ab", None),
            RatchetKey::of("", Some("ab")),
            RatchetKey::of("a", Some("")),
            RatchetKey::of("b", Some("a")),
        ] {
            assert!(store.get(&other).is_nothing(), "{other:?}");
        }
    }

    #[test]
    fn who_comes_when_it_is_full_has_read_everything_and_nobody_is_forgotten() {
        let store = InMemory::holding(2);
        store.join(&key("a"), &Held::at(1));
        assert!(store.get(&key("c")).is_nothing());
        store.join(&key("b"), &Held::at(1));
        assert_eq!(*store.get(&key("c")), Held::highest());
        assert_eq!(*store.join(&key("c"), &Held::at(1)).after, Held::highest());
        assert_eq!(store.get(&key("a")).level, 1);
        assert_eq!(store.join(&key("a"), &Held::at(2)).after.level, 2);
    }
}
