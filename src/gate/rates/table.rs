//! All buckets that concern a request, asked together, in bounded room.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::bucket::{Bucket, Rate};

/// Principals that have a bucket of their own at the same time. Whoever comes while all places are
/// taken by others who have just asked shares one bucket with all who do.
const MOST_PRINCIPALS: usize = 65_536;

/// As many that are no more than any other may be there before it is looked for those.
const FIRST_LOOK: usize = 1_024;

/// How often requests may come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rates {
    /// Of all together.
    pub global: Option<Rate>,
    /// Of each principal.
    pub principal: Option<Rate>,
    /// Calls of single tools, of all principals together.
    pub tools: HashMap<String, Rate>,
    /// Calls that one session may make in all.
    pub calls_per_session: Option<i64>,
}

/// Which limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    Global,
    Principal,
    Tool,
}

/// Nothing was taken: one can be had after this time, if nobody else takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Empty {
    pub(super) limit: Limit,
    pub(super) wait: Duration,
}

/// What was taken so far. One lock for all buckets: what concerns one request is taken as a whole or
/// not at all, and giving back would not be exact (a bucket that was full meanwhile had nothing to
/// miss).
#[derive(Debug)]
pub(super) struct Table {
    global: Option<Rate>,
    principal: Option<Rate>,
    tools: HashMap<String, Rate>,
    taken: Mutex<Taken>,
    most: usize,
}

#[derive(Debug, Default)]
struct Taken {
    global: Bucket,
    principals: HashMap<String, Bucket>,
    /// Of those for whom there was no place.
    others: Bucket,
    tools: HashMap<String, Bucket>,
    /// How many principals there may be before it is looked for those whose bucket is full.
    look_at: usize,
    /// When it may be looked again at the earliest.
    look_after: Duration,
}

impl Table {
    pub(super) fn new(rates: &Rates) -> Self {
        Self::holding(rates, MOST_PRINCIPALS)
    }

    fn holding(rates: &Rates, most: usize) -> Self {
        let taken = Taken {
            look_at: FIRST_LOOK.min(most),
            ..Taken::default()
        };
        Self {
            global: rates.global,
            principal: rates.principal,
            tools: rates.tools.clone(),
            taken: Mutex::new(taken),
            most,
        }
    }

    /// Whether a request of this principal's could pass now.
    pub(super) fn look(&self, principal: &str, now: Duration) -> Result<(), Empty> {
        self.waits(&self.taken(), principal, None, now)
    }

    /// Takes one from each bucket that concerns the request, or none from any.
    pub(super) fn take(
        &self,
        principal: &str,
        tool: Option<&str>,
        now: Duration,
    ) -> Result<(), Empty> {
        let mut taken = self.taken();
        self.waits(&taken, principal, tool, now)?;
        if let Some(rate) = &self.global {
            taken.global.take(rate, now);
        }
        if let Some(rate) = &self.principal {
            taken.of(principal, self.most, now).take(rate, now);
        }
        if let Some((tool, rate)) = self.of_tool(tool) {
            taken.of_tool(tool).take(rate, now);
        }
        Ok(())
    }

    /// A request cost the gate its work, and came to nothing.
    pub(super) fn charge(&self, principal: &str, now: Duration) {
        let mut taken = self.taken();
        if let Some(rate) = &self.global {
            taken.global.charge(rate, now);
        }
        if let Some(rate) = &self.principal {
            taken.of(principal, self.most, now).charge(rate, now);
        }
    }

    /// What waits longest is told: before that, the request would only be refused again.
    fn waits(
        &self,
        taken: &Taken,
        principal: &str,
        tool: Option<&str>,
        now: Duration,
    ) -> Result<(), Empty> {
        let wait = |limit, bucket: &Bucket, rate: &Rate| {
            bucket.wait(rate, now).map(|wait| Empty { limit, wait })
        };
        let global = self.global.as_ref();
        let global = global.and_then(|rate| wait(Limit::Global, &taken.global, rate));
        let own = taken.principals.get(principal);
        let own = own.unwrap_or(if taken.principals.len() < self.most {
            &Bucket::FULL
        } else {
            &taken.others
        });
        let principal = self.principal.as_ref();
        let principal = principal.and_then(|rate| wait(Limit::Principal, own, rate));
        let tool = self.of_tool(tool).and_then(|(name, rate)| {
            let bucket = taken.tools.get(name).unwrap_or(&Bucket::FULL);
            wait(Limit::Tool, bucket, rate)
        });
        let all = [global, principal, tool].into_iter().flatten();
        all.max_by_key(|empty| empty.wait).map_or(Ok(()), Err)
    }

