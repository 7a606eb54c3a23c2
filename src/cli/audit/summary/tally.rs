//! Values by key, and durations, in bounded memory.

use std::collections::BTreeMap;

/// The bytes of the longest key. The gate cuts names at a thousand bytes.
const MAX_KEY_BYTES: usize = 4096;

/// A value that grows by the records of its key.
pub(super) trait TallyValue: Default {
    fn merge(&mut self, other: Self);

    /// The number that counts for a key that is not kept.
    fn count(&self) -> u64;
}

/// At most `KEYS` keys with their values. It counts what belongs to other keys.
#[derive(Debug)]
pub(super) struct Tally<V, const KEYS: usize = 100_000> {
    pub(super) values: BTreeMap<String, V>,
    pub(super) others: u64,
}

impl<V, const KEYS: usize> Default for Tally<V, KEYS> {
    fn default() -> Self {
        Self {
            values: BTreeMap::new(),
            others: 0,
        }
    }
}

impl<V: TallyValue, const KEYS: usize> Tally<V, KEYS> {
    pub(super) fn add(&mut self, key: &str, value: V) {
        if let Some(known) = self.values.get_mut(key) {
            known.merge(value);
        } else if self.values.len() < KEYS && key.len() <= MAX_KEY_BYTES {
            self.values.insert(key.to_owned(), value);
        } else {
            self.others += value.count();
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        for (key, value) in other.values {
            self.add(&key, value);
        }
        self.others += other.others;
    }
}

impl TallyValue for u64 {
    fn merge(&mut self, other: Self) {
        *self += other;
    }

    fn count(&self) -> u64 {
        *self
    }
}

/// The number of durations for each sixteenth of a power of two. A duration below 32 has its own.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    buckets: BTreeMap<u32, u64>,
    count: u64,
}

impl Histogram {
    pub(super) fn of(duration: u64) -> Self {
        let shift = shift(duration);
        // Fits: the shifted duration is below 32.
        let bucket = shift * 16 + u32::try_from(duration >> shift).unwrap_or(u32::MAX);
        Self {
            buckets: BTreeMap::from([(bucket, 1)]),
            count: 1,
        }
    }

    /// The longest duration of the bucket with this share of the durations in it or below it: at most a sixteenth
    /// too long.
    pub(super) fn quantile(&self, percent: u64) -> u64 {
        let mut rank = (self.count * percent).div_ceil(100);
        for (bucket, count) in &self.buckets {
            if rank <= *count {
                let shift = (bucket / 16).saturating_sub(1);
                let first = u64::from(bucket - shift * 16) << shift;
                return first + ((1 << shift) - 1);
            }
            rank -= count;
        }
        0
    }
}

/// The bits that a bucket leaves out.
fn shift(duration: u64) -> u32 {
    (u64::BITS - duration.leading_zeros()).saturating_sub(5)
}

impl TallyValue for Histogram {
    fn merge(&mut self, other: Self) {
        for (bucket, count) in other.buckets {
            *self.buckets.entry(bucket).or_default() += count;
        }
        self.count += other.count;
    }

    fn count(&self) -> u64 {
        self.count
    }
}
