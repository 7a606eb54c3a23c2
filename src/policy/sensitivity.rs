//! What a session has read, as a value that only ever rises.
//!
//! A join-semilattice: two of them are joined in any order, any number of times, with one result, and
//! what is joined is never below what it was made of. So parallel calls, repeated messages and
//! several gates that share a store cannot disagree, and none of them can lower what another raised.

use std::collections::BTreeSet;

use super::datasets::UNKNOWN_DATASET;
use super::server_key::UNKNOWN_SERVER;

/// The highest sensitivity, for unknown content.
pub const MAX_LEVEL: i64 = 3;

/// The levels as people write them.
pub const LEVELS: [(&str, i64); 4] = [
    ("public", 0),
    ("internal", 1),
    ("confidential", 2),
    ("secret", MAX_LEVEL),
];

/// What a session has read so far, or what one message brings into it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct SessionSensitivity {
    /// 0 public, 1 internal, 2 confidential, 3 secret.
    pub level: i64,
    /// Kinds of data, for example `pii`.
    pub labels: BTreeSet<String>,
    /// Private data sets, for example `payroll`; [`UNKNOWN_DATASET`] for unknown ones.
    pub datasets: BTreeSet<String>,
    /// Content that an attacker may control has come in.
    pub untrusted: bool,
    /// Of several servers, those that were read from; [`UNKNOWN_SERVER`] for unknown ones.
    pub sources: BTreeSet<String>,
    /// Those of them whose content an attacker may control.
    pub untrusted_from: BTreeSet<String>,
}

impl SessionSensitivity {
    /// Default for unknown content: highest sensitivity, untrusted.
    pub fn highest() -> Self {
        Self {
            level: MAX_LEVEL,
            labels: BTreeSet::new(),
            datasets: [UNKNOWN_DATASET.to_owned()].into(),
            untrusted: true,
            sources: [UNKNOWN_SERVER.to_owned()].into(),
            untrusted_from: [UNKNOWN_SERVER.to_owned()].into(),
        }
    }

    pub fn at(level: i64) -> Self {
        Self {
            level,
            ..Self::default()
        }
    }

    /// Whether it raises nothing.
    pub fn is_nothing(&self) -> bool {
        *self == Self::at(self.level.min(0))
    }

    /// Whether labels say more of it than where it was read.
    pub fn is_labelled(&self) -> bool {
        self.level > 0 || self.untrusted || !self.labels.is_empty() || !self.datasets.is_empty()
    }

    /// Whether what the other holds is held here already.
    pub fn covers(&self, other: &Self) -> bool {
        self.level >= other.level
            && (self.untrusted || !other.untrusted)
            && self.labels.is_superset(&other.labels)
            && self.datasets.is_superset(&other.datasets)
            && self.sources.is_superset(&other.sources)
            && self.untrusted_from.is_superset(&other.untrusted_from)
    }

    /// Both together.
    #[must_use]
    pub fn join(mut self, other: &Self) -> Self {
        self.level = self.level.max(other.level);
        self.untrusted |= other.untrusted;
        self.labels.extend(other.labels.iter().cloned());
        self.datasets.extend(other.datasets.iter().cloned());
        self.sources.extend(other.sources.iter().cloned());
        self.untrusted_from
            .extend(other.untrusted_from.iter().cloned());
        self
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fixture::any_held;
    use super::*;

    proptest! {
        #[test]
        fn joining_knows_no_order_and_no_repetition(
            a in any_held(), b in any_held(), c in any_held(),
        ) {
            prop_assert_eq!(a.clone().join(&b), b.clone().join(&a));
            let left = a.clone().join(&b).join(&c);
            prop_assert_eq!(&left, &a.clone().join(&b.clone().join(&c)));
            prop_assert_eq!(&left, &left.clone().join(&b));
        }

        #[test]
        fn what_is_joined_is_never_below_what_it_was_made_of(a in any_held(), b in any_held()) {
            let both = a.clone().join(&b);
            prop_assert!(both.covers(&a) && both.covers(&b));
            prop_assert_eq!(a.covers(&b), both == a);
        }

        #[test]
        fn any_order_of_raises_comes_to_the_same(
            (raises, shuffled) in prop::collection::vec(any_held(), 0..8)
                .prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
        ) {
            let joined = |all: &[SessionSensitivity]| all.iter().fold(SessionSensitivity::default(), SessionSensitivity::join);
            prop_assert_eq!(joined(&raises), joined(&shuffled));
        }
    }

    #[test]
    fn what_nobody_can_tell_is_the_highest() {
        let nothing = SessionSensitivity::default();
        assert!(nothing.is_nothing() && !SessionSensitivity::highest().is_nothing());
        assert!(SessionSensitivity::highest().covers(&SessionSensitivity::at(MAX_LEVEL)));
        assert!(!nothing.covers(&SessionSensitivity::at(1)));
    }
}
