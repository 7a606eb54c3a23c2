//! The server of one conversation in its two places: open at first, and isolated from a moment on that
//! the gate chooses. Nothing leads back.
//!
//! INVARIANT: once [`Apart::server`] is set, no line reaches the open server, and it is never unset.
//! The task that moves the session also sends the messages that wait for room.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;
use tracing::error;

use crate::gate::{Abandoned, Carried, Permit, Unsent, Upstream, UpstreamFault};
use crate::memory::Memory;
use crate::session::Place;
use crate::shutdown::Shutdown;
use crate::upstream::StartError;

use super::outbox::{Letter, Outbox};
use super::servers::{Occurrence, Server, ServerEvents, Upstreams};

/// How long servers have to take the last cancellations, and then the end of the session.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(1);

/// The server of one conversation: what sends.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    open: Server,
    /// What waits for room at the open server, and at the isolated one.
    waiting: Arc<Waiting>,
    /// None without an isolated server.
    apart: Option<Arc<Apart>>,
}

#[derive(Debug)]
struct Waiting {
    open: Outbox,
    isolated: Outbox,
}

/// The way to the isolated server.
#[derive(Debug)]
struct Apart {
    upstreams: Upstreams,
    /// The isolated server, from the move on.
    server: OnceLock<Server>,
    /// What it says, until whoever listens takes it.
    events: Mutex<Option<ServerEvents>>,
    moved: Notify,
    /// The open server was told to end.
    left: AtomicBool,
}

/// The same: what it says, and what becomes of it, in either place.
#[derive(Debug)]
pub(super) struct PlacedEvents {
    open: ServerEvents,
    isolated: ServerEvents,
    apart: Option<Arc<Apart>>,
}

/// Which of the two says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    Open,
    Isolated,
}

impl Speaker {
    /// Where it is.
    pub(super) fn place(self) -> Place {
        match self {
            Self::Open => Place::Open,
            Self::Isolated => Place::Isolated,
        }
    }
}

/// Why it cannot be started. A server does not know that it is the second one.
pub(super) fn told(cause: &StartError) -> String {
    cause
        .to_string()
        .replacen("`upstream.", "`upstream.isolated.", 1)
}

/// A server for one conversation. Must be called inside a tokio runtime.
pub(super) fn connect(
    open: &Upstreams,
    isolated: Option<&Upstreams>,
    memory: &Memory,
) -> Result<(Placed, PlacedEvents), StartError> {
    let (server, events) = open.connect()?;
    Ok(placed(server, events, isolated, memory))
}

/// The same, where a command is started with the first message for it.
pub(super) fn connect_later(
    open: &Upstreams,
    isolated: Option<&Upstreams>,
    memory: &Memory,
) -> (Placed, PlacedEvents) {
    let (server, events) = open.connect_later();
    placed(server, events, isolated, memory)
}

fn placed(
    open: Server,
    events: ServerEvents,
    isolated: Option<&Upstreams>,
    memory: &Memory,
) -> (Placed, PlacedEvents) {
    let apart = isolated.map(|upstreams| {
        Arc::new(Apart {
            upstreams: upstreams.clone(),
            server: OnceLock::new(),
            events: Mutex::default(),
            moved: Notify::new(),
            left: AtomicBool::new(false),
        })
    });
    let events = PlacedEvents {
        open: events,
        isolated: ServerEvents::Absent,
        apart: apart.clone(),
    };
    let waiting = Arc::new(Waiting {
        open: Outbox::within(memory),
        isolated: Outbox::within(memory),
    });
    let placed = Placed {
        open,
        waiting,
        apart,
    };
    (placed, events)
}

impl Placed {
    /// The server that is spoken to.
    fn here(&self) -> &Server {
        self.isolated().unwrap_or(&self.open)
    }

    fn isolated(&self) -> Option<&Server> {
        self.apart.as_ref()?.server.get()
    }

    /// Ends both in good order: it may take as long as their settings say, but not longer than `shutdown`
    /// has patience and [`LAST_WORDS`] take.
    pub(super) async fn end(&self, shutdown: &Shutdown) {
        let patience = async {
            tokio::join!(shutdown.forced(), sleep(LAST_WORDS));
        };
        tokio::select! {
            () = self.stop() => {}
            () = patience => self.kill().await,
        }
    }

    async fn stop(&self) {
        let isolated = async {
            if let Some(server) = self.isolated() {
                server.stop().await;
            }
        };
        tokio::join!(self.open.stop(), isolated);
    }