    fn of_tool<'t>(&'t self, tool: Option<&str>) -> Option<(&'t str, &'t Rate)> {
        let (name, rate) = self.tools.get_key_value(tool?)?;
        Some((name, rate))
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    fn of(&mut self, principal: &str, most: usize, now: Duration) -> &mut Bucket {
        if !self.principals.contains_key(principal) {
            self.make_room(most, now);
            if self.principals.len() >= most {
                return &mut self.others;
            }
            self.principals.insert(principal.to_owned(), Bucket::FULL);
        }
        self.principals.entry(principal.to_owned()).or_default()
    }

    fn of_tool(&mut self, tool: &str) -> &mut Bucket {
        self.tools.entry(tool.to_owned()).or_default()
    }

    /// Forgets those of whom there is nothing to be remembered. Each look is paid for by as many
    /// newcomers as it looks at, or by a second.
    fn make_room(&mut self, most: usize, now: Duration) {
        if self.principals.len() < self.look_at || now < self.look_after {
            return;
        }
        self.principals.retain(|_, bucket| !bucket.is_full(now));
        let double = self.principals.len().saturating_mul(2);
        self.look_at = double.max(FIRST_LOOK).min(most);
        if self.principals.len() >= most {
            self.look_after = now.saturating_add(Duration::from_secs(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    const NOW: Duration = Duration::from_secs(9);

    fn a_minute(times: u32) -> Rate {
        let times = NonZeroU32::new(times).unwrap();
        Rate::new(times, Duration::from_mins(1), times)
    }

    fn rates(global: u32, principal: u32, tool: u32) -> Rates {
        Rates {
            global: Some(a_minute(global)),
            principal: Some(a_minute(principal)),
            tools: [("send_mail".to_owned(), a_minute(tool))].into(),
            calls_per_session: None,
        }
    }

    /// How many of so many calls pass.
    fn passing(table: &Table, principal: &str, tool: &str, calls: usize) -> usize {
        let calls = (0..calls).map(|_| table.take(principal, Some(tool), NOW));
        calls.flatten().count()
    }

    #[test]
    fn what_one_limit_refuses_takes_nothing_from_the_others() {
        let table = Table::new(&rates(20, 10, 3));
        assert_eq!(passing(&table, "a", "send_mail", 100), 3);
        assert_eq!(passing(&table, "a", "other", 100), 7);
        assert_eq!(passing(&table, "b", "other", 100), 10);
        let empty = table.take("c", Some("send_mail"), NOW).unwrap_err();
        assert_eq!(empty.limit, Limit::Tool);
        assert_eq!(empty.wait, Duration::from_secs(20));
    }

    #[test]
    fn the_longest_wait_is_told() {
        let table = Table::new(&rates(1, 1, 1));
        assert_eq!(passing(&table, "a", "send_mail", 1), 1);
        let later = NOW + Duration::from_secs(1);
        for (tool, expected) in [("send_mail", 59), ("other", 59)] {
            let empty = table.take("a", Some(tool), later).unwrap_err();
            assert_eq!(empty.wait, Duration::from_secs(expected), "{tool}");
        }
        let empty = table.take("b", None, later).unwrap_err();
        assert_eq!(empty.limit, Limit::Global);
    }

    #[test]
    fn to_look_takes_nothing_and_what_came_to_nothing_is_charged() {
        let table = Table::new(&rates(5, 2, 1));
        for _ in 0..100 {
            assert_eq!(table.look("a", NOW), Ok(()));
        }
        for _ in 0..100 {
            table.charge("a", NOW);
        }
        assert_eq!(table.look("a", NOW).unwrap_err().limit, Limit::Principal);
        assert_eq!(table.look("b", NOW).unwrap_err().limit, Limit::Global);
        let later = NOW + Duration::from_secs(12);
        assert_eq!(table.look("a", later).unwrap_err().limit, Limit::Principal);
        assert_eq!(table.look("b", later), Ok(()));
    }

    #[test]
    fn of_a_thousand_calls_at_once_exactly_as_many_pass_as_may() {
        let table = Table::new(&rates(10, 1_000, 1_000));
        let passed = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for thread in 0..20 {
                let (table, passed) = (&table, &passed);
                scope.spawn(move || {
                    for _ in 0..50 {
                        let principal = format!("agent-{thread}");
                        if table.take(&principal, Some("send_mail"), NOW).is_ok() {
                            passed.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert_eq!(passed.into_inner(), 10);
    }

    #[test]
    fn principals_without_end_take_bounded_room_and_gain_nothing() {
        let limits = Rates {
            principal: Some(a_minute(2)),
            ..Rates::default()
        };
        let table = Table::holding(&limits, 100);
        let mut passed = 0;
        for number in 0..10_000 {
            passed += passing(&table, &number.to_string(), "x", 3);
        }
        assert_eq!(table.taken().principals.len(), 100);
        // Two of each that has a place, and two of all others together.
        assert_eq!(passed, 202);
        // Nobody who has a place loses it, or is given another bucket.
        assert_eq!(passing(&table, "0", "x", 1), 0);
        // Once they have waited there is place again.
        let later = NOW + Duration::from_mins(2);
        for number in 20_000..20_100 {
            assert_eq!(table.take(&number.to_string(), None, later), Ok(()));
        }
        assert_eq!(table.taken().principals.len(), 100);
    }
}
