//! The conversations of one agent with the servers of an endpoint.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;

use super::name_map::{Alias, NameMap};
use super::routing_state::{RequestKey, RoutingState, ServerState};
use crate::gate::{Agent, Rejection, Source, UpstreamFault};
use crate::mailbox::{self, Unsent};
use crate::policy::ServerKey;
use crate::wire::{Id, Limits, Stream};

/// A message of the agent's side to the conversation with one server.
#[derive(Debug)]
pub enum InboxMessage {
    Frame(Source, Bytes),
    /// The agent does not wait any more for what this stream would bring.
    HungUp(Stream),
    /// It has no stream open for this `ping`.
    Unheard(u64),
}

/// How an endpoint works.
#[derive(Debug, Clone)]
pub struct Settings {
    pub aliases: Arc<[Alias]>,
    /// What of the servers and tools the endpoint has, if not all.
    pub view: Option<View>,
    /// Of messages.
    pub limits: Limits,
    /// Time from a request for all servers to its answer, if one of them has a result.
    pub merge_timeout: Duration,
    /// Ids of requests belong to streams: those of one identity share a conversation (since 2026-07-28).
    pub is_stateless: bool,
}

/// Some of the servers, and of their tools.
#[derive(Debug, Clone)]
pub struct View {
    pub servers: Arc<[ServerKey]>,
    /// Patterns of the agent's names of tools, if not all are in the view.
    pub tools: Option<Arc<[String]>>,
}

impl Settings {
    /// Whether the endpoint has this server.
    pub fn has_server(&self, key: &ServerKey) -> bool {
        let view = self.view.as_ref();
        view.is_none_or(|view| view.servers.contains(key))
    }
}

/// One agent before several servers.
pub struct UnifiedSession<A> {
    pub(super) settings: Settings,
    pub(super) agent: A,
    names: RwLock<Arc<NameMap>>,
    inboxes: Mutex<Vec<Option<mailbox::Sender<Box<InboxMessage>>>>>,
    state: Mutex<RoutingState>,
    /// Wakes [`Self::keep_time`] for a new request.
    pub(super) deadlines_changed: Notify,
    /// Held while what belongs to a subscription is delivered, which has an order over all servers.
    pub(super) subscription_order: tokio::sync::Mutex<()>,
}

impl<A: Agent> UnifiedSession<A> {
    /// The agent, before no server yet.
    pub fn new(settings: Settings, agent: A) -> Self {
        Self {
            names: RwLock::new(Arc::new(NameMap::new(
                Arc::clone(&settings.aliases),
                settings.view.as_ref().and_then(|view| view.tools.clone()),
            ))),
            settings,
            agent,
            state: Mutex::default(),
            inboxes: Mutex::default(),
            deadlines_changed: Notify::new(),
            subscription_order: tokio::sync::Mutex::default(),
        }
    }

    /// Adds a server, which takes what is for it from this inbox; yields its number. After the agent's `initialize` the
    /// server gets that, as one that answers late.
    pub fn join(&self, key: ServerKey, inbox: mailbox::Sender<Box<InboxMessage>>) -> usize {
        let begun = if self.settings.is_stateless {
            ServerState::Ready
        } else {
            ServerState::Initializing
        };
        let mut state = self.state();
        let server = state.add_server(begun);
        self.inboxes().push(Some(inbox));
        {
            let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
            *names = Arc::new(names.with(key));
        }
        if let Some((key, source, line)) = state.begin_late(server) {
            let sent = self.send(server, InboxMessage::Frame(source, line));
            if sent.is_err() {
                state.requests.remove(&key);
            }
        }
        server
    }

    /// Nothing that the agent says names this server any more.
    pub fn remove(&self, server: usize) {
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        *names = Arc::new(names.without(server));
    }

    pub(super) fn names(&self) -> Arc<NameMap> {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&names)
    }

    /// Whether the endpoint has this server.
    pub fn has_server(&self, key: &ServerKey) -> bool {
        self.settings.has_server(key)
    }

    pub fn agent(&self) -> &A {
        &self.agent
    }

    /// Closes the inbox of this server.
    pub fn close(&self, server: usize) {
        if let Some(inbox) = self.inboxes().get_mut(server) {
            inbox.take();
        }
    }

    /// # Errors
    /// Why the server does not get it.
    pub(super) fn send(&self, server: usize, inward: InboxMessage) -> Result<(), Rejection> {
        let inboxes = self.inboxes();
        let inbox = inboxes.get(server).and_then(Option::as_ref);
        let inbox = inbox.ok_or(UpstreamFault::Down)?;
        let sent = inbox.try_send(Box::new(inward));
        sent.map_err(|unsent| match unsent {
            Unsent::Full(_) => UpstreamFault::Stalled.into(),
            Unsent::Closed(_) => UpstreamFault::Down.into(),
        })
    }

    /// The same for a message that must not be lost: it waits for room in the inbox.
    pub(super) fn send_surely(&self, server: usize, inward: InboxMessage) -> Result<(), Rejection> {
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

    pub(super) fn servers(&self) -> Vec<usize> {
        self.names().servers()
    }

    fn inboxes(&self) -> MutexGuard<'_, Vec<Option<mailbox::Sender<Box<InboxMessage>>>>> {
        self.inboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, RoutingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<A> fmt::Debug for UnifiedSession<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnifiedSession").finish_non_exhaustive()
    }
}
