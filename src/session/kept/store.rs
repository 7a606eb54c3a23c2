//! Where it is kept what outlives a session, or is common to several.

use std::fmt;
use std::sync::Arc;

use crate::policy::SessionSensitivity;

use super::super::TokenStore;
use super::answer::Answer;
use super::{Budget, Calls, SessionKey};

/// Keeps what is known of sessions under their keys. Nothing is ever taken back: what was read is joined,
/// calls are counted up to a budget, and what has ended stays so.
///
/// What it must promise of each way to write: it happens at one moment, before which everybody is told
/// what was before and after which what is then, by whatever gate they ask; and once it has answered,
/// nothing that may befall the store takes it back. A store that several gates share needs no more than a
/// place that joins and counts (a script in the database, a `max` or `calls + 1` in an `UPDATE …
/// RETURNING`), no locks and no transactions.
pub trait SessionStore: fmt::Debug + Send + Sync {
    /// What is kept now; nothing where nobody has written anything.
    fn kept<'a>(&'a self, key: &'a SessionKey) -> Answer<'a, Kept>;

    /// Joins what was read with this.
    fn raise<'a>(&'a self, key: &'a SessionKey, by: &'a SessionSensitivity) -> Answer<'a, Raised>;

    /// Counts one more call, if its budget has one.
    fn count<'a>(&'a self, key: &'a SessionKey, budget: Budget) -> Answer<'a, Counted>;

    /// The session has ended, since this tool has failed for good.
    fn end<'a>(&'a self, key: &'a SessionKey, tool: &'a str) -> Answer<'a, ()>;

    /// How many sessions are kept, where there is an end to them.
    fn places(&self) -> Option<Places>;

    /// The tokens of rates, where the gates that share this store share them too. Else each gate has its
    /// own: a new start fills them, which costs nobody more than a burst.
    fn tokens(&self) -> Option<Arc<dyn TokenStore>> {
        None
    }
}

/// What is kept of a session. A join-semilattice, like what was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Kept {
    /// What was read.
    pub held: Arc<SessionSensitivity>,
    /// Calls that were counted against its budget.
    pub calls: Calls,
    /// The tool that has failed for good, if that has ended it.
    pub ended: Option<Arc<str>>,
    pub room: Room,
}

/// Whether there is a place for what is to be kept of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Room {
    #[default]
    Left,
    /// Every place is another's. It counts as one that has read everything and made all of its calls,
    /// since nobody can tell.
    None,
}

/// What became of a call that was to be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    Yes,
    /// The budget is spent.
    Spent,
    /// There is no place to count it.
    NoRoom,
}

/// How many sessions are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Places {
    pub taken: usize,
    pub most: usize,
}

impl Kept {
    /// Of a session for which there is no place.
    pub fn beyond(highest: &Arc<SessionSensitivity>) -> Self {
        Self {
            held: Arc::clone(highest),
            calls: Calls::ALL,
            ended: None,
            room: Room::None,
        }
    }

    /// Of one of which nothing is known but what it has read.
    pub fn having_read(held: Arc<SessionSensitivity>) -> Self {
        Self {
            held,
            ..Self::default()
        }
    }

    pub fn is_nothing(&self) -> bool {
        self.held.is_nothing() && self.calls == Calls::default() && self.ended.is_none()
    }

    /// Whether what the other says is said here already.
    pub fn covers(&self, other: &Self) -> bool {
        self.held.covers(&other.held)
            && self.calls >= other.calls
            && (self.ended.is_some() || other.ended.is_none())
    }

    /// Both together.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        let ended = [&self.ended, &other.ended];
        Self {
            held: Raised::joining(&self.held, &other.held).after,
            calls: self.calls.max(other.calls),
            // One of two, whichever came first: no order makes a difference.
            ended: ended.into_iter().flatten().min().cloned(),
            room: self.room,
        }
    }
}

/// What was held, and what is held from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raised {
    pub before: Arc<SessionSensitivity>,
    pub after: Arc<SessionSensitivity>,
}

impl Raised {
    /// Nothing was held before, or this was, and it stays so.
    pub fn unchanged(held: &Arc<SessionSensitivity>) -> Self {
        Self {
            before: Arc::clone(held),
            after: Arc::clone(held),
        }
    }

    /// What comes of joining.
    pub fn joining(held: &Arc<SessionSensitivity>, by: &SessionSensitivity) -> Self {
        if held.covers(by) {
            return Self::unchanged(held);
        }
        Self {
            before: Arc::clone(held),
            after: Arc::new(SessionSensitivity::clone(held).join(by)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::policy::fixture::any_held;

    fn any_kept() -> impl Strategy<Value = Kept> {
        let ended = prop::option::of("[a-c]").prop_map(|it| it.map(Arc::from));
        let calls = (0..3_i64, 0..4_i64).prop_map(|(last_ms, made)| Calls { last_ms, made });
        (any_held(), calls, ended).prop_map(|(held, calls, ended)| Kept {
            held: Arc::new(held),
            calls,
            ended,
            room: Room::Left,
        })
    }

    proptest! {
        #[test]
        fn what_is_kept_is_joined_in_any_order_any_number_of_times(
            a in any_kept(), b in any_kept(), c in any_kept(),
        ) {
            prop_assert_eq!(a.join(&b), b.join(&a));
            let all = a.join(&b).join(&c);
            prop_assert_eq!(&all, &a.join(&b.join(&c)));
            prop_assert_eq!(&all, &all.join(&b));
            prop_assert!([&a, &b, &c].into_iter().all(|it| all.covers(it)));
            prop_assert_eq!(a.covers(&b), a.join(&b).held == a.held && a.join(&b).calls == a.calls
                && (a.ended.is_some() || b.ended.is_none()));
        }
    }
}
