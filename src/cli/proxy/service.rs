//! A gate that agents reach over HTTP: each conversation is a task of its own, with a session and a
//! server of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tracing::{error, info, warn};

use crate::admin::{Listening, Metrics, ServerLabel};
use crate::agent::http::{
    Arrival, AskHealth, ConversationKind, Endpoint, HttpRefusal, Listener, Outside,
};
use crate::audit::{self, Audit, Kind, Record};
use crate::identity::Authenticate;
use crate::policy::Agent;
use crate::session::Ids;
use crate::shutdown::Shutdown;

use super::agents::{Inbox, Outbox};
use super::end::End;
use super::held::{Begun, Held};
use super::parts::{Parts, session};
use super::reading::of_agent;
use super::renew::{News, Renewal};

/// Conversations that wait to be begun.
const ARRIVALS: usize = 64;

/// Refusals that wait to be recorded; further ones are counted.
const REFUSALS: usize = 1024;

/// How long answers of conversations that have ended by then may take to be written when patience is
/// over.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// How long the conversations that are cut off may take to kill their servers and to record their
/// ends.
pub(super) const LAST_RECORDS: Duration = Duration::from_secs(10);

/// The step that records of refused HTTP requests name.
const STAGE: &str = "http";

/// What all conversations share.
struct Service {
    /// For each endpoint.
    servers: Vec<Parts>,
    audit: Audit,
    news: News,
    drain: Duration,
}

/// What serves agents.
pub(super) struct Inside {
    /// For each endpoint of the listener.
    pub(super) servers: Vec<Parts>,
    pub(super) audit: Audit,
    pub(super) shutdown: Shutdown,
    pub(super) metrics: Option<Arc<Metrics>>,
    pub(super) renewal: Renewal,
    pub(super) health: AskHealth,
    /// How long what is under way may take when the gate stops.
    pub(super) drain: Duration,
}

/// Serves agents until the gate is to stop, and every conversation has ended.
pub(super) async fn serve(
    inside: Inside,
    listener: Listener,
    paths: &[String],
    authenticate: Arc<dyn Authenticate>,
) -> End {
    let Inside {
        servers,
        audit,
        shutdown,
        metrics,
        renewal,
        health,
        drain,
    } = inside;
    for path in paths {
        info!("listening on http://{}{path}", listener.address());
    }
    for parts in &servers {
        if let Err(cause) = parts.open.upstreams.check() {
            error!(
                "{cause}; until it can be started agents are refused, and `GET /health` says 503"
            );
        }
    }
    // Of each endpoint.
    let labels: Vec<ServerLabel> = servers
        .iter()
        .map(|parts| ServerLabel(parts.key().map(|key| key.as_str().into())))
        .collect();
    let service = Arc::new(Service {
        servers,
        audit,
        news: renewal.news(),
        drain,
    });
    let (arrivals, arriving) = mpsc::channel(ARRIVALS);
    let (refusals, refused) = mpsc::channel(REFUSALS);
    let identity = Arc::clone(&authenticate);
    let lost = Arc::new(AtomicU64::new(0));
    let uncounted = Arc::clone(&lost);
    let outside = Outside {
        authenticate,
        refusals: Box::new(move |refusal| {
            if let Some(metrics) = &metrics {
                let endpoint = refusal.from.endpoint;
                let label = endpoint.and_then(|endpoint| labels.get(endpoint.0).cloned());
                let label = label.unwrap_or(ServerLabel(None));
                metrics.refused(Listening::Agents, label, refusal.status, refusal.code);
            }
            told(&refusals, &uncounted, refusal);
        }),
        arrivals,
        health,
    };
    let stop = shutdown.clone();
    let serving = listener.serve(outside, async move {
        stop.requested().await;
    });
    let running = watch::Sender::new(0);
    // Requests that still wait get an error then. The listener outlives the conversations that write it.
    let patience = async {
        shutdown.forced().await;
        // Without a sender none runs either.
        let _ = running.subscribe().wait_for(|count| *count == 0).await;
        sleep(LAST_ANSWERS).await;
    };
    let listening = async {
        tokio::select! {
            () = serving => {}
            () = patience => warn!("agents that have not ended are cut off"),
        }
    };
    let served = async {
        tokio::join!(
            listening,
            conversations(&service, arriving, &running),
            record_refusals(&service, refused, &lost)
        );
    };
    // Each conversation ends by itself then: what it leaves open is recorded, and its server killed.
    let overdue = async {
        shutdown.forced().await;
        sleep(LAST_RECORDS).await;
    };
    tokio::select! {
        () = served => {}
        () = overdue => {
            error!("conversations that have not ended are broken off, and have no last record");
            return End::AuditFault;
        }
        never = renewal.run(&service.servers) => match never {},
        never = identity.keep_ready() => match never {},
    }
    End::Stopped(shutdown.requested().await)
}

