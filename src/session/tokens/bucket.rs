//! One bucket of tokens, as the time at which it is full again (the generic cell rate algorithm,
//! ITU-T I.371): a comparison and an addition, exact in whole nanoseconds.

use std::num::NonZeroU32;
use std::time::Duration;

/// How often something may happen: so many times at once, and then as often as the rate says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Nanoseconds until one more is there. Rounded up: a bucket may fill too slowly, never too fast.
    each: u64,
    burst: NonZeroU32,
}

/// What may still happen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Bucket {
    /// Nanoseconds since the clock was made. A bucket of the past is full.
    full_at: u64,
}

impl Rate {
    /// So many times within the period on average, and at most `burst` times at once.
    pub fn new(times: NonZeroU32, period: Duration, burst: NonZeroU32) -> Self {
        Self {
            each: nanoseconds(period).div_ceil(u64::from(times.get())).max(1),
            burst,
        }
    }

    /// What one that is empty lacks, but for the one that is taken.
    fn room(&self) -> u64 {
        let others = u64::from(self.burst.get().saturating_sub(1));
        self.each.saturating_mul(others)
    }
}

impl Bucket {
    /// One that nothing was ever taken from.
    pub(super) const FULL: Self = Self { full_at: 0 };

    /// How long until one can be taken; `None` if one can be taken now.
    pub(super) fn wait(self, rate: &Rate, now: Duration) -> Option<Duration> {
        let earliest = self.within(rate, now).saturating_sub(rate.room());
        let left = earliest.saturating_sub(nanoseconds(now));
        (left > 0).then(|| Duration::from_nanos(left))
    }

    /// Takes one, whether one is there or not.
    pub(super) fn take(&mut self, rate: &Rate, now: Duration) {
        let begins = self.within(rate, now).max(nanoseconds(now));
        self.full_at = begins.saturating_add(rate.each);
    }

    /// When it is full again. What was taken at another rate may be more than there is at this one: then
    /// it has one, and the rate begins with that. No message waits for as long as at the other rate.
    fn within(self, rate: &Rate, now: Duration) -> u64 {
        let has_one = nanoseconds(now).saturating_add(rate.room());
        if self.full_at > has_one.saturating_add(rate.each) {
            has_one
        } else {
            self.full_at
        }
    }

    /// Whether it is as one that nothing was ever taken from.
    pub(super) fn is_full(self, now: Duration) -> bool {
        self.full_at <= nanoseconds(now)
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rate(times: u32, period: Duration, burst: u32) -> Rate {
        let nonzero = |number| NonZeroU32::new(number).unwrap();
        Rate::new(nonzero(times), period, nonzero(burst))
    }

    /// When each of these moments (milliseconds) gets one, and how long those wait that do not.
    fn check(rate: Rate, moments: &[(u64, Option<u64>)]) {
        let mut bucket = Bucket::default();
        for (at, wait) in moments {
            let now = Duration::from_millis(*at);
            let told = bucket.wait(&rate, now);
            assert_eq!(told, wait.map(Duration::from_millis), "at {at} ms");
            if told.is_none() {
                bucket.take(&rate, now);
            }
        }
    }

    #[test]
    fn a_bucket_goes_on_at_another_rate_with_no_more_than_one_of_its_own() {
        let (slow, fast) = (
            rate(2, Duration::from_hours(2), 2),
            rate(10, Duration::from_secs(10), 10),
        );
        let mut bucket = Bucket::default();
        for _ in 0..2 {
            assert_eq!(bucket.wait(&slow, Duration::ZERO), None);
            bucket.take(&slow, Duration::ZERO);
        }
        // No message waits for as long as at the other rate.
        let second = Duration::from_secs(1);
        assert_eq!(bucket.wait(&slow, second), Some(3599 * second));
        assert_eq!(bucket.wait(&fast, second), None);
        bucket.take(&fast, second);
        assert_eq!(bucket.wait(&fast, second), Some(second));
        assert_eq!(bucket.wait(&fast, 2 * second), None);
        // At the slow one it lacks next to nothing.
        assert_eq!(bucket.wait(&slow, second), None);
    }

    #[test]
    fn a_bucket_gives_its_burst_at_once_and_then_its_rate() {
        let minute = Duration::from_mins(1);
        check(
            rate(6, minute, 2),
            &[
                (0, None),
                (0, None),
                (0, Some(10_000)),
                (9_999, Some(1)),
                (10_000, None),
                (10_000, Some(10_000)),
                // Idle for long, it holds no more than its burst.
                (600_000, None),
                (600_000, None),
                (600_000, Some(10_000)),
            ],
        );
        check(
            rate(1000, Duration::from_secs(1), 1),
            &[(5, None), (5, Some(1)), (6, None)],
        );
    }

    #[test]
    fn the_greatest_rates_and_times_do_not_overflow() {
        let mut bucket = Bucket::default();
        let widest = rate(1, Duration::MAX, u32::MAX);
        assert_eq!(bucket.wait(&widest, Duration::MAX), None);
        bucket.take(&widest, Duration::MAX);
        assert_eq!(bucket.wait(&widest, Duration::MAX), None);
        let fastest = rate(u32::MAX, Duration::from_nanos(1), 1);
        assert_eq!(fastest.each, 1);
    }

    proptest! {
        /// In no stretch of time does a bucket give more than its burst and what its rate makes of
        /// that time.
        #[test]
        fn a_bucket_never_gives_too_much(
            times in 1_u32..50,
            period in 1_u64..5_000,
            burst in 1_u32..20,
            steps in prop::collection::vec(0_u64..400, 1..200),
        ) {
            let rate = rate(times, Duration::from_millis(period), burst);
            let mut bucket = Bucket::default();
            let (mut now, mut given) = (0, Vec::new());
            for step in steps {
                now += step;
                let at = Duration::from_millis(now);
                if bucket.wait(&rate, at).is_none() {
                    bucket.take(&rate, at);
                    given.push(now);
                }
            }
            for (first, begins) in given.iter().enumerate() {
                for (last, ends) in given.iter().enumerate().skip(first) {
                    let made = (ends - begins) * u64::from(times) / period;
                    let count = u64::try_from(last - first + 1).unwrap();
                    prop_assert!(count <= u64::from(burst) + made);
                }
            }
        }

        /// Who waits as long as it was told gets one, if nobody else takes it.
        #[test]
        fn the_time_that_is_told_is_enough_and_none_of_it_too_much(
            times in 1_u32..50, period in 1_u64..5_000, burst in 1_u32..20, taken in 1_u32..60,
        ) {
            let rate = rate(times, Duration::from_millis(period), burst);
            let mut bucket = Bucket::default();
            for _ in 0..taken {
                if bucket.wait(&rate, Duration::ZERO).is_none() {
                    bucket.take(&rate, Duration::ZERO);
                }
            }
            if let Some(wait) = bucket.wait(&rate, Duration::ZERO) {
                prop_assert_eq!(bucket.wait(&rate, wait), None);
                let early = wait.saturating_sub(Duration::from_nanos(1));
                prop_assert!(bucket.wait(&rate, early).is_some());
            }
        }
    }
}
