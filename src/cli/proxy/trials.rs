//! The outcomes of the gate's own handshakes (decision 15).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tracing::{debug, info, warn};

use crate::agent::http::Health;
use crate::config;
use crate::session::Instance;

use super::servers::Upstreams;

/// How long all of it may take, without the end of the server.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// How many messages of the server's are heard. Each has its record: one that talks and talks must not fill
/// the log.
pub(super) const MOST_HEARD: usize = 100;

/// Why there was no handshake.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoHandshake {
    #[error("{0}")]
    Because(String),
    #[error("it has not answered within {} s", PATIENCE.as_secs())]
    Silent,
    #[error("it has said {MOST_HEARD} things, and none of them is its answer")]
    Chatters,
    #[error("the startup probe stopped early")]
    BrokeOff,
    #[error("the gate stops")]
    Stopping,
}

/// What trials have come to.
#[derive(Debug, Clone)]
pub(super) struct Trials {
    wanted: config::StartupProbe,
    /// The server, in a sentence.
    who: Arc<str>,
    latest: Arc<Latest>,
}

/// A server that is tried out, and what comes of it.
#[derive(Debug, Clone)]
pub(super) struct Tried {
    pub(super) upstreams: Upstreams,
    pub(super) trials: Trials,
    /// Which of the server it is.
    pub(super) instance: Instance,
}

#[derive(Debug, Default)]
struct Latest {
    came_to_nothing: AtomicBool,
    /// What the log has said of it.
    said: Mutex<Option<NoHandshake>>,
    /// How long the latest successful handshake took, in milliseconds.
    latency_ms: Mutex<Option<u64>>,
}

impl Trials {
    pub(super) fn new(wanted: config::StartupProbe, who: Arc<str>) -> Self {
        Self {
            wanted,
            who,
            latest: Arc::default(),
        }
    }

    pub(super) fn are_made(&self) -> bool {
        self.wanted == config::StartupProbe::On
    }

    /// What is to be said of a server that is there. Where no trial is made, that is enough.
    pub(super) fn of(&self, has_shaken_hands: bool) -> Health {
        if has_shaken_hands || !self.are_made() {
            Health::Ready
        } else if self.latest.came_to_nothing.load(Ordering::Relaxed) {
            Health::NoHandshake
        } else {
            Health::Starting
        }
    }

    /// Why the latest handshake failed.
    pub(super) fn problem(&self) -> Option<String> {
        let said = self.latest.said.lock();
        let said = said.unwrap_or_else(PoisonError::into_inner);
        said.as_ref().map(ToString::to_string)
    }

    /// How long the latest successful handshake of the gate took.
    pub(super) fn latency_ms(&self) -> Option<u64> {
        let latency = self.latest.latency_ms.lock();
        *latency.unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn took(&self, time: Duration) {
        let latency = self.latest.latency_ms.lock();
        let time = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        *latency.unwrap_or_else(PoisonError::into_inner) = Some(time);
    }

    /// Somebody has shaken hands.
    pub(super) fn not_needed(&self) {
        if self.latest.came_to_nothing.load(Ordering::Relaxed) {
            self.note(Ok(()));
        }
    }

    pub(super) fn note(&self, tried: Result<(), NoHandshake>) {
        let failed = tried.is_err();
        self.latest.came_to_nothing.store(failed, Ordering::Relaxed);
        let mut said = self
            .latest
            .said
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let who = &self.who;
        match tried {
            Ok(()) => {
                info!("{who} shakes hands");
                *said = None;
            }
            Err(why) if said.as_ref() == Some(&why) => {
                debug!("still no handshake with {who}: {why}");
            }
            Err(why) => {
                warn!(
                    "{who} does not shake hands, and `GET /health` says 503 until it does: {why}"
                );
                *said = Some(why);
            }
        }
    }
}
