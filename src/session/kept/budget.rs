//! How many calls a session may make, and how many it has made.

use super::SessionKey;

/// Calls that were counted. A later one counts for more than any number before it, so that this only rises,
/// also where a budget begins anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Calls {
    /// When the last one was, where that makes a difference: milliseconds since the Unix epoch.
    pub last_ms: i64,
    /// How many there were since the budget began.
    pub made: i64,
}

/// How many calls a session may make in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    pub most: i64,
    /// For what has no end of its own: when it has ended all the same.
    pub rest: Option<Rest>,
}

/// A pause that ends what a principal does without a session, as it ends a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest {
    pub lasts_ms: i64,
    /// Milliseconds since the Unix epoch.
    pub now_ms: i64,
}

impl Calls {
    /// As many as nobody may make.
    pub const ALL: Self = Self {
        last_ms: i64::MAX,
        made: i64::MAX,
    };

    pub fn made(made: i64) -> Self {
        Self { last_ms: 0, made }
    }
}

impl Budget {
    /// For this key: what has a name begins anew under another one only.
    #[must_use]
    pub fn of(self, key: &SessionKey) -> Self {
        Self {
            rest: self.rest.filter(|_| key.session().is_none()),
            ..self
        }
    }

    /// For what has an end of its own.
    #[must_use]
    pub fn without_rest(self) -> Self {
        Self { rest: None, ..self }
    }

    /// Whether one more is in it.
    pub fn has_one_more(self, calls: Calls) -> bool {
        self.counted(calls) < self.most
    }

    /// With one more, if it is in it.
    pub(super) fn one_more(self, calls: Calls) -> Option<Calls> {
        self.has_one_more(calls).then(|| Calls {
            // A clock that is put back makes no call an earlier one.
            last_ms: self
                .rest
                .map_or(calls.last_ms, |rest| rest.now_ms.max(calls.last_ms)),
            made: self.counted(calls).saturating_add(1),
        })
    }

    /// Milliseconds until it begins anew, if nothing more is counted.
    pub fn begins_anew_in(self, calls: Calls) -> Option<i64> {
        let rest = self.rest?;
        let passed = rest.now_ms.saturating_sub(calls.last_ms);
        Some(rest.lasts_ms.saturating_sub(passed))
    }

    /// What counts of these.
    fn counted(self, calls: Calls) -> i64 {
        match self.begins_anew_in(calls) {
            Some(..=0) => 0,
            Some(_) | None => calls.made,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn budget(now_ms: i64) -> Budget {
        Budget {
            most: 2,
            rest: Some(Rest {
                lasts_ms: 100,
                now_ms,
            }),
        }
    }

    #[test]
    fn a_budget_without_a_session_begins_anew_after_a_pause_and_no_other_does() {
        let mut calls = Calls::default();
        // When a call comes, and how long until the budget begins anew where it is spent.
        for (at, expected) in [
            (1_000, None),
            (1_090, None),
            (1_090, Some(100)),
            (1_189, Some(1)),
            // The clock was put back.
            (900, Some(290)),
            (1_190, None),
            (1_191, None),
            (1_200, Some(91)),
        ] {
            let told = match budget(at).one_more(calls) {
                Some(more) => {
                    assert!(more > calls);
                    calls = more;
                    None
                }
                None => budget(at).begins_anew_in(calls),
            };
            assert_eq!(told, expected, "at {at}");
        }
        let named = budget(i64::MAX).of(&SessionKey::of("ada", Some("s")));
        assert_eq!(named.one_more(Calls::made(2)), None);
        assert_eq!(named.begins_anew_in(Calls::made(2)), None);
        let unnamed = SessionKey::of("ada", None);
        assert_eq!(budget(5).of(&unnamed), budget(5));
        assert_eq!(budget(i64::MAX).one_more(Calls::ALL), None);
    }

    proptest! {
        /// Between two pauses never more are counted than a budget has, whatever the clock does.
        #[test]
        fn between_two_pauses_a_budget_is_never_exceeded(
            steps in prop::collection::vec(-50_i64..150, 1..60),
        ) {
            let (mut now, mut calls) = (1_000_000, Calls::default());
            let mut run = Vec::new();
            for step in steps {
                now += step;
                let Some(more) = budget(now).one_more(calls) else { continue };
                prop_assert!(more > calls);
                if run.last().is_some_and(|last| now - last >= 100) {
                    run.clear();
                }
                run.push(now.max(run.last().copied().unwrap_or(now)));
                prop_assert!(run.len() <= 2, "{run:?}");
                calls = more;
            }
        }
    }
}
