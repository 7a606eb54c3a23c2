//! A histogram of durations that costs its writer three additions and no lock. The one of
//! `prometheus-client` takes a lock for each observation.

use std::sync::atomic::{AtomicU64, Ordering};

/// Durations by size.
#[derive(Debug)]
pub(super) struct Histogram {
    /// The largest of each bucket but the last, in microseconds.
    bounds: &'static [u64],
    /// One more than there are bounds.
    buckets: Vec<AtomicU64>,
    sum_us: AtomicU64,
}

/// What was observed so far.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Distribution {
    pub(super) seconds: f64,
    pub(super) count: u64,
    /// How many there are up to each bound, in seconds, that were not up to the one before.
    pub(super) buckets: Vec<(f64, u64)>,
}

impl Histogram {
    pub(super) fn new(bounds: &'static [u64]) -> Self {
        let buckets = std::iter::repeat_with(AtomicU64::default);
        Self {
            bounds,
            buckets: buckets.take(bounds.len() + 1).collect(),
            sum_us: AtomicU64::default(),
        }
    }

    pub(super) fn observe(&self, micros: u64) {
        let bucket = self.bounds.partition_point(|bound| *bound < micros);
        if let Some(bucket) = self.buckets.get(bucket) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.sum_us.fetch_add(micros, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> Distribution {
        let bounds = self.bounds.iter().map(|bound| seconds(*bound));
        let counts = self.buckets.iter().map(|it| it.load(Ordering::Relaxed));
        let buckets: Vec<_> = bounds.chain([f64::INFINITY]).zip(counts).collect();
        Distribution {
            seconds: seconds(self.sum_us.load(Ordering::Relaxed)),
            // Of the buckets that were read, so that the two agree.
            count: buckets.iter().map(|(_, count)| count).sum(),
            buckets,
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "exact up to 285 years of microseconds"
)]
fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_in_the_first_bucket_that_reaches_it() {
        let histogram = Histogram::new(&[10, 100]);
        for micros in [0, 10, 11, 100, 101, 5_000_000] {
            histogram.observe(micros);
        }
        let read = histogram.read();
        assert_eq!(read.count, 6);
        assert_eq!(read.buckets, [(1e-5, 2), (1e-4, 2), (f64::INFINITY, 2)]);
        assert!((read.seconds - 5.000_222).abs() < 1e-9, "{read:?}");
    }
}