    pub(super) async fn kill(&self) {
        let isolated = async {
            if let Some(server) = self.isolated() {
                server.kill().await;
            }
        };
        tokio::join!(self.open.kill(), isolated);
    }
}

impl Upstream for Placed {
    async fn send(&self, permit: Permit) -> Result<(), UpstreamFault> {
        let (server, outbox) = match self.isolated() {
            Some(isolated) => (isolated, &self.waiting.isolated),
            None => (&self.open, &self.waiting.open),
        };
        let request = match permit.passage().carried {
            Carried::Request { id, .. } => Some(id),
            Carried::Notification { .. } | Carried::Reply { .. } => None,
        };
        let letter = Letter {
            request,
            bytes: permit.line().len(),
            sending: server.sending(permit),
        };
        outbox.send(letter).await
    }

    fn is_started(&self) -> bool {
        self.here().is_started()
    }

    async fn unsent(&self) -> Unsent {
        let (server, (request, fault)) = tokio::select! {
            unsent = self.waiting.open.unsent() => (Place::Open, unsent),
            unsent = self.waiting.isolated.unsent() => (Place::Isolated, unsent),
        };
        Unsent {
            server,
            request,
            fault,
        }
    }

    async fn flushed(&self) {
        let isolated = async {
            if let Some(server) = self.isolated() {
                self.waiting.isolated.emptied().await;
                server.flushed().await;
            }
        };
        let open = async {
            self.waiting.open.emptied().await;
            self.open.flushed().await;
        };
        tokio::join!(open, isolated);
    }

    fn abandon(&self, minted: u64) -> Abandoned {
        // What has not left need not be cancelled.
        let outboxes = [&self.waiting.open, &self.waiting.isolated];
        if outboxes.into_iter().any(|outbox| outbox.take_back(minted)) {
            return Abandoned::Closed;
        }
        let Some(isolated) = self.isolated() else {
            return self.open.abandon(minted);
        };
        // One of them knows the id; to close a stream is no line.
        let _ = self.open.abandon(minted);
        isolated.abandon(minted)
    }

    fn handshake_completed(&self) {
        self.here().handshake_completed();
    }

    fn restart(&self) {
        self.here().restart();
    }

    fn isolate(&self) -> Result<(), UpstreamFault> {
        let Some(apart) = &self.apart else {
            return Err(UpstreamFault::Down);
        };
        if apart.server.get().is_some() {
            return Ok(());
        }
        let connected = apart.upstreams.connect();
        let (server, events, reached) = match connected {
            Ok((server, events)) => (server, events, Ok(())),
            Err(cause) => {
                error!("{}", told(&cause));
                let (server, events) = (Server::Absent, ServerEvents::Absent);
                (server, events, Err(UpstreamFault::Down))
            }
        };
        if apart.server.set(server).is_ok() {
            *apart.events.lock().unwrap_or_else(PoisonError::into_inner) = Some(events);
            apart.moved.notify_waiters();
            self.waiting.open.close(&UpstreamFault::Left);
        }
        reached
    }

    fn leave_open(&self) {
        let is_first = |apart: &Arc<Apart>| !apart.left.swap(true, Ordering::Relaxed);
        if self.apart.as_ref().is_some_and(is_first) {
            let open = self.open.clone();
            tokio::spawn(async move { open.stop().await });
        }
    }
}

impl PlacedEvents {
    /// The next event of either. Cancel-safe: nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self) -> (Speaker, Occurrence<'_>) {
        let Self {
            open,
            isolated,
            apart,
        } = self;
        let Some(apart) = apart else {
            return (Speaker::Open, open.next().await);
        };
        let isolated = async {
            loop {
                let moved = apart.moved.notified();
                if apart.server.get().is_some() {
                    break;
                }
                moved.await;
            }
            let handed = apart.events.lock();
            if let Some(events) = handed.unwrap_or_else(PoisonError::into_inner).take() {
                *isolated = events;
            }
            isolated.next().await
        };
        tokio::select! {
            said = open.next() => (Speaker::Open, said),
            said = isolated => (Speaker::Isolated, said),
        }
    }

    /// Nothing more is to be heard of this one.
    pub(super) fn close(&mut self, speaker: Speaker) {
        match speaker {
            Speaker::Open => self.open = ServerEvents::Absent,
            Speaker::Isolated => self.isolated = ServerEvents::Absent,
        }
    }
}
