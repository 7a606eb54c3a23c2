//! The conversations of one agent with the servers of an endpoint.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;

use super::naming::Naming;
use super::waiting::{Progress, RequestKey, Waiting};
use crate::gate::{Agent, Rejection, Source, UpstreamFault};
use crate::mailbox::{self, Unsent};
use crate::wire::{Id, Limits, Stream};

/// What of the agent reaches the conversation with one server.
#[derive(Debug)]
pub enum Inward {
    Frame(Source, Bytes),
    /// The agent does not wait any more for what this stream would bring.
    HungUp(Stream),
    /// It has no stream open for this `ping`.
    Unheard(u64),
}

/// How an endpoint works.
#[derive(Debug, Clone)]
pub struct Settings {
    pub naming: Arc<Naming>,
    /// Of messages.
    pub limits: Limits,
    /// Time from a request for all servers to its answer, if one of them has a result.
    pub patience: Duration,
    /// Ids of requests belong to streams: those of one identity share a conversation (since 2026-07-28).
    pub is_stateless: bool,
}

/// One agent before several servers.
pub struct Unified<A> {
    pub(super) settings: Settings,
    pub(super) agent: A,
    inboxes: Mutex<Vec<Option<mailbox::Sender<Box<Inward>>>>>,
    state: Mutex<Waiting>,
    /// There is a request that several servers answer.
    pub(super) waits: Notify,
    /// Held while what belongs to a subscription is delivered, which has an order over all servers.
    pub(super) turn: tokio::sync::Mutex<()>,
}

impl<A: Agent> Unified<A> {
    /// The agent, before servers that take what is for them from these inboxes, in the order of the names.
    pub fn new(settings: Settings, agent: A, inboxes: Vec<mailbox::Sender<Box<Inward>>>) -> Self {
        let begun = if settings.is_stateless {
            Progress::Ready
        } else {
            Progress::Begun
        };
        Self {
            settings,
            agent,
            state: Mutex::new(Waiting::of(vec![begun; inboxes.len()])),
            inboxes: Mutex::new(inboxes.into_iter().map(Some).collect()),
            waits: Notify::new(),
            turn: tokio::sync::Mutex::default(),
        }
    }

    pub fn agent(&self) -> &A {
        &self.agent
    }

    /// What is for this server is no longer taken.
    pub fn close(&self, server: usize) {
        if let Some(inbox) = self.inboxes().get_mut(server) {
            inbox.take();
        }
    }

    /// # Errors
    /// Why the server does not get it.
    pub(super) fn send(&self, server: usize, inward: Inward) -> Result<(), Rejection> {
        let inboxes = self.inboxes();
        let inbox = inboxes.get(server).and_then(Option::as_ref);
        let inbox = inbox.ok_or(UpstreamFault::Down)?;
        let sent = inbox.try_send(Box::new(inward));
        sent.map_err(|unsent| match unsent {
            Unsent::Full(_) => UpstreamFault::Stalled.into(),
            Unsent::Closed(_) => UpstreamFault::Down.into(),
        })
    }

    /// The same for what must not be lost: it waits for room, if there is none.
    pub(super) fn send_surely(&self, server: usize, inward: Inward) -> Result<(), Rejection> {
        let inbox = self.inboxes().get(server).cloned().flatten();
        let inbox = inbox.ok_or(UpstreamFault::Down)?;
        match inbox.try_send(Box::new(inward)) {
            Ok(()) => Ok(()),
            Err(Unsent::Closed(_)) => Err(UpstreamFault::Down.into()),
            Err(Unsent::Full(inward)) => {
                tokio::spawn(async move { inbox.send(inward).await });
                Ok(())
            }
        }
    }

    /// How a request of this id is found again.
    pub(super) fn key(&self, stream: Stream, id: &Id) -> RequestKey {
        let stream = if self.settings.is_stateless {
            stream
        } else {
            Stream::MAIN
        };
        (stream, id.clone())
    }

    pub(super) fn servers(&self) -> std::ops::Range<usize> {
        0..self.settings.naming.keys().len()
    }

    fn inboxes(&self) -> MutexGuard<'_, Vec<Option<mailbox::Sender<Box<Inward>>>>> {
        self.inboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<A> fmt::Debug for Unified<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unified").finish_non_exhaustive()
    }
}
