//! The hashes of one server's results, as many as there is room for.

/// Hashes among which a new one takes the place of the oldest.
const WAYS: usize = 15;

/// Sets of a table that is new, and of one that does not grow any more. Both are powers of two.
const FEWEST_SETS: usize = 8;
const MOST_SETS: usize = 4096;

/// Hashes with the same lowest bits.
#[derive(Debug, Clone, Copy, Default)]
struct Set {
    /// A ring, then zeros.
    marks: [u64; WAYS],
    /// How many it got.
    got: usize,
}

impl Set {
    /// Without branches: the processor could not predict them.
    #[inline]
    fn has(&self, mark: u64) -> bool {
        let all = self.marks.iter();
        all.fold(0, |has, it| has | u8::from(*it == mark)) != 0
    }

    fn is_full(&self) -> bool {
        self.got >= WAYS
    }

    #[inline]
    fn put(&mut self, mark: u64) {
        if let Some(oldest) = self.marks.get_mut(self.got % WAYS) {
            *oldest = mark;
        }
        self.got += 1;
    }
}

/// A table that doubles while there is room. Then each set forgets its oldest hash for a new one.
#[derive(Debug, Default)]
pub(super) struct Marks {
    sets: Vec<Set>,
    pub(super) has_forgotten: bool,
}

impl Marks {
    pub(super) fn bytes(&self) -> usize {
        self.sets.len() * size_of::<Set>()
    }

    #[inline]
    pub(super) fn has(&self, mark: u64) -> bool {
        let set = self.sets.get(self.place(mark));
        set.is_some_and(|set| set.has(not_zero(mark)))
    }

    #[inline]
    pub(super) fn add(&mut self, mark: u64) {
        let mark = not_zero(mark);
        loop {
            let place = self.place(mark);
            let may_grow = self.sets.len() < MOST_SETS;
            if let Some(set) = self.sets.get_mut(place) {
                if set.has(mark) {
                    return;
                }
                let is_full = set.is_full();
                if !(is_full && may_grow) {
                    self.has_forgotten |= is_full;
                    set.put(mark);
                    return;
                }
            }
            self.grow();
        }
    }

    /// Where a mark stands. There are too few sets for other bits.
    #[inline]
    fn place(&self, mark: u64) -> usize {
        let lowest = usize::try_from(mark & (MOST_SETS as u64 - 1)).unwrap_or_default();
        lowest & self.sets.len().saturating_sub(1)
    }

    fn grow(&mut self) {
        let sets = (self.sets.len() * 2).max(FEWEST_SETS);
        let before = std::mem::replace(&mut self.sets, vec![Set::default(); sets]);
        for set in before {
            for mark in set.marks.into_iter().take(set.got) {
                let place = self.place(mark);
                if let Some(set) = self.sets.get_mut(place) {
                    set.put(mark);
                }
            }
        }
    }
}

/// Zero is no mark.
#[inline]
fn not_zero(mark: u64) -> u64 {
    mark.max(1)
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

    use proptest::prelude::*;

    use super::*;

    fn hash(number: u64) -> u64 {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(number)
    }

    #[test]
    fn a_table_stays_within_its_bytes_and_forgets_the_oldest() {
        let mut marks = Marks::default();
        assert!(!marks.has(7) && marks.bytes() == 0);
        for number in 0..200_000 {
            marks.add(hash(number));
            assert!(marks.has(hash(number)));
        }
        assert_eq!(marks.bytes(), 512 << 10);
        assert!(marks.has_forgotten);
        let kept =
            |numbers: std::ops::Range<u64>| numbers.filter(|it| marks.has(hash(*it))).count();
        assert_eq!(kept(0..1000), 0);
        assert_eq!(kept(184_000..200_000), 16_000);
    }

    #[test]
    fn little_is_forgotten_before_the_table_is_full() {
        let mut marks = Marks::default();
        for number in 0..8_000 {
            marks.add(hash(number));
        }
        assert!(!marks.has_forgotten);
        assert!((0..8_000).all(|number| marks.has(hash(number))));
        assert!(!(8_000..100_000).any(|number| marks.has(hash(number))));
    }

    proptest! {
        #[test]
        fn a_mark_is_there_once_it_was_added(all in prop::collection::vec(any::<u64>(), 0..500)) {
            let mut marks = Marks::default();
            for mark in &all {
                marks.add(*mark);
            }
            prop_assert!(marks.has_forgotten || all.iter().all(|mark| marks.has(*mark)));
        }
    }
}
