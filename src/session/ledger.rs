//! What is remembered of principals longer than of their conversations, in bounded room.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bytes that one owner may take, and all of them together. Where one has too much it loses its own
/// oldest entries; where all have, the one that has most does.
const OF_EACH: usize = 1 << 20;
const OF_ALL: usize = 64 << 20;

/// What an entry takes beside what is said of it: keys, places in two maps.
const OVERHEAD: usize = 256;

/// Entries of owners who know nothing of each other. A second entry under a key replaces the first.
#[derive(Debug)]
pub struct Ledger<K, V> {
    pages: Mutex<Pages<K, V>>,
}

/// An entry is larger than what one owner may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge;

/// How long an entry stands, and how much room it takes.
#[derive(Debug, Clone, Copy)]
pub struct Keep {
    /// Time since the clock was made.
    pub until: Duration,
    /// Bytes, beside what every entry takes.
    pub bytes: usize,
}

#[derive(Debug)]
struct Pages<K, V> {
    by_owner: HashMap<Arc<str>, Page<K, V>>,
    bytes: usize,
    latest: u64,
    of_each: usize,
    of_all: usize,
}

#[derive(Debug)]
struct Page<K, V> {
    entries: HashMap<K, Entry<V>>,
    /// Keys by their age.
    order: BTreeMap<u64, K>,
    bytes: usize,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    number: u64,
    keep: Keep,
}

impl<K, V> Default for Ledger<K, V> {
    fn default() -> Self {
        Self::holding(OF_EACH, OF_ALL)
    }
}

impl<K, V> Ledger<K, V> {
    /// With other room than what most have: bytes of each owner, and of all.
    pub fn holding(of_each: usize, of_all: usize) -> Self {
        let pages = Pages {
            by_owner: HashMap::new(),
            bytes: 0,
            latest: 0,
            of_each,
            of_all,
        };
        Self {
            pages: Mutex::new(pages),
        }
    }

    /// Has other room from now on. What is too much goes when its owner, or all, are given more.
    pub fn hold(&self, of_each: usize, of_all: usize) {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.of_each = of_each;
        pages.of_all = of_all;
    }
}

impl<K: Clone + Eq + Hash, V: Clone> Ledger<K, V> {
    /// Remembers something of an owner, made of what is known under the key already.
    ///
    /// # Errors
    /// [`TooLarge`] when it could not be kept even alone: then nothing has changed.
    pub fn note(
        &self,
        owner: &str,
        key: K,
        now: Duration,
        make: impl FnOnce(Option<V>) -> (V, Keep),
    ) -> Result<(), TooLarge> {
        let mut pages = self.pages();
        let known = pages.get(owner, &key, now);
        let (value, keep) = make(known);
        let bytes = keep.bytes.saturating_add(OVERHEAD);
        if bytes > pages.of_each {
            return Err(TooLarge);
        }
        pages.remove(owner, &key);
        pages.latest = pages.latest.saturating_add(1);
        let number = pages.latest;
        pages.bytes = pages.bytes.saturating_add(bytes);
        let keep = Keep { bytes, ..keep };
        let page = pages.by_owner.entry(owner.into()).or_default();
        page.bytes = page.bytes.saturating_add(bytes);
        page.order.insert(number, key.clone());
        let entry = Entry {
            value,
            number,
            keep,
        };
        page.entries.insert(key, entry);
        pages.shrink(owner, now);
        Ok(())
    }

    /// What is known of an owner under a key.
    pub fn get(&self, owner: &str, key: &K, now: Duration) -> Option<V> {
        self.pages().get(owner, key, now)
    }

    /// Changes what others have under a key. Whether there is any.
    pub fn change_of_others(
        &self,
        owner: &str,
        key: &K,
        now: Duration,
        mut change: impl FnMut(&mut V),
    ) -> bool {
        let mut pages = self.pages();
        // Owners are few beside their entries, and nobody asks often.
        let others = pages.by_owner.iter_mut().filter(|(it, _)| &***it != owner);
        let entries = others.filter_map(|(_, page)| page.entries.get_mut(key));
        let mut is_any = false;
        for entry in entries.filter(|entry| entry.keep.until > now) {
            // It keeps its room, which it was given for more.
            change(&mut entry.value);
            is_any = true;
        }
        is_any
    }

    /// Forgets everything of an owner.
    pub fn forget(&self, owner: &str) {
        let mut pages = self.pages();
        if let Some(page) = pages.by_owner.remove(owner) {
            pages.bytes = pages.bytes.saturating_sub(page.bytes);
        }
    }

    fn pages(&self) -> MutexGuard<'_, Pages<K, V>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K, V> Default for Page<K, V> {
    fn default() -> Self {
        Self {
            entries: HashMap::new(),
            order: BTreeMap::new(),
            bytes: 0,
        }
    }
}

impl<K: Clone + Eq + Hash, V: Clone> Pages<K, V> {
    fn get(&self, owner: &str, key: &K, now: Duration) -> Option<V> {
        let entry = self.by_owner.get(owner)?.entries.get(key)?;
        (entry.keep.until > now).then(|| entry.value.clone())
    }

    fn remove(&mut self, owner: &str, key: &K) {
        let Some(page) = self.by_owner.get_mut(owner) else {
            return;
        };
        if let Some(entry) = page.entries.remove(key) {
            page.order.remove(&entry.number);
            page.bytes = page.bytes.saturating_sub(entry.keep.bytes);
            self.bytes = self.bytes.saturating_sub(entry.keep.bytes);
        }
        if page.entries.is_empty() {
            self.by_owner.remove(owner);
        }
    }

