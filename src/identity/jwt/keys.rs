//! The issuer's keys, fetched when they are needed and kept for a while.

use std::convert::Infallible;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::clock::Clock;

use super::super::Challenge;
use super::keyset::{Algorithm, KeySet};

/// What a source of keys promises: a JWK Set as JSON (RFC 7517 §5), at most 1 MiB.
pub type KeyFetch<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, KeyFault>> + Send + 'a>>;

/// Where an issuer's keys come from.
pub trait KeySource: Send + Sync + std::fmt::Debug {
    fn fetch(&self) -> KeyFetch<'_>;
}

/// The error of a failed key fetch, for operators.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct KeyFault(pub String);

/// A file with a JWK Set, read again when a token names a key that is not in it.
#[derive(Debug, Clone)]
pub struct KeyFile(pub PathBuf);

impl KeyFile {
    /// Whether it can be used now, as far as the file tells.
    ///
    /// # Errors
    /// When it cannot be read, or has no key.
    pub fn check(&self) -> Result<(), KeyFault> {
        let text = std::fs::read(&self.0).map_err(|cause| KeyFault(cause.to_string()))?;
        usable(&text).map(drop)
    }
}

fn usable(text: &[u8]) -> Result<KeySet, KeyFault> {
    let none = || KeyFault("there is no key in it that is good for anything".to_owned());
    KeySet::read(text).ok_or_else(none)
}

/// How long keys are used before they are fetched again: a key that the issuer took back is good
/// for as long.
const FRESH: Duration = Duration::from_mins(10);

/// The time to the next background fetch, if the keys are used.
const AGING: Duration = Duration::from_mins(8);

/// How long they are used when they cannot be fetched.
const STALE: Duration = Duration::from_hours(1);

/// How long after an attempt no other is made: invented names of keys make us ask no more
/// often than that.
const BETWEEN: Duration = Duration::from_secs(30);

/// The same after the first one that failed: twice as long after each further one, until it is
/// [`BETWEEN`].
const AFTER_A_FAILURE: Duration = Duration::from_secs(1);

/// How long one attempt may take.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Keys {
    source: Arc<dyn KeySource>,
    clock: Arc<dyn Clock>,
    known: Mutex<CachedKeys>,
    /// Held by the one who fetches.
    fetching: tokio::sync::Mutex<()>,
    /// Rung when they could not be fetched.
    failed: Notify,
}

#[derive(Debug, Default)]
struct CachedKeys {
    set: Option<(Arc<KeySet>, Duration)>,
    attempted: Option<Duration>,
    /// How many of the latest attempts in a row have failed.
    failures: u32,
    /// What the log has said of it.
    said: Option<KeyFault>,
}

impl CachedKeys {
    /// How long after an attempt the next one may be made.
    fn pause(&self) -> Duration {
        match self.failures.checked_sub(1) {
            None => BETWEEN,
            Some(doublings) => {
                let factor = 2_u32.checked_pow(doublings).unwrap_or(u32::MAX);
                AFTER_A_FAILURE.saturating_mul(factor).min(BETWEEN)
            }
        }
    }

    /// The time to the next fetch, without a request.
    fn due(&self, now: Duration) -> Duration {
        let pause = match (self.attempted, &self.set) {
            (None, _) => Duration::ZERO,
            (Some(_), Some(_)) if self.failures == 0 => AGING,
            (Some(_), _) => self.pause(),
        };
        let next = self.attempted.unwrap_or_default().saturating_add(pause);
        next.saturating_sub(now)
    }
}

impl Keys {
    pub(super) fn new(source: Arc<dyn KeySource>, clock: Arc<dyn Clock>) -> Self {
        Self {
            source,
            clock,
            known: Mutex::default(),
            fetching: tokio::sync::Mutex::new(()),
            failed: Notify::new(),
        }
    }

