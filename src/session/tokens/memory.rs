//! Tokens as long as the gate runs, in bounded room.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::Clock;

use super::super::Answer;
use super::bucket::{Bucket, Rate};
use super::{Buckets, Empty, Limit, TokenStore};

/// Principals that have a bucket of their own at the same time. Whoever comes while all places are
/// taken by others who have just asked shares one bucket with all who do.
const MOST_PRINCIPALS: usize = 65_536;

/// As many that are no more than any other may be there before it is looked for those.
const FIRST_LOOK: usize = 1_024;

/// What was taken so far. One lock for all buckets: what concerns one request is taken as a whole or
/// not at all, and giving back would not be exact (a bucket that was full meanwhile had nothing to
/// miss).
#[derive(Debug)]
pub struct Tokens {
    clock: Arc<dyn Clock>,
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

impl Tokens {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self::holding(clock, MOST_PRINCIPALS)
    }

    fn holding(clock: Arc<dyn Clock>, most: usize) -> Self {
        let taken = Taken {
            look_at: FIRST_LOOK.min(most),
            ..Taken::default()
        };
        Self {
            clock,
            taken: Mutex::new(taken),
            most,
        }
    }

    /// One from each, or none from any.
    fn draw(&self, buckets: Buckets<'_>, now: Duration) -> Result<(), Empty> {
        let mut taken = self.taken();
        taken.waits(buckets, self.most, now)?;
        if let Some(rate) = buckets.global {
            taken.global.take(rate, now);
        }
        if let Some((principal, rate)) = buckets.principal {
            taken.of(principal, self.most, now).take(rate, now);
        }
        if let Some((tool, rate)) = buckets.tool {
            taken.of_tool(tool).take(rate, now);
        }
        Ok(())
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TokenStore for Tokens {
    fn take<'a>(&'a self, buckets: Buckets<'a>) -> Answer<'a, Result<(), Empty>> {
        Answer::Now(Ok(self.draw(buckets, self.clock.elapsed())))
    }

    fn look(&self, buckets: Buckets<'_>) -> Result<(), Empty> {
        self.taken().waits(buckets, self.most, self.clock.elapsed())
    }
}

impl Taken {
    /// What waits longest is told: before that, the request would only be refused again.
    fn waits(&self, buckets: Buckets<'_>, most: usize, now: Duration) -> Result<(), Empty> {
        let wait = |limit, bucket: &Bucket, rate: &Rate| {
            bucket.wait(rate, now).map(|wait| Empty { limit, wait })
        };
        let global = buckets.global;
        let global = global.and_then(|rate| wait(Limit::Global, &self.global, rate));
        let principal = buckets.principal.and_then(|(name, rate)| {
            let own = self.principals.get(name);
            let own = own.unwrap_or(if self.principals.len() < most {
                &Bucket::FULL
            } else {
                &self.others
            });
            wait(Limit::Principal, own, rate)
        });
        let tool = buckets.tool.and_then(|(name, rate)| {
            let bucket = self.tools.get(name).unwrap_or(&Bucket::FULL);
            wait(Limit::Tool, bucket, rate)
        });
        let all = [global, principal, tool].into_iter().flatten();
        all.max_by_key(|empty| empty.wait).map_or(Ok(()), Err)
    }

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

    use crate::clock::SystemClock;

    use super::*;

    const NOW: Duration = Duration::from_secs(9);

    fn tokens() -> Tokens {
        Tokens::new(Arc::new(SystemClock::new()))
    }

    fn a_minute(times: u32) -> Rate {
        let times = NonZeroU32::new(times).unwrap();
        Rate::new(times, Duration::from_mins(1), times)
    }

    /// What is configured: of all, of each principal, and of calls of `send_mail`.
    struct Rates(Rate, Rate, Rate);

    impl Rates {
        fn of(global: u32, principal: u32, tool: u32) -> Self {
            Self(a_minute(global), a_minute(principal), a_minute(tool))
        }

        fn buckets<'b>(&'b self, principal: &'b str, tool: &'b str) -> Buckets<'b> {
            Buckets {
                global: Some(&self.0),
                principal: Some((principal, &self.1)),
                tool: (tool == "send_mail").then_some((tool, &self.2)),
            }
        }

        /// How many of so many calls pass.
        fn passing(&self, tokens: &Tokens, principal: &str, tool: &str, calls: usize) -> usize {
            let calls = (0..calls).map(|_| tokens.draw(self.buckets(principal, tool), NOW));
            calls.flatten().count()
        }
    }

