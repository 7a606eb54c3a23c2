//! The server of one conversation in its places: open at first, and in a narrower one from a moment on
//! that the gate chooses. Nothing leads back.
//!
//! INVARIANT: once [`Spots::here`] is an instance, no line reaches one before it, and it never falls.
//! The task that moves the session also sends the messages that wait for room.

use std::future::pending;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;
use tracing::error;

use crate::gate::{Abandoned, Carried, Permit, Unsent, Upstream, UpstreamFault};
use crate::memory::Memory;
use crate::session::Instance;
use crate::shutdown::Shutdown;
use crate::upstream::StartError;

use super::outbox::{Letter, Outbox};
use super::servers::{Occurrence, Server, ServerEvents, Upstreams};

/// How long servers have to take the last cancellations, and then the end of the session.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(1);

/// The server of one conversation: what sends.
#[derive(Debug, Clone)]
pub(super) struct Placed(Arc<Spots>);

/// The same: what it says, and what becomes of it, in each place.
#[derive(Debug)]
pub(super) struct PlacedEvents {
    spots: Arc<Spots>,
    open: ServerEvents,
    /// Of the isolated instances, if there is any.
    isolated: Option<Box<[ServerEvents; Instance::ISOLATED.len()]>>,
}

#[derive(Debug)]
struct Spots {
    /// One for each instance that there is, in order; the first one is the open one.
    all: Vec<Spot>,
    /// The number of the instance that is spoken to.
    here: AtomicUsize,
}

/// Room for one instance of the server.
#[derive(Debug)]
struct Spot {
    /// How it is reached; the open one has been reached already.
    upstreams: Option<Upstreams>,
    server: OnceLock<Server>,
    /// What it says, until whoever listens takes it.
    events: Mutex<Option<ServerEvents>>,
    connected: Notify,
    /// What waits for room at it.
    waiting: Outbox,
    /// It was told to end.
    left: AtomicBool,
}

/// A server for one conversation. Must be called inside a tokio runtime.
pub(super) fn connect(
    open: &Upstreams,
    isolated: &[Upstreams],
    memory: &Memory,
) -> Result<(Placed, PlacedEvents), StartError> {
    let connected = open.connect()?;
    Ok(placed(connected, isolated, memory))
}

/// The same, where a command is started with the first message for it.
pub(super) fn connect_later(
    open: &Upstreams,
    isolated: &[Upstreams],
    memory: &Memory,
) -> (Placed, PlacedEvents) {
    placed(open.connect_later(), isolated, memory)
}

fn placed(
    (server, events): (Server, ServerEvents),
    isolated: &[Upstreams],
    memory: &Memory,
) -> (Placed, PlacedEvents) {
    let open = Spot::new(None, memory);
    open.connected(server, events);
    let has_isolated = !isolated.is_empty();
    let isolated = isolated
        .iter()
        .map(|it| Spot::new(Some(it.clone()), memory));
    let spots = Arc::new(Spots {
        all: std::iter::once(open).chain(isolated).collect(),
        here: AtomicUsize::new(0),
    });
    let events = PlacedEvents {
        spots: Arc::clone(&spots),
        open: ServerEvents::Absent,
        isolated: has_isolated.then(|| Box::new(std::array::from_fn(|_| ServerEvents::Absent))),
    };
    (Placed(spots), events)
}

impl Spot {
    fn new(upstreams: Option<Upstreams>, memory: &Memory) -> Self {
        Self {
            upstreams,
            server: OnceLock::new(),
            events: Mutex::default(),
            connected: Notify::new(),
            waiting: Outbox::within(memory),
            left: AtomicBool::new(false),
        }
    }

    fn connected(&self, server: Server, events: ServerEvents) {
        *self.events.lock().unwrap_or_else(PoisonError::into_inner) = Some(events);
        if self.server.set(server).is_ok() {
            self.connected.notify_waiters();
        }
    }

    async fn send(&self, permit: Permit) -> Result<(), UpstreamFault> {
        let server = self.server.get().ok_or(UpstreamFault::Down)?;
        let request = match permit.passage().carried {
            Carried::Request { id, .. } => Some(id),
            Carried::Notification { .. } | Carried::Reply { .. } => None,
        };
        let letter = Letter {
            request,
            bytes: permit.line().len(),
            sending: server.sending(permit),
        };
        self.waiting.send(letter).await
    }

    async fn until_connected(&self) {
        loop {
            let connected = self.connected.notified();
            if self.server.get().is_some() {
                break;
            }
            connected.await;
        }
    }
}

impl Spots {
    /// The instance that is spoken to.
    fn here(&self) -> Option<&Spot> {
        self.all.get(self.here.load(Ordering::Acquire))
    }

    fn server(&self) -> Option<&Server> {
        self.here()?.server.get()
    }

    /// The same with all that were connected, at once.
    async fn each(&self, with: impl AsyncFn(&Spot, &Server)) {
        let at = async |instance: Instance| {
            let spot = self.all.get(instance.number());
            if let Some((spot, server)) = spot.and_then(|it| Some((it, it.server.get()?))) {
                with(spot, server).await;
            }
        };
        let [open, first, second, third] = Instance::ALL;
        tokio::join!(at(open), at(first), at(second), at(third));
    }

    async fn unsent_of(&self, instance: Instance) -> Unsent {
        let Some(spot) = self.all.get(instance.number()) else {
            return pending().await;
        };
        let (request, fault) = spot.waiting.unsent().await;
        Unsent {
            server: instance,
            request,
            fault,
        }
    }

