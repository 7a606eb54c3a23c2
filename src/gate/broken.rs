//! How often operators get a warning about a server whose answers are refused or never arrive.
//! `answer.rs` writes the warning.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::rejection::{Property, Rejection};

/// The most reasons that are counted each for itself; there are fewer.
const MOST: usize = 64;

/// How long no warning has the same reason.
const QUIET: Duration = Duration::from_secs(10);

/// When a warning had each reason last, and how many were left out since.
#[derive(Debug, Default)]
pub(super) struct Broken(Mutex<HashMap<String, (Duration, u64)>>);

impl Broken {
    /// How many warnings were left out before this one; `None` if this one is left out as well.
    pub(super) fn turn(&self, reason: &str, now: Duration) -> Option<u64> {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((last, left_out)) = told.get_mut(reason) {
            if now.saturating_sub(*last) < QUIET {
                *left_out = left_out.saturating_add(1);
                return None;
            }
            *last = now;
            return Some(std::mem::take(left_out));
        }
        let has_room = told.len() < MOST;
        has_room.then(|| {
            told.insert(reason.to_owned(), (now, 0));
            0
        })
    }
}

/// What was wrong with an answer, or in place of one.
pub(super) struct Fault<'f> {
    pub(super) server: &'f str,
    pub(super) method: Option<&'f str>,
    pub(super) record: &'f str,
    pub(super) refusal: &'f Rejection,
}

/// Whether a request has ended without an answer since something is wrong with its server. A timeout has a
/// warning of its own.
pub(super) fn is_broken(refusal: &Rejection) -> bool {
    refusal.has(Property::BrokenServer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_told_once_and_then_with_the_number_of_those_left_out() {
        let broken = Broken::default();
        let at = Duration::from_secs;
        assert_eq!(broken.turn("stray", at(0)), Some(0));
        for now in 1..=9 {
            assert_eq!(broken.turn("stray", at(now)), None);
        }
        assert_eq!(broken.turn("shape", at(9)), Some(0));
        assert_eq!(broken.turn("stray", at(10)), Some(9));
        assert_eq!(broken.turn("stray", at(11)), None);
        for number in 0..MOST {
            broken.turn(&number.to_string(), at(12));
        }
        assert_eq!(broken.turn("one more", at(13)), None);
        assert_eq!(broken.0.lock().unwrap().len(), MOST);
    }
}
