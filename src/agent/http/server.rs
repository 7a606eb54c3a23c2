//! What requests of all connections share, and one request.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::http::request::Parts;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use crate::identity::{Authenticate, Identity, Validity};
use crate::inward::neighbourhood;
use crate::wire::{AgentToken, TransportHeaders, WorkIds};

use super::alarm::Alarm;
use super::caller::{Caller, Endpoint};
use super::conversations::{Arrival, Conversations};
use super::door::Door;
use super::fields;
use super::health::AskHealth;
use super::inbound::Brought;
use super::refusal::{HttpRefusal, Origin, Refused};
use super::respond::{Hearing, Names};
use super::room::Budget;
use super::settings::Settings;

/// What the listener works with.
pub struct Outside {
    pub authenticate: Arc<dyn Authenticate>,
    /// Called for each request that is refused before it was a message. Must return at once.
    pub refusals: Box<dyn Fn(HttpRefusal) + Send + Sync>,
    /// Where new conversations go.
    pub arrivals: mpsc::Sender<Arrival>,
    /// What `GET /health` says.
    pub health: AskHealth,
    pub lets_in: LetsIn,
}

/// Whether an agent may use the server of an endpoint. For others there is no such path.
pub type LetsIn = Box<dyn Fn(&Identity, Endpoint) -> bool + Send + Sync>;

/// What requests of all connections share.
pub(super) struct Server {
    pub(super) settings: Arc<Settings>,
    pub(super) conversations: Conversations,
    /// Budget of bodies that are being read, or wait to be judged.
    pub(super) bodies: Arc<Budget>,
    /// Connections that streams may hold that have no end of their own.
    lasting: Arc<Semaphore>,
    pub(super) door: Door,
    pub(super) authenticate: Arc<dyn Authenticate>,
    refusals: Box<dyn Fn(HttpRefusal) + Send + Sync>,
    pub(super) health: AskHealth,
    pub(super) lets_in: LetsIn,
    taking: watch::Sender<Taking>,
}

/// What connections may still bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taking {
    Everything,
    /// What has come as a whole is answered.
    NothingNew,
}

/// Which part of the connections no stream may hold.
const PART_FOR_MESSAGES: usize = 4;

fn lasting(settings: &Settings) -> usize {
    let connections = settings.max_connections.min(Semaphore::MAX_PERMITS);
    connections - connections / PART_FOR_MESSAGES
}

/// One request without its body, and who sent it.
pub(super) struct Asked<'r> {
    pub(super) parts: &'r Parts,
    pub(super) endpoint: Endpoint,
    pub(super) identity: &'r Identity,
    /// What the token says of the work that it is for.
    pub(super) work: Option<&'r Arc<WorkIds>>,
    /// The token itself, if the server may have it.
    pub(super) token: Option<&'r AgentToken>,
    /// For how long it may hear what it opens.
    pub(super) term: &'r Validity,
    pub(super) peer: IpAddr,
    /// Of the connection that brought it.
    pub(super) alarm: &'r Alarm,
}

impl Asked<'_> {
    pub(super) fn brought(&self) -> Brought {
        let headers = &self.parts.headers;
        let trace = fields::trace(headers);
        Brought {
            peer: self.peer,
            trace,
            carrier: TransportHeaders {
                state: trace.and_then(|_| fields::trace_state(headers)),
                repeated: None,
                work: fields::work(headers),
                proven: self.work.cloned(),
                token: self.token.cloned(),
                client: None,
            },
        }
    }

    pub(super) fn caller(&self) -> Caller<'_> {
        Caller {
            endpoint: self.endpoint,
            identity: self.identity,
        }
    }

    pub(super) fn hearing(&self, server: &Server, names: Names) -> Hearing {
        Hearing {
            names,
            keep_alive: server.settings.keep_alive,
            term: self.term.clone(),
            _place: None,
        }
    }
}

impl Server {
    pub(super) fn new(settings: Settings, port: u16, outside: Outside) -> Self {
        let settings = Arc::new(settings);
        Self {
            conversations: Conversations::new(Arc::clone(&settings), outside.arrivals),
            bodies: Arc::new(Budget::new(
                settings.max_waiting_bodies,
                settings.limits.max_bytes,
            )),
            lasting: Arc::new(Semaphore::new(lasting(&settings))),
            door: Door::new(&settings, port),
            authenticate: outside.authenticate,
            refusals: outside.refusals,
            health: outside.health,
            lets_in: outside.lets_in,
            taking: watch::Sender::new(Taking::Everything),
            settings,
        }
    }

    /// Where a body takes its room: with its agent's others, or where agents have no names with its
    /// session's or its address's.
    pub(super) fn share_of_bodies(&self, asked: &Asked<'_>) -> Arc<Budget> {
        let shares = &self.conversations.shares;
        if self.authenticate.tells_apart() {
            return shares.bodies(&format!("agent {}", asked.identity.subject));
        }
        let session = fields::text(&asked.parts.headers, fields::SESSION);
        let known = |id: &&str| self.conversations.session(id, asked.caller()).is_ok();
        match session.ok().flatten().filter(known) {
            Some(id) => shares.bodies(&format!("session {id}")),
            None => shares.bodies(&format!("address {}", neighbourhood(asked.peer))),
        }
    }

    /// A place among the streams that have no end of their own, until what this returns is dropped.
    pub(super) fn lasting(&self) -> Result<OwnedSemaphorePermit, Refused> {
        let place = Arc::clone(&self.lasting).try_acquire_owned();
        place.map_err(|_| Refused::TooManyStreams)
    }

    /// From now on only what has come as a whole is answered.
    pub(super) fn stop(&self) {
        self.taking.send_replace(Taking::NothingNew);
        self.conversations.stop_listening();
    }

    /// Resolves when the gate takes nothing new.
    pub(super) fn stopping(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut taking = self.taking.subscribe();
        async move {
            // Without a sender nothing is taken either.
            let _ = taking.wait_for(|it| *it == Taking::NothingNew).await;
        }
    }

    /// Reports it for the audit log.
    pub(super) fn record(&self, peer: IpAddr, refused: &Refused, from: Origin) {
        let (status, code) = (refused.status(), refused.code());
        tracing::debug!(%peer, status, code, "refused: {refused}");
        let mut why = refused.to_string();
        if *refused == Refused::Path {
            why = format!("{why}; {}", self.settings.endpoints.told());
        } else if *refused == Refused::NotForAgent {
            why = format!("{why} for this agent, as `agents.toml` says");
        }
        (self.refusals)(HttpRefusal {
            status,
            code,
            why,
            peer,
            from,
        });
    }
}

impl std::fmt::Debug for Outside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outside")
            .field("authenticate", &self.authenticate)
            .finish_non_exhaustive()
    }
}
