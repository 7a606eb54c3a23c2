//! The path of one HTTP request.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::body::{Body, Incoming};
use hyper::header::ORIGIN;
use hyper::http::request::Parts;
use hyper::{Method, Request, Version};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::identity::{Authenticate, Credential, Identity, Validity};
use crate::inward::{self, Misframed, neighbourhood};
use crate::wire::{Id, TransportHeaders, WorkIds};

use super::alarm::Alarm;
use super::conversations::{Brought, Conversations};
use super::door::Door;
use super::health::AskHealth;
use super::refusal::{HttpRefusal, Refused};
use super::respond::{self, Hearing, Names, Response};
use super::room::Budget;
use super::serve::Outside;
use super::settings::Settings;
use super::{body, fields, listen, post, share};

/// What requests of all connections share.
pub(super) struct Server {
    pub(super) settings: Arc<Settings>,
    pub(super) conversations: Conversations,
    /// Budget of bodies that are being read, or wait to be judged.
    pub(super) bodies: Arc<Budget>,
    /// Connections that streams may hold that have no end of their own.
    lasting: Arc<Semaphore>,
    door: Door,
    authenticate: Arc<dyn Authenticate>,
    refusals: Box<dyn Fn(HttpRefusal) + Send + Sync>,
    health: AskHealth,
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

/// The connection that brings a request.
#[derive(Debug, Clone, Copy)]
struct Sender<'c> {
    peer: IpAddr,
    alarm: &'c Alarm,
}

/// One request without its body, and who sent it.
pub(super) struct Asked<'r> {
    pub(super) parts: &'r Parts,
    pub(super) identity: &'r Identity,
    /// What the token says of the work that it is for.
    pub(super) work: Option<&'r Arc<WorkIds>>,
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
            },
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

/// A refusal, and the id to answer with if the message was read that far.
#[derive(Debug)]
pub(super) struct Rejection {
    pub(super) refused: Refused,
    pub(super) id: Option<Id>,
}

impl From<Refused> for Rejection {
    fn from(refused: Refused) -> Self {
        Self { refused, id: None }
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
            taking: watch::Sender::new(Taking::Everything),
            settings,
        }
    }

    /// Answers one request. What is checked first costs least, and is known to fewest.
    pub(super) async fn answer(
        &self,
        peer: IpAddr,
        request: Request<Incoming>,
        alarm: &Alarm,
    ) -> Response {
        let (parts, mut body) = request.into_parts();
        let mut subject = None;
        let is_old = parts.version == Version::HTTP_10;
        let mut response = match self
            .take(&parts, &mut body, Sender { peer, alarm }, &mut subject)
            .await
        {
            Ok(response) => response,
            Err(rejection) => {
                if !body.is_end_stream() {
                    let patience = self.settings.body_deadline;
                    tokio::spawn(body::discard(body, patience, self.stopping()));
                }
                self.record(peer, &rejection.refused, subject);
                respond::refusal(&rejection, self.authenticate.resource())
            }
        };
        if let Some(origin) = parts.headers.get(ORIGIN)
            && let Ok(name) = origin.to_str()
            && self.door.check_origin(Some(name)).is_ok()
        {
            share::share(&mut response, origin);
        }
        if is_old {
            inward::last(&mut response);
        }
        response
    }

    /// Answers what is no request.
    pub(super) fn refuse(&self, peer: IpAddr, misframed: Misframed) -> Response {
        let rejection = Rejection::from(Refused::Misframed(misframed));
        self.record(peer, &rejection.refused, None);
        respond::refusal(&rejection, None)
    }

    /// Where a body takes its room: with its agent's others, or where agents have no names with its
    /// session's or its address's.
    pub(super) fn share_of_bodies(&self, asked: &Asked<'_>) -> Arc<Budget> {
        let shares = &self.conversations.shares;
        if self.authenticate.tells_apart() {
            return shares.bodies(&format!("agent {}", asked.identity.subject));
        }
        let session = fields::text(&asked.parts.headers, fields::SESSION);
        let known = |id: &&str| self.conversations.session(id, asked.identity).is_ok();
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

    /// Tells whoever keeps records.
    pub(super) fn record(&self, peer: IpAddr, refused: &Refused, subject: Option<String>) {
        let (status, code) = (refused.status(), refused.code());
        tracing::debug!(%peer, status, code, "refused: {refused}");
        (self.refusals)(HttpRefusal {
            status,
            code,
            why: refused.to_string(),
            peer,
            subject,
        });
    }

    async fn take(
        &self,
        parts: &Parts,
        body: &mut Incoming,
        sender: Sender<'_>,
        subject: &mut Option<String>,
    ) -> Result<Response, Rejection> {
        let Sender { peer, alarm } = sender;
        fields::refuse_repeated(&parts.headers)?;
        self.door
            .check_host(fields::text(&parts.headers, "Host")?, &parts.uri)?;
        let origin = fields::text(&parts.headers, "Origin")?;
        self.door.check_origin(origin)?;
        let path = parts.uri.path();
        if !is_same(path, &self.settings.path) {
            return Ok(self.beside(&parts.method, path)?);
        }
        if parts.method == Method::OPTIONS && origin.is_some() {
            return Ok(share::preflight(&parts.headers));
        }
        let Credential {
            identity,
            term,
            work,
        } = self
            .authenticate
            .identify(&parts.headers, peer)
            .await
            .map_err(Refused::Challenge)?;
        let identity = fields::in_session(identity, &parts.headers, &self.settings)?;
        *subject = Some(identity.subject.clone());
        let asked = Asked {
            parts,
            identity: &identity,
            work: work.as_ref(),
            term: &term,
            peer,
            alarm,
        };
        match parts.method {
            Method::POST => post::post(self, &asked, body).await,
            Method::GET => Ok(listen::get(self, &asked)?),
            Method::DELETE => Ok(listen::delete(self, &asked)?),
            _ => Err(Refused::Method("POST, GET, DELETE").into()),
        }
    }

    /// What is not the protocol's: open to everybody who came through the door.
    fn beside(&self, method: &Method, path: &str) -> Result<Response, Refused> {
        let resource = self.authenticate.resource();
        let document = resource.filter(|resource| resource.serves(path));
        if path != "/health" && document.is_none() {
            return Err(Refused::Path);
        }
        // What answers HEAD is written without its body.
        if ![Method::GET, Method::HEAD].contains(method) {
            return Err(Refused::Method("GET, HEAD"));
        }
        Ok(match document {
            Some(document) => respond::json(200, document.document().to_owned().into()),
            None => respond::health((self.health)()),
        })
    }
}

/// A slash at the end makes no other path.
fn is_same(path: &str, ours: &str) -> bool {
    path.strip_suffix('/').unwrap_or(path) == ours.strip_suffix('/').unwrap_or(ours)
}