    /// Makes room after an entry of this owner's, which stays.
    fn shrink(&mut self, owner: &str, now: Duration) {
        while let Some(page) = self.by_owner.get(owner) {
            let Some((key, is_over)) = page.oldest(now) else {
                break;
            };
            if !is_over && page.bytes <= self.of_each {
                break;
            }
            self.remove(owner, &key);
        }
        while self.bytes > self.of_all {
            let most = self.by_owner.iter().max_by_key(|(_, page)| page.bytes);
            let Some((most, key)) =
                most.and_then(|(most, page)| Some((Arc::clone(most), page.oldest(now)?.0)))
            else {
                break;
            };
            self.remove(&most, &key);
        }
    }
}

impl<K: Clone + Eq + Hash, V> Page<K, V> {
    /// The oldest entry, and whether its time is over.
    fn oldest(&self, now: Duration) -> Option<(K, bool)> {
        let (_, key) = self.order.first_key_value()?;
        let entry = self.entries.get(key)?;
        Some((key.clone(), entry.keep.until <= now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: Duration = Duration::MAX;

    fn note(ledger: &Ledger<u32, u32>, owner: &str, key: u32, bytes: usize) -> bool {
        let keep = Keep {
            until: NEVER,
            bytes,
        };
        let noted = ledger.note(owner, key, Duration::ZERO, |_| (key, keep));
        noted.is_ok()
    }

    fn has(ledger: &Ledger<u32, u32>, owner: &str, key: u32) -> bool {
        ledger.get(owner, &key, Duration::ZERO) == Some(key)
    }

    #[test]
    fn what_is_known_of_one_owner_is_not_known_of_another() {
        let ledger = Ledger::default();
        assert!(note(&ledger, "a", 1, 0));
        assert!(has(&ledger, "a", 1));
        assert!(!has(&ledger, "b", 1) && !has(&ledger, "a", 2));
        ledger.forget("a");
        assert!(!has(&ledger, "a", 1));
        assert_eq!(ledger.pages().bytes, 0);
    }

    #[test]
    fn what_has_had_its_time_is_not_known_and_makes_room() {
        let ledger = Ledger::default();
        let second = Duration::from_secs(1);
        let keep = |until| Keep { until, bytes: 0 };
        ledger
            .note("a", 1, Duration::ZERO, |_| (1, keep(second)))
            .unwrap();
        assert_eq!(ledger.get("a", &1, Duration::ZERO), Some(1));
        assert_eq!(ledger.get("a", &1, second), None);
        ledger
            .note("a", 2, second, |_| (2, keep(2 * second)))
            .unwrap();
        assert_eq!(ledger.pages().bytes, OVERHEAD);
    }

    #[test]
    fn an_entry_is_made_of_the_one_before() {
        let ledger = Ledger::default();
        for count in 1..4 {
            let keep = Keep {
                until: NEVER,
                bytes: 10,
            };
            let add = |known: Option<u32>| (known.unwrap_or(0) + 1, keep);
            ledger.note("a", "key", Duration::ZERO, add).unwrap();
            assert_eq!(ledger.get("a", &"key", Duration::ZERO), Some(count));
        }
        assert_eq!(ledger.pages().bytes, OVERHEAD + 10);
    }

    #[test]
    fn what_others_have_under_a_key_is_changed_as_long_as_it_stands() {
        let ledger = Ledger::default();
        let second = Duration::from_secs(1);
        for (owner, key, until) in [("a", 1, NEVER), ("b", 1, NEVER), ("b", 2, second)] {
            let keep = Keep { until, bytes: 0 };
            let noted = ledger.note(owner, key, Duration::ZERO, |_| (key, keep));
            noted.unwrap();
        }
        let change = |owner, key| ledger.change_of_others(owner, &key, second, |it| *it = 9);
        assert!(!change("b", 2) && !change("a", 2) && !change("a", 3));
        assert!(change("a", 1));
        assert_eq!(ledger.get("a", &1, second), Some(1));
        assert_eq!(ledger.get("b", &1, second), Some(9));
        assert!(change("c", 1));
        assert_eq!(ledger.get("a", &1, second), Some(9));
        ledger.forget("a");
        ledger.forget("b");
        assert_eq!(ledger.pages().bytes, 0);
    }

    #[test]
    fn an_owner_that_has_too_much_loses_its_oldest_and_nobody_else_loses_anything() {
        let ledger = Ledger::default();
        assert!(note(&ledger, "b", 1, 0));
        for key in 0..10 {
            assert!(note(&ledger, "a", key, OF_EACH / 4));
        }
        assert!(has(&ledger, "b", 1));
        assert!(has(&ledger, "a", 9) && !has(&ledger, "a", 0));
        assert!(!note(&ledger, "a", 10, OF_EACH));
        assert!(has(&ledger, "a", 9));
        assert!(ledger.pages().bytes <= 2 * OF_EACH);
    }

    #[test]
    fn where_all_have_too_much_the_greatest_owner_loses() {
        let ledger = Ledger::default();
        let owners = u32::try_from(OF_ALL / OF_EACH).unwrap();
        assert!(note(&ledger, "small", 0, 0));
        for owner in 0..2 * owners {
            assert!(note(&ledger, &owner.to_string(), 0, OF_EACH - OVERHEAD));
        }
        assert!(has(&ledger, "small", 0));
        assert!(ledger.pages().bytes <= OF_ALL);
    }
}
