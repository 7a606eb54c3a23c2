//! A gate that agents reach over HTTP: each conversation is a task of its own, with a session and a
//! server of its own.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tracing::{error, info, warn};

use crate::agent::http::{Arrival, ConversationKind, Health, HttpRefusal, Listener, Outside};
use crate::audit::{self, Kind, Record};
use crate::gate::Talk;
use crate::identity::Authenticate;
use crate::policy::Agent;
use crate::session::{Ids, Readiness};

use super::agents::{Inbox, Outbox};
use super::converse::{self, End};
use super::renew::{News, Renewal};
use super::servers::{Server, ServerEvents};
use super::{Parts, session};

/// Conversations that wait to be begun.
const ARRIVALS: usize = 64;

/// Refusals that wait to be recorded; further ones are counted.
const REFUSALS: usize = 1024;

/// The step that records of refused HTTP requests name.
const STAGE: &str = "http";

/// What all conversations share.
struct Service {
    parts: Parts,
    news: News,
    drain: Duration,
}

/// Serves agents until the gate is to stop, and every conversation has ended.
pub(super) async fn serve(
    parts: Parts,
    renewal: Renewal,
    listener: Listener,
    path: &str,
    authenticate: Arc<dyn Authenticate>,
    drain: Duration,
) -> End {
    info!("listening on http://{}{path}", listener.address());
    let shutdown = parts.shutdown.clone();
    let upstream = parts.upstream.clone();
    let gate = Arc::clone(&parts.gate);
    let service = Arc::new(Service {
        parts,
        news: renewal.news(),
        drain,
    });
    let (arrivals, arriving) = mpsc::channel(ARRIVALS);
    let (refusals, refused) = mpsc::channel(REFUSALS);
    let (_health, health) = watch::channel(Health::Ready);
    let outside = Outside {
        authenticate,
        refusals: Box::new(move |refusal| told(&refusals, refusal)),
        arrivals,
        health,
    };
    let stop = shutdown.clone();
    let listening = listener.serve(outside, async move {
        stop.requested().await;
    });
    let served = async {
        tokio::join!(
            listening,
            conversations(&service, arriving),
            record_refusals(&service, refused)
        );
    };
    tokio::select! {
        () = served => {}
        () = shutdown.forced() => warn!("conversations that have not ended are broken off"),
        never = renewal.run(&gate, &upstream) => match never {},
    }
    End::Stopped(shutdown.requested().await)
}

async fn conversations(service: &Arc<Service>, mut arriving: mpsc::Receiver<Arrival>) {
    let mut running = JoinSet::new();
    loop {
        tokio::select! {
            arrived = arriving.recv() => match arrived {
                Some(arrival) => {
                    running.spawn(hold(Arc::clone(service), arrival));
                }
                None => break,
            },
            Some(ended) = running.join_next() => broken(&ended),
        }
    }
    while let Some(ended) = running.join_next().await {
        broken(&ended);
    }
}

fn broken(ended: &Result<(), tokio::task::JoinError>) {
    if let Err(cause) = ended {
        error!("a conversation broke off: {cause}");
    }
}

/// One conversation from its first record to its last.
async fn hold(service: Arc<Service>, arrival: Arrival) {
    let Service { parts, news, drain } = &*service;
    let gate = &*parts.gate;
    let Some(session) = session(&parts.upstream, "http", gate.now_ms()) else {
        error!("the operating system gives no random numbers");
        return;
    };
    let identity = arrival.identity;
    let mut roles = identity.roles;
    roles.extend(identity.groups);
    let session = session.of(Agent {
        id: identity.subject,
        user: identity.user,
        roles,
        ..Agent::default()
    });
    let session = match arrival.kind {
        ConversationKind::Session => session.from(Some(arrival.peer)),
        // Those who share it come from many places.
        ConversationKind::Stateless => session.with_ids(Ids::OfStream),
    };
    session.described_by(gate.policies().labels());
    let (server, events) = parts.upstreams.connect().unwrap_or_else(|cause| {
        error!("{cause}");
        session.state().upstream = Readiness::Down;
        (Server::Absent, ServerEvents::Absent)
    });
    let outbox = Outbox::Http(arrival.streams.clone());
    let talk = Talk::new(session, server.clone(), outbox);
    if let Err(fault) = gate.session_started(&talk).await {
        error!("the start of a session could not be recorded: {fault}");
        server.kill().await;
        return;
    }
    converse::note(
        &parts.audit,
        gate.upstream_event(&talk, audit::Event::Started),
    )
    .await;
    let stop = parts.shutdown.branch(*drain);
    let inbox = Inbox::Http {
        inbox: arrival.inbox,
        frame: Bytes::new(),
    };
    let audit = &parts.audit;
    let conversation = converse::converse(gate, &talk, inbox, events, news.clone(), &stop, audit);
    let end = Box::pin(conversation).await;
    drop(arrival.streams);
    tokio::select! {
        () = server.stop() => {}
        () = stop.forced() => server.kill().await,
    }
    if let Err(fault) = gate.session_ended(&talk).await {
        error!("the end of a session could not be recorded: {fault}");
    }
    info!(session = talk.session.id.as_str(), "a session ended: {end}");
}

fn told(refusals: &mpsc::Sender<HttpRefusal>, refusal: HttpRefusal) {
    if refusals.try_send(refusal).is_err() {
        warn!("a request was refused, and there is no room to record it");
    }
}

/// What never was a message has a record too.
async fn record_refusals(service: &Service, mut refused: mpsc::Receiver<HttpRefusal>) {
    let Parts {
        audit,
        upstream,
        gate,
        ..
    } = &service.parts;
    while let Some(refusal) = refused.recv().await {
        let text = format!("HTTP {} to {}", refusal.status, refusal.peer);
        let mut record = Record::new(Kind::Frame)
            .upstream(upstream)
            .direction(audit::Direction::AgentToUpstream)
            .decision(audit::Decision::Block, STAGE)
            .revision(&*gate.revision())
            .reason(audit::Reason::code(refusal.code).with_text(text));
        if let Some(subject) = &refusal.subject {
            record.agent = Some(audit::Agent::new(subject));
        }
        if let Err(fault) = audit.record(record).await {
            error!("a refused request could not be recorded: {fault}");
        }
    }
}
