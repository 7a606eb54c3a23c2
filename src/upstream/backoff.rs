//! How long to wait before the server is started again.

use std::time::Duration;

/// Settings of the delays between restarts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backoff {
    /// Before the first restart; each further one waits twice as long.
    pub first: Duration,
    /// No restart waits longer.
    pub max: Duration,
    /// A server that lived this long starts over at `first`.
    pub stable_after: Duration,
    /// Starts without a single completed handshake before the server is given up.
    pub tries: u32,
    /// Makes the jitter repeatable; `None` draws one from the operating system.
    pub seed: Option<u64>,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(250),
            max: Duration::from_secs(30),
            stable_after: Duration::from_mins(1),
            tries: 5,
            seed: None,
        }
    }
}

/// The sequence of delays: doubled each time, and each shortened by up to a half at random, so that
/// gates which lost the same server at the same moment do not come back at the same moment.
#[derive(Debug, Clone)]
pub struct Delays {
    first: Duration,
    max: Duration,
    doublings: u32,
    random: u64,
}

impl Delays {
    pub fn new(settings: &Backoff) -> Self {
        let random = settings.seed.unwrap_or_else(|| {
            // Without randomness the delays are only less spread; that is no reason to stop.
            getrandom::u64().unwrap_or_default()
        });
        Self {
            first: settings.first,
            max: settings.max,
            doublings: 0,
            random,
        }
    }

    /// The delay before the next restart, between a half of the nominal one and all of it.
    pub fn next_delay(&mut self) -> Duration {
        let factor = 2_u32.checked_pow(self.doublings).unwrap_or(u32::MAX);
        let nominal = self.first.saturating_mul(factor).min(self.max);
        self.doublings = self.doublings.saturating_add(1);
        let half = nominal / 2;
        let spread = u64::try_from(half.as_nanos()).unwrap_or(u64::MAX);
        let jitter = self
            .next_random()
            .checked_rem(spread.saturating_add(1))
            .unwrap_or(0);
        nominal.saturating_sub(Duration::from_nanos(jitter))
    }

    /// The next delay is the first one again.
    pub fn reset(&mut self) {
        self.doublings = 0;
    }

    /// SplitMix64 (Steele, Lea and Flood 2014): spread for jitter, not for secrets.
    fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.random;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(seed: u64) -> Delays {
        Delays::new(&Backoff {
            seed: Some(seed),
            ..Backoff::default()
        })
    }

    fn nominal(restart: u32) -> Duration {
        let Backoff { first, max, .. } = Backoff::default();
        first.saturating_mul(2_u32.saturating_pow(restart)).min(max)
    }

    #[test]
    fn each_delay_lies_between_a_half_and_all_of_twice_the_last() {
        for seed in 0..200 {
            let mut delays = delays(seed);
            for restart in 0..40 {
                let delay = delays.next_delay();
                let nominal = nominal(restart);
                assert!(
                    delay <= nominal && delay >= nominal / 2,
                    "{seed} {restart} {delay:?}"
                );
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_delays_and_another_seed_others() {
        let take = |seed| {
            let mut delays = delays(seed);
            std::iter::repeat_with(|| delays.next_delay())
                .take(8)
                .collect::<Vec<_>>()
        };
        assert_eq!(take(7), take(7));
        assert_ne!(take(7), take(8));
    }

    #[test]
    fn a_reset_starts_over_at_the_first_delay() {
        let mut delays = delays(1);
        for _ in 0..10 {
            delays.next_delay();
        }
        delays.reset();
        assert!(delays.next_delay() <= Backoff::default().first);
    }
}