    fn look(tokens: &Tokens, buckets: Buckets<'_>, now: Duration) -> Result<(), Empty> {
        tokens.taken().waits(buckets, tokens.most, now)
    }

    #[test]
    fn what_one_limit_refuses_takes_nothing_from_the_others() {
        let (tokens, rates) = (tokens(), Rates::of(20, 10, 3));
        assert_eq!(rates.passing(&tokens, "a", "send_mail", 100), 3);
        assert_eq!(rates.passing(&tokens, "a", "other", 100), 7);
        assert_eq!(rates.passing(&tokens, "b", "other", 100), 10);
        let empty = tokens.draw(rates.buckets("c", "send_mail"), NOW);
        let empty = empty.unwrap_err();
        assert_eq!(empty.limit, Limit::Tool);
        assert_eq!(empty.wait, Duration::from_secs(20));
    }

    #[test]
    fn the_longest_wait_is_told() {
        let (tokens, rates) = (tokens(), Rates::of(1, 1, 1));
        assert_eq!(rates.passing(&tokens, "a", "send_mail", 1), 1);
        let later = NOW + Duration::from_secs(1);
        for (tool, expected) in [("send_mail", 59), ("other", 59)] {
            let empty = tokens.draw(rates.buckets("a", tool), later);
            let wait = Duration::from_secs(expected);
            assert_eq!(empty.unwrap_err().wait, wait, "{tool}");
        }
        let empty = tokens.draw(rates.buckets("b", "other"), later);
        assert_eq!(empty.unwrap_err().limit, Limit::Global);
    }

    #[test]
    fn to_look_takes_nothing_and_tells_what_taking_would() {
        let (tokens, rates) = (tokens(), Rates::of(5, 2, 1));
        let limit = |principal, now| {
            let buckets = rates.buckets(principal, "other");
            look(&tokens, buckets, now).map_err(|empty| empty.limit)
        };
        for _ in 0..100 {
            assert_eq!(limit("a", NOW), Ok(()));
        }
        assert_eq!(rates.passing(&tokens, "a", "other", 100), 2);
        assert_eq!(rates.passing(&tokens, "b", "other", 100), 2);
        assert_eq!(rates.passing(&tokens, "c", "other", 100), 1);
        assert_eq!(limit("a", NOW), Err(Limit::Principal));
        assert_eq!(limit("d", NOW), Err(Limit::Global));
        let later = NOW + Duration::from_secs(12);
        assert_eq!(limit("a", later), Err(Limit::Principal));
        assert_eq!(limit("d", later), Ok(()));
    }

    #[test]
    fn of_a_thousand_calls_at_once_exactly_as_many_pass_as_may() {
        let (tokens, rates) = (tokens(), Rates::of(10, 1_000, 1_000));
        let passed = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for thread in 0..20 {
                let (tokens, rates, passed) = (&tokens, &rates, &passed);
                scope.spawn(move || {
                    for _ in 0..50 {
                        let principal = format!("agent-{thread}");
                        let buckets = rates.buckets(&principal, "send_mail");
                        if tokens.draw(buckets, NOW).is_ok() {
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
        let (rate, tokens) = (
            a_minute(2),
            Tokens::holding(Arc::new(SystemClock::new()), 100),
        );
        let draw = |principal: usize, now| {
            let name = principal.to_string();
            let principal = Some((name.as_str(), &rate));
            let buckets = Buckets {
                principal,
                ..Buckets::default()
            };
            tokens.draw(buckets, now)
        };
        let passing = |principal: usize, calls: usize| {
            let calls = (0..calls).map(|_| draw(principal, NOW));
            calls.flatten().count()
        };
        let passed: usize = (0..10_000).map(|number| passing(number, 3)).sum();
        assert_eq!(tokens.taken().principals.len(), 100);
        // Two of each that has a place, and two of all others together.
        assert_eq!(passed, 202);
        // Nobody who has a place loses it, or is given another bucket.
        assert_eq!(passing(0, 1), 0);
        // Once they have waited there is place again.
        let later = NOW + Duration::from_mins(2);
        for number in 20_000..20_100 {
            assert_eq!(draw(number, later), Ok(()));
        }
        assert_eq!(tokens.taken().principals.len(), 100);
    }
}
