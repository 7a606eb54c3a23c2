//! The issuer's keys, fetched when they are needed and kept for a while.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::timeout;

use crate::clock::Clock;

use super::super::Challenge;
use super::keyset::{Algorithm, KeySet};

/// What a source of keys promises: a JWK Set as JSON (RFC 7517 §5), at most 1 MiB.
pub type Fetched<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, KeyFault>> + Send + 'a>>;

/// Where an issuer's keys come from.
pub trait KeySource: Send + Sync + std::fmt::Debug {
    fn fetch(&self) -> Fetched<'_>;
}

/// Why keys could not be fetched; for whoever runs the gate.
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

/// How long until they are fetched again while nobody waits for that, if they are used.
const AGING: Duration = Duration::from_mins(8);

/// How long they are used when they cannot be fetched.
const STALE: Duration = Duration::from_hours(1);

/// How long after an attempt no other is made: whoever invents names of keys makes us ask no more
/// often than that.
const BETWEEN: Duration = Duration::from_secs(30);

/// How long one attempt may take.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Keys {
    source: Arc<dyn KeySource>,
    clock: Arc<dyn Clock>,
    known: Mutex<Known>,
    /// Held by the one who fetches.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Known {
    set: Option<(Arc<KeySet>, Duration)>,
    attempted: Option<Duration>,
    latest: Latest,
}

/// What came of the latest attempt.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Latest {
    #[default]
    Fetched,
    Failed,
}

impl Keys {
    pub(super) fn new(source: Arc<dyn KeySource>, clock: Arc<dyn Clock>) -> Self {
        Self {
            source,
            clock,
            known: Mutex::default(),
            fetching: tokio::sync::Mutex::new(()),
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
        // Nobody waits for an issuer that is known to be away.
        if self.has_failed()
            && let Some(set) = self.younger_than(STALE).filter(holds)
        {
            self.attempt_behind();
            return Ok(set);
        }
        // On its own: whoever asked may go away, and must not take the turn of all along.
        let (keys, id) = (Arc::clone(self), id.map(str::to_owned));
        let turn = tokio::spawn(async move {
            // Whoever comes second finds what the first one fetched.
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

    fn younger_than(&self, age: Duration) -> Option<Arc<KeySet>> {
        let now = self.clock.elapsed();
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (set, fetched) = known.set.as_ref()?;
        (now.saturating_sub(*fetched) < age).then(|| Arc::clone(set))
    }

    /// Whether it is time to ask again; notes that it was done.
    fn may_attempt(&self) -> bool {
        let now = self.clock.elapsed();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let late = known
            .attempted
            .is_none_or(|attempted| now.saturating_sub(attempted) >= BETWEEN);
        if late {
            known.attempted = Some(now);
        }
        late
    }

    fn has_failed(&self) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.latest == Latest::Failed
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
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match set {
            Ok(set) => {
                known.set = Some((Arc::new(set), now));
                known.latest = Latest::Fetched;
            }
            Err(fault) => {
                known.latest = Latest::Failed;
                tracing::warn!("the issuer's keys could not be fetched: {fault}");
            }
        }
    }
}

impl KeySource for KeyFile {
    fn fetch(&self) -> Fetched<'_> {
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
