//! The lifetime of a credential.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::clock::Clock;
use crate::wire::{AgentToken, WorkIds};

use super::Identity;

/// Who sends a request, and for how long that is known.
#[derive(Debug, Clone)]
pub struct Credential {
    pub identity: Identity,
    /// Not a part of the identity: the same agent comes back with another token.
    pub term: Validity,
    /// Nor is this: what the proof says of the work that it was given for.
    pub work: Option<Arc<WorkIds>>,
    /// The proof itself, if a server may have it, or something in exchange for it.
    pub token: Option<AgentToken>,
}

/// For how long a proof is good. A request is judged when it comes; what it opened ends with this.
#[derive(Debug, Clone)]
pub struct Validity(Option<Expiry>);

#[derive(Debug, Clone)]
struct Expiry {
    /// Seconds since 1970.
    at: i64,
    clock: Arc<dyn Clock>,
}

/// How often the clock is looked at. What tokio counts stands still while the machine sleeps, and
/// tokens expire by the time of day.
const LOOK: Duration = Duration::from_secs(15);

impl Credential {
    /// One that is good for as long as the gate runs.
    pub fn lasting(identity: Identity) -> Self {
        Self {
            identity,
            term: Validity(None),
            work: None,
            token: None,
        }
    }

    /// One that is good no more at this many seconds since 1970, as this clock says.
    pub fn until(identity: Identity, at: i64, clock: Arc<dyn Clock>) -> Self {
        Self {
            identity,
            term: Validity(Some(Expiry { at, clock })),
            work: None,
            token: None,
        }
    }

    /// The same with the proof itself.
    #[must_use]
    pub fn with_token(mut self, token: Option<AgentToken>) -> Self {
        self.token = token;
        self
    }

    /// The same for this work.
    #[must_use]
    pub fn of_work(mut self, work: WorkIds) -> Self {
        self.work = (!work.is_empty()).then(|| Arc::new(work));
        self
    }
}

impl Validity {
    /// Resolves when the proof is good no more.
    pub async fn over(&self) {
        let Some(Expiry { at, clock }) = &self.0 else {
            return std::future::pending().await;
        };
        let at = i128::from(*at).saturating_mul(1_000_000_000);
        loop {
            let left = at.saturating_sub(clock.now().as_nanosecond());
            if left <= 0 {
                return;
            }
            let left = Duration::from_nanos(u64::try_from(left).unwrap_or(u64::MAX));
            sleep(left.min(LOOK)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::PoisonError;

    use jiff::Timestamp;
    use tokio::time::timeout;

    use super::*;

    /// A time of day that jumps.
    #[derive(Debug, Default)]
    struct JumpingClock(Mutex<i64>);

    impl JumpingClock {
        fn to(&self, second: i64) {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = second;
        }
    }

    impl Clock for JumpingClock {
        fn now(&self) -> Timestamp {
            let second = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Timestamp::from_second(second).unwrap()
        }

        fn elapsed(&self) -> Duration {
            Duration::ZERO
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_proof_ends_by_the_time_of_day_whatever_was_slept() {
        let clock = Arc::new(JumpingClock::default());
        let unnamed = Identity::named("unnamed");
        let proof = Credential::until(unnamed.clone(), 1000, Arc::clone(&clock) as Arc<dyn Clock>);
        let day = Duration::from_hours(24);
        for (second, is_over) in [
            (0, false),
            (999, false),
            (1000, true),
            (i64::from(i32::MAX), true),
        ] {
            clock.to(second);
            let over = timeout(day, proof.term.over()).await;
            assert_eq!(over.is_ok(), is_over, "at {second}");
        }
        let lasting = Credential::lasting(unnamed).term;
        assert!(timeout(100 * day, lasting.over()).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_proof_that_ends_while_it_is_waited_for_is_noticed() {
        let clock = Arc::new(JumpingClock::default());
        let proof = Credential::until(
            Identity::named("a"),
            1000,
            Arc::clone(&clock) as Arc<dyn Clock>,
        );
        let waiting = tokio::spawn(async move { proof.term.over().await });
        sleep(Duration::from_mins(1)).await;
        assert!(!waiting.is_finished());
        clock.to(1000);
        waiting.await.unwrap();
    }
}
