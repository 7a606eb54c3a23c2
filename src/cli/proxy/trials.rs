//! Finds out whether the server shakes hands, while no agent has (decision 15): at the start, and again
//! after it was lost.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::sleep;
use tracing::{debug, info, warn};

use crate::agent::http::Health;
use crate::config;
use crate::session::Place;
use crate::upstream::http::Reach;
use crate::upstream::{Backoff, ChildProcess, Delays};

use super::Parts;
use super::servers::Upstreams;
use super::trial::{self, NoHandshake};

/// How long after a trial that came to nothing the next one begins: twice as long each time.
const FIRST: Duration = Duration::from_secs(1);
const LAST: Duration = Duration::from_secs(30);

/// How often is looked whether a trial is needed.
const LOOK: Duration = Duration::from_millis(500);

/// What trials have come to.
#[derive(Debug, Clone)]
pub(super) struct Trials {
    wanted: config::StartupProbe,
    /// The server, in a sentence.
    who: &'static str,
    latest: Arc<Latest>,
}

/// A server that is tried out, and what comes of it.
#[derive(Debug, Clone)]
pub(super) struct Tried {
    pub(super) upstreams: Upstreams,
    pub(super) trials: Trials,
    /// Where sessions stand that speak to it.
    pub(super) place: Place,
}

#[derive(Debug, Default)]
struct Latest {
    came_to_nothing: AtomicBool,
    /// What the log has said of it.
    said: Mutex<Option<NoHandshake>>,
}

impl Trials {
    pub(super) fn new(wanted: config::StartupProbe, who: &'static str) -> Self {
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

    /// Somebody has shaken hands.
    fn not_needed(&self) {
        if self.latest.came_to_nothing.load(Ordering::Relaxed) {
            self.note(Ok(()));
        }
    }

    fn note(&self, tried: Result<(), NoHandshake>) {
        let failed = tried.is_err();
        self.latest.came_to_nothing.store(failed, Ordering::Relaxed);
        let mut said = self
            .latest
            .said
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let who = self.who;
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

/// Makes trials until the gate stops, in a task of its own. It is to be waited for then: a trial that is
/// under way ends in good order.
pub(super) fn keep(parts: Parts, tried: Tried) -> JoinHandle<()> {
    tokio::spawn(keep_trying(parts, tried))
}

async fn keep_trying(parts: Parts, server: Tried) {
    let mut delays = Delays::new(&Backoff {
        first: FIRST,
        max: LAST,
        ..Backoff::default()
    });
    let (upstreams, trials) = (&server.upstreams, &server.trials);
    while !parts.shutdown.is_requested() {
        if !is_needed(upstreams) {
            delays.reset();
            trials.not_needed();
            unless_stopped(&parts, sleep(LOOK)).await;
            continue;
        }
        // On its own: one that panics has come to nothing, and another one may not.
        let tried = tokio::spawn(trial::shake_hands(parts.clone(), server.clone())).await;
        match tried.unwrap_or(Err(NoHandshake::BrokeOff)) {
            Err(NoHandshake::Stopping) => return,
            // The log says so already.
            Err(why) if is_lost(upstreams) && server.place == Place::Open => {
                debug!("no handshake: {why}");
            }
            tried => trials.note(tried),
        }
        let delay = delays.next_delay();
        unless_stopped(&parts, until_next(upstreams, delay)).await;
    }
}

async fn unless_stopped(parts: &Parts, waiting: impl Future<Output = ()>) {
    tokio::select! {
        _ = parts.shutdown.requested() => {}
        () = waiting => {}
    }
}

/// Waits for as long, unless something has changed before.
async fn until_next(upstreams: &Upstreams, delay: Duration) {
    let was_lost = is_lost(upstreams);
    let changed = async {
        while is_needed(upstreams) && is_lost(upstreams) == was_lost {
            sleep(LOOK).await;
        }
    };
    tokio::select! {
        () = sleep(delay) => {}
        () = changed => {}
    }
}

/// Whether nobody has shaken hands with the server since it was there last.
fn is_needed(upstreams: &Upstreams) -> bool {
    match upstreams {
        Upstreams::Http(client) => !client.is_shaken(),
        Upstreams::Command { starts, .. } => !starts.are_good() || is_lost(upstreams),
    }
}

/// Whether it is known not to be there, whatever it would say.
fn is_lost(upstreams: &Upstreams) -> bool {
    match upstreams {
        Upstreams::Http(client) => client.reach() == Reach::Failed,
        Upstreams::Command { settings, .. } => ChildProcess::check(settings).is_err(),
    }
}