    async fn next_of<'e>(
        &self,
        instance: Instance,
        events: &'e mut ServerEvents,
    ) -> (Instance, Occurrence<'e>) {
        let Some(spot) = self.all.get(instance.number()) else {
            return pending().await;
        };
        spot.until_connected().await;
        let handed = spot.events.lock();
        if let Some(handed) = handed.unwrap_or_else(PoisonError::into_inner).take() {
            *events = handed;
        }
        (instance, events.next().await)
    }
}

impl Placed {
    /// Ends all in good order: it may take as long as their settings say, but not longer than `shutdown`
    /// has patience and [`LAST_WORDS`] take.
    pub(super) async fn end(&self, shutdown: &Shutdown) {
        let patience = async {
            tokio::join!(shutdown.forced(), sleep(LAST_WORDS));
        };
        tokio::select! {
            () = self.0.each(async |_, server| server.stop().await) => {}
            () = patience => self.kill().await,
        }
    }

    pub(super) async fn kill(&self) {
        self.0.each(async |_, server| server.kill().await).await;
    }
}

impl Upstream for Placed {
    async fn send(&self, permit: Permit) -> Result<(), UpstreamFault> {
        self.0.here().ok_or(UpstreamFault::Down)?.send(permit).await
    }

    fn is_started(&self) -> bool {
        self.0.server().is_some_and(Server::is_started)
    }

    async fn unsent(&self) -> Unsent {
        let [open, first, second, third] = Instance::ALL;
        if self.0.all.len() == 1 {
            return self.0.unsent_of(open).await;
        }
        // Most sessions have one server, and wait without room for four.
        Box::pin(async {
            tokio::select! {
                unsent = self.0.unsent_of(open) => unsent,
                unsent = self.0.unsent_of(first) => unsent,
                unsent = self.0.unsent_of(second) => unsent,
                unsent = self.0.unsent_of(third) => unsent,
            }
        })
        .await
    }

    async fn flushed(&self) {
        let flushed = async |spot: &Spot, server: &Server| {
            spot.waiting.emptied().await;
            server.flushed().await;
        };
        self.0.each(flushed).await;
    }

    fn abandon(&self, minted: u64) -> Abandoned {
        // What has not left need not be cancelled.
        let mut spots = self.0.all.iter();
        if spots.any(|spot| spot.waiting.take_back(minted)) {
            return Abandoned::Closed;
        }
        // One of them knows the id; to close a stream is no line.
        let here = self.0.here.load(Ordering::Acquire);
        let mut abandoned = Abandoned::Untold;
        for (number, spot) in self.0.all.iter().enumerate() {
            let told = spot.server.get().map(|server| server.abandon(minted));
            if let Some(told) = told.filter(|_| number == here) {
                abandoned = told;
            }
        }
        abandoned
    }

    fn handshake_completed(&self) {
        if let Some(server) = self.0.server() {
            server.handshake_completed();
        }
    }

    fn restart(&self) {
        if let Some(server) = self.0.server() {
            server.restart();
        }
    }

    fn isolate(&self, to: Instance) -> Result<(), UpstreamFault> {
        if self.0.here.load(Ordering::Acquire) >= to.number() {
            return Ok(());
        }
        let reached = self.warm(to);
        if reached.is_err()
            && let Some(spot) = self.0.all.get(to.number())
        {
            spot.connected(Server::Absent, ServerEvents::Absent);
        }
        self.0.here.store(to.number(), Ordering::Release);
        for left in self.0.all.iter().take(to.number()) {
            left.waiting.close(&UpstreamFault::Left);
        }
        reached
    }

    fn warm(&self, instance: Instance) -> Result<(), UpstreamFault> {
        let spot = self.0.all.get(instance.number());
        let spot = spot.ok_or(UpstreamFault::Down)?;
        if spot.server.get().is_some() {
            return Ok(());
        }
        let upstreams = spot.upstreams.as_ref().ok_or(UpstreamFault::Down)?;
        match upstreams.connect() {
            Ok((server, events)) => {
                spot.connected(server, events);
                Ok(())
            }
            Err(cause) => {
                error!("{}", upstreams.told(&cause));
                Err(UpstreamFault::Down)
            }
        }
    }

    async fn send_to(&self, instance: Instance, permit: Permit) -> Result<(), UpstreamFault> {
        let spot = self.0.all.get(instance.number());
        spot.ok_or(UpstreamFault::Down)?.send(permit).await
    }

    fn leave_below(&self, kept: Instance) {
        for spot in self.0.all.iter().take(kept.number()) {
            let Some(server) = spot.server.get() else {
                continue;
            };
            if !spot.left.swap(true, Ordering::Relaxed) {
                let server = server.clone();
                tokio::spawn(async move { server.stop().await });
            }
        }
    }
}

impl PlacedEvents {
    /// The next event of any. Cancel-safe: nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self) -> (Instance, Occurrence<'_>) {
        let Self {
            spots,
            open,
            isolated,
        } = self;
        let [at_open, at_first, at_second, at_third] = Instance::ALL;
        let Some([first, second, third]) = isolated.as_deref_mut() else {
            return spots.next_of(at_open, open).await;
        };
        // Most sessions have one server, and wait without room for four.
        Box::pin(async {
            tokio::select! {
                said = spots.next_of(at_open, open) => said,
                said = spots.next_of(at_first, first) => said,
                said = spots.next_of(at_second, second) => said,
                said = spots.next_of(at_third, third) => said,
            }
        })
        .await
    }

    /// Nothing more is to be heard of any.
    pub(super) fn close_all(&mut self) {
        for instance in Instance::ALL {
            self.close(instance);
        }
    }

    /// Nothing more is to be heard of this one.
    pub(super) fn close(&mut self, instance: Instance) {
        let mut all = std::iter::once(&mut self.open)
            .chain(self.isolated.iter_mut().flat_map(|it| &mut **it));
        if let Some(events) = all.nth(instance.number()) {
            *events = ServerEvents::Absent;
        }
    }
}