    /// Keys among which there is one for this algorithm, with this name if there is one.
    pub(super) async fn holding(
        self: &Arc<Self>,
        algorithm: Algorithm,
        id: Option<&str>,
    ) -> Result<Arc<KeySet>, Challenge> {
        let holds = |set: &Arc<KeySet>| set.holds(algorithm, id);
        if let Some(set) = self.younger_than(FRESH).filter(holds) {
            if self.younger_than(AGING).is_none() {
                self.attempt_behind();
            }
            return Ok(set);
        }
        // No request waits for an issuer that is known to be away.
        if self.has_failed()
            && let Some(set) = self.younger_than(STALE).filter(holds)
        {
            self.attempt_behind();
            return Ok(set);
        }
        // In its own task: a request that ends must not cancel the fetch for all others.
        let (keys, id) = (Arc::clone(self), id.map(str::to_owned));
        let turn = tokio::spawn(async move {
            // The second request uses the fetch of the first.
            let _turn = keys.fetching.lock().await;
            let set = keys.younger_than(FRESH);
            let found = set.is_some_and(|set| set.holds(algorithm, id.as_deref()));
            if !found && keys.may_attempt() {
                keys.attempt().await;
            }
        });
        // One that panicked has fetched nothing.
        let _ = turn.await;
        let set = self
            .younger_than(STALE)
            .ok_or(Challenge::Unavailable("the issuer's keys are not at hand"))?;
        if holds(&set) {
            Ok(set)
        } else {
            Err(Challenge::Invalid("its key is not known here"))
        }
    }

    /// Whether a token could be checked now.
    pub(super) fn are_at_hand(&self) -> bool {
        self.younger_than(STALE).is_some()
    }

    /// Fetches them at once, again before they are too old, and again soon where they could not be
    /// fetched, also while no agent sends a token.
    pub(super) async fn keep(&self) -> Infallible {
        loop {
            let due = self.known().due(self.clock.elapsed());
            if due.is_zero() {
                let _turn = self.fetching.lock().await;
                // Another task has fetched them.
                if self.known().due(self.clock.elapsed()).is_zero() && self.may_attempt() {
                    self.attempt().await;
                }
                continue;
            }
            tokio::select! {
                () = sleep(due) => {}
                () = self.failed.notified() => {}
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, CachedKeys> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn younger_than(&self, age: Duration) -> Option<Arc<KeySet>> {
        let now = self.clock.elapsed();
        let known = self.known();
        let (set, fetched) = known.set.as_ref()?;
        (now.saturating_sub(*fetched) < age).then(|| Arc::clone(set))
    }

    /// Whether it is time to ask again; notes that it was done.
    fn may_attempt(&self) -> bool {
        let now = self.clock.elapsed();
        let mut known = self.known();
        let pause = known.pause();
        let late = known
            .attempted
            .is_none_or(|attempted| now.saturating_sub(attempted) >= pause);
        if late {
            known.attempted = Some(now);
        }
        late
    }

    fn has_failed(&self) -> bool {
        self.known().failures > 0
    }

    /// Fetches, if it is time to, while others go on.
    fn attempt_behind(self: &Arc<Self>) {
        if self.may_attempt() {
            let keys = Arc::clone(self);
            tokio::spawn(async move {
                let _turn = keys.fetching.lock().await;
                keys.attempt().await;
            });
        }
    }

    async fn attempt(&self) {
        let fetched = match timeout(PATIENCE, self.source.fetch()).await {
            Ok(fetched) => fetched,
            Err(_late) => Err(KeyFault("it took too long".to_owned())),
        };
        let set = fetched.and_then(|text| usable(&text));
        let now = self.clock.elapsed();
        let mut known = self.known();
        match set {
            Ok(set) => {
                known.set = Some((Arc::new(set), now));
                known.failures = 0;
                if known.said.take().is_some() {
                    tracing::info!("the issuer's keys were fetched again");
                }
            }
            Err(fault) => {
                known.failures = known.failures.saturating_add(1);
                // The pause is one between the end of this attempt and the next.
                known.attempted = Some(now);
                if known.said.as_ref() == Some(&fault) {
                    tracing::debug!("the issuer's keys could still not be fetched: {fault}");
                } else {
                    tracing::warn!("the issuer's keys could not be fetched: {fault}");
                    known.said = Some(fault);
                }
                self.failed.notify_one();
            }
        }
    }
}

impl KeySource for KeyFile {
    fn fetch(&self) -> KeyFetch<'_> {
        let path = self.0.clone();
        Box::pin(async move {
            let reading = tokio::task::spawn_blocking(move || std::fs::read(path));
            match reading.await {
                Ok(Ok(text)) => Ok(text),
                Ok(Err(cause)) => Err(KeyFault(cause.to_string())),
                Err(_) => Err(KeyFault("the file could not be read".to_owned())),
            }
        })
    }
}
