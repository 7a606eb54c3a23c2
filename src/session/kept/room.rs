//! Tells operators in time that there will be no place for more sessions.

use tracing::{error, warn};

/// So many places are taken now. Told once at each of two marks, since the number only grows, by one at a
/// time.
pub(super) fn tell(taken: usize, most: usize) {
    match mark(taken, most) {
        Mark::None => {}
        Mark::NearlyFull => warn!(
            "the gate keeps {taken} of at most {most} sessions (`ratchet.max_sessions`): once it keeps {most}, it treats a new session as having the highest sensitivity and no remaining quota"
        ),
        Mark::Full => error!(
            "the gate keeps {most} sessions, the most that `ratchet.max_sessions` allows: it treats a new session as having the highest sensitivity and no remaining quota"
        ),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Mark {
    None,
    /// One in ten is left.
    NearlyFull,
    Full,
}

fn mark(taken: usize, most: usize) -> Mark {
    if taken == most {
        Mark::Full
    } else if taken == most.saturating_sub(most / 10) {
        Mark::NearlyFull
    } else {
        Mark::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_told_once_before_it_is_full_and_once_when_it_is() {
        for most in [1, 2, 9, 10, 11, 100, 12_345] {
            let marks = (1..=most).map(|taken| mark(taken, most));
            let told: Vec<Mark> = marks.filter(|it| *it != Mark::None).collect();
            let expected: &[Mark] = if most < 10 {
                &[Mark::Full]
            } else {
                &[Mark::NearlyFull, Mark::Full]
            };
            assert_eq!(told, expected, "{most}");
        }
    }
}