/// Holds conversations until no more can come; says all the while how many there are.
async fn conversations(
    service: &Arc<Service>,
    mut arriving: mpsc::Receiver<Arrival>,
    count: &watch::Sender<usize>,
) {
    let mut running = JoinSet::new();
    loop {
        count.send_replace(running.len());
        tokio::select! {
            arrived = arriving.recv() => match arrived {
                Some(arrival) => {
                    // Boxed: a task keeps room for what it was begun with.
                    running.spawn(hold(Arc::clone(service), Box::new(arrival)));
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

pub(super) fn broken(ended: &Result<(), tokio::task::JoinError>) {
    if let Err(cause) = ended {
        error!("a conversation broke off: {cause}");
    }
}

/// One conversation from its first record to its last.
async fn hold(service: Arc<Service>, arrival: Box<Arrival>) {
    let Some(parts) = service.servers.get(arrival.endpoint.0) else {
        error!("an endpoint has no server");
        return;
    };
    if let Some(mut begun) = begin(parts, *arrival) {
        let Service { news, drain, .. } = &*service;
        begun.until_its_end(parts, news, *drain).await;
    }
}

fn begin(parts: &Parts, arrival: Arrival) -> Option<Box<Begun>> {
    let Some(session) = session(&parts.server, "http", &parts.gate) else {
        error!("the operating system gives no random numbers");
        return None;
    };
    let identity = arrival.identity;
    let ids = match arrival.kind {
        ConversationKind::Session => Ids::OfSession,
        ConversationKind::Stateless => Ids::OfStream,
    };
    let session = session.reading_as(of_agent(&identity, ids, parts.names));
    let mut roles = identity.roles;
    roles.extend(identity.groups);
    let session = session.of(Agent {
        id: identity.subject,
        user: identity.user,
        roles,
        capabilities: identity.capabilities,
        claims: identity.claims,
        ..Agent::default()
    });
    let session = session
        .with_ids(ids)
        .numbered(parts.conversations.next_number());
    let bridge = match arrival.kind {
        ConversationKind::Session => parts.bridge(),
        ConversationKind::Stateless => None,
    };
    let held = Held {
        session,
        outbox: Outbox::Http(arrival.streams),
        inbox: Inbox::Http {
            inbox: arrival.inbox,
            frame: Bytes::new(),
        },
        bridge,
    };
    held.begin(parts)
}

fn told(refusals: &mpsc::Sender<HttpRefusal>, lost: &AtomicU64, refusal: HttpRefusal) {
    if refusals.try_send(refusal).is_err() {
        lost.fetch_add(1, Ordering::Relaxed);
    }
}

/// What never was a message has a record too.
async fn record_refusals(
    service: &Service,
    mut refused: mpsc::Receiver<HttpRefusal>,
    lost: &AtomicU64,
) {
    let audit = &service.audit;
    while let Some(refusal) = refused.recv().await {
        let HttpRefusal {
            status,
            peer,
            why,
            from,
            ..
        } = &refusal;
        let text = format!("HTTP {status} to {peer}: {why}");
        let reason = audit::Reason::code(refusal.code).with_text(text);
        let mut record = blocked(&service.servers, from.endpoint, STAGE, reason);
        record.agent = from.subject.as_ref().map(audit::Agent::new);
        if let Err(fault) = audit.record(record).await {
            error!("a refused request could not be recorded: {fault}");
        }
        let more = lost.swap(0, Ordering::Relaxed);
        if more > 0 {
            let text = "so many were refused faster than each could be recorded";
            let reason = audit::Reason::code("refusals").with_text(text);
            let mut record = blocked(&service.servers, None, STAGE, reason);
            record.kind = Kind::AuditGap;
            record.lost = Some(more);
            if let Err(fault) = audit.record(record).await {
                // The next gap has them.
                lost.fetch_add(more, Ordering::Relaxed);
                error!("{more} refused requests could not be recorded: {fault}");
            }
        }
    }
}

/// What records name where it is of none of several servers. It is no key.
const NO_SERVER: &str = "-";

/// The record of what never was a message.
pub(super) fn blocked(
    servers: &[Parts],
    endpoint: Option<Endpoint>,
    stage: &'static str,
    reason: audit::Reason,
) -> Record {
    let of_the_endpoint = endpoint.and_then(|endpoint| servers.get(endpoint.0));
    let only = servers.first().filter(|_| servers.len() == 1);
    let server = of_the_endpoint.or(only);
    let name = server.map_or(NO_SERVER, |parts| &parts.server.name);
    let revision = servers.first().map(|parts| parts.gate.revision());
    Record::new(Kind::MalformedMessage)
        .upstream(name)
        .direction(audit::Direction::AgentToUpstream)
        .decision(audit::Decision::Block, stage)
        .revision(revision.as_deref().unwrap_or_default())
        .reason(reason)
}
