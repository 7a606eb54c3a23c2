//! Hashes of windows under a key of this process.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;

/// Two factors and a term of 128 bits each.
///
/// Of the sum of the products, the highest 64 bits count. Any two windows have the same ones under one of 2^64 keys
/// (Dietzfelbinger's multiply-shift is strongly universal). That is enough: no hash leaves the process, and two that
/// are equal can add a question or a denial, never lift one.
#[derive(Debug)]
pub(super) struct Key {
    factors: [u128; 2],
    term: u128,
}

impl Key {
    pub(super) fn random() -> Self {
        let random = RandomState::new();
        let half = |number: u8| u128::from(random.hash_one(number));
        let number = |at: u8| half(2 * at) << 64 | half(2 * at + 1);
        Self {
            factors: [number(0), number(1)],
            term: number(2),
        }
    }

    #[inline]
    pub(super) fn mark(&self, window: u128) -> u64 {
        let halves = [window & u128::from(u64::MAX), window >> 64];
        let products = halves.into_iter().zip(self.factors);
        let sum = products.fold(self.term, |sum, (half, factor)| {
            sum.wrapping_add(half.wrapping_mul(factor))
        });
        u64::try_from(sum >> 64).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn windows_that_differ_in_a_bit_have_other_hashes_and_so_have_keys() {
        let (key, other) = (Key::random(), Key::random());
        for window in [0, 1, u128::MAX, u128::from_le_bytes(*b"4539148803436467")] {
            let near = (0..128).map(|bit| key.mark(window ^ 1 << bit));
            let all: HashSet<u64> = near.chain([key.mark(window)]).collect();
            assert_eq!(all.len(), 129, "{window:x}");
            assert_eq!(key.mark(window), key.mark(window));
            assert_ne!(key.mark(window), other.mark(window));
        }
    }
}
