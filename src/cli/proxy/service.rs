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
    Arrival, AskHealth, ConversationKind, Endpoint, Endpoints, HttpRefusal, LetsIn, Listener,
    Outside,
};
use crate::audit::{self, Audit, Kind, Record};
use crate::identity::{Authenticate, Identity};
use crate::policy::Agent;
use crate::session::{Ids, Session};
use crate::shutdown::Shutdown;
use crate::unified;

use super::agents::{AgentEnd, ConversationAgent, Inbox, Outbox};
use super::certificates::{self, ListenerCertificates};
use super::end::End;
use super::held::{Begun, Held};
use super::parts::{Parts, session};
use super::reading::of_agent;
use super::renew::Renewal;
use super::server_changes::ServerChanges;
use super::server_set::{LAST_RECORDS, NO_SERVER, RunningServers, ServerSet, broken};
use super::unified::{AgentConnection, UnifiedConversation};

/// Conversations that wait to be begun.
const ARRIVALS: usize = 64;

/// Refusals that wait to be recorded; further ones are counted.
const REFUSALS: usize = 1024;

/// How long answers of conversations that have ended by then may take to be written when patience is
/// over.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// The step that records of refused HTTP requests name.
const STAGE: &str = "http";

/// What all conversations share.
struct Service {
    servers: Arc<ServerSet>,
    /// The endpoint of all, if there is one, and those of views, by their numbers.
    unified: Vec<unified::Settings>,
    audit: Audit,
}

/// What serves agents.
pub(super) struct Inside {
    pub(super) servers: Arc<ServerSet>,
    pub(super) changes: ServerChanges,
    pub(super) audit: Audit,
    pub(super) shutdown: Shutdown,
    pub(super) metrics: Option<Arc<Metrics>>,
    pub(super) renewal: Renewal,
    pub(super) health: AskHealth,
    /// The endpoint of all servers, if there is one, and those of views.
    pub(super) unified: Vec<unified::Settings>,
}

/// Serves agents until the gate is to stop, and every conversation has ended.
pub(super) async fn serve(
    inside: Inside,
    listener: Listener,
    endpoints: &Endpoints,
    authenticate: Arc<dyn Authenticate>,
    certificates: Option<ListenerCertificates>,
) -> End {
    let Inside {
        servers,
        changes,
        audit,
        shutdown,
        metrics,
        renewal,
        health,
        unified,
    } = inside;
    for path in endpoints.paths() {
        let (scheme, address) = (listener.scheme(), listener.address());
        info!("listening on {scheme}://{address}{path}");
    }
    for parts in &servers.current().servers {
        if let Err(cause) = parts.open.upstreams.check() {
            error!(
                "{cause}; until it can be started agents are refused, and `GET /health` says 503"
            );
        }
    }
    let known = Arc::clone(&servers);
    let service = Arc::new(Service {
        servers,
        unified,
        audit,
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
                let current = known.current();
                let parts = refusal.from.endpoint.and_then(|it| current.at(it));
                let key = parts.and_then(|parts| parts.key());
                let label = ServerLabel(key.map(|key| key.as_str().into()));
                metrics.refused(Listening::Agents, label, refusal.status, refusal.code);
            }
            told(&refusals, &uncounted, refusal);
        }),
        arrivals,
        health,
        lets_in: lets_in(Arc::clone(&service)),
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
        never = renewal.run(changes) => match never {},
        never = identity.keep_ready() => match never {},
        never = certificates::renew(certificates, &service.servers) => match never {},
    }
    End::Stopped(shutdown.requested().await)
}

/// An endpoint of several servers is for agents that may use one of them.
fn lets_in(service: Arc<Service>) -> LetsIn {
    Box::new(move |identity, endpoint| {
        let agent = agent_of(identity.clone());
        let current = service.servers.current();
        if let Some(parts) = current.at(endpoint) {
            return parts.is_left_to(&agent);
        }
        let unified = service.unified.get(endpoint.0);
        unified.is_some_and(|unified| {
            let mut servers = current.servers.iter();
            servers.any(|parts| {
                let key = parts.key();
                key.is_some_and(|key| unified.has_server(&key)) && parts.is_left_to(&agent)
            })
        })
    })
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

/// One conversation from its first record to its last.
async fn hold(service: Arc<Service>, arrival: Box<Arrival>) {
    let ServerSet { news, drain, .. } = &*service.servers;
    let parts = service.servers.current().at(arrival.endpoint).cloned();
    match (parts, service.unified.get(arrival.endpoint.0)) {
        (Some(parts), _) => {
            if let Some(mut begun) = begin(&parts, *arrival) {
                begun.until_its_end(&parts, news, *drain).await;
            }
        }
        (None, Some(settings)) => {
            Box::pin(unify(&service.servers, settings, *arrival)).await;
        }
        // Its server was removed just now.
        (None, None) => {}
    }
}

fn begin(parts: &Parts, arrival: Arrival) -> Option<Box<Begun>> {
    let session = session_of(parts, &arrival.identity, arrival.kind)?;
    let held = Held {
        session,
        agent: ConversationAgent::Direct(Outbox::Http(arrival.streams)),
        inbox: Inbox::Http {
            inbox: arrival.inbox,
            frame: Bytes::new(),
        },
        bridge: parts.bridge(),
    };
    held.begin(parts)
}

/// One conversation with all servers.
async fn unify(served: &Arc<ServerSet>, settings: &unified::Settings, arrival: Arrival) {
    let Arrival {
        identity,
        kind,
        inbox,
        streams,
        ..
    } = arrival;
    let before = |parts: &Parts| {
        let session = session_of(parts, &identity, kind)?;
        Some((session, parts.bridge()))
    };
    let settings = unified::Settings {
        is_stateless: kind == ConversationKind::Stateless,
        ..settings.clone()
    };
    let agent = AgentConnection {
        outbox: Outbox::Http(streams),
        inbox: Inbox::Http {
            inbox,
            frame: Bytes::new(),
        },
        end: AgentEnd::Gone,
    };
    let conversation = UnifiedConversation::begin(served, settings, agent, before);
    if let Some(mut conversation) = conversation {
        conversation.until_its_end().await;
    }
}

/// The session of an agent before a server.
fn session_of(parts: &Parts, identity: &Identity, kind: ConversationKind) -> Option<Session> {
    let session = session(&parts.server, "http", &parts.gate)?;
    let ids = match kind {
        ConversationKind::Session => Ids::OfSession,
        ConversationKind::Stateless => Ids::OfStream,
    };
    let session = session.reading_as(of_agent(identity, ids, parts.for_agents.names));
    let agent = agent_of(identity.clone());
    let number = parts.conversations.next_number();
    Some(session.of(agent).with_ids(ids).numbered(number))
}

/// The agent that has shown who it is.
fn agent_of(identity: Identity) -> Agent {
    let Identity {
        subject,
        user,
        actors,
        roles,
        groups,
        capabilities,
        claims,
        ..
    } = identity;
    Agent {
        id: subject,
        user,
        actors,
        roles: roles.into_iter().chain(groups).collect(),
        capabilities,
        claims,
        ..Agent::default()
    }
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
        let mut record = blocked(&service.servers.current(), from.endpoint, STAGE, reason);
        record.agent = from.subject.as_ref().map(audit::Agent::new);
        if let Err(fault) = audit.record(record).await {
            error!("a refused request could not be recorded: {fault}");
        }
        let more = lost.swap(0, Ordering::Relaxed);
        if more > 0 {
            let text = "so many were refused faster than each could be recorded";
            let reason = audit::Reason::code("refusals").with_text(text);
            let mut record = blocked(&service.servers.current(), None, STAGE, reason);
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

/// The record of what never was a message.
pub(super) fn blocked(
    current: &RunningServers,
    endpoint: Option<Endpoint>,
    stage: &'static str,
    reason: audit::Reason,
) -> Record {
    let of_the_endpoint = endpoint.and_then(|endpoint| current.at(endpoint));
    let servers = &current.servers;
    let only = servers.first().filter(|_| servers.len() == 1);
    let server = of_the_endpoint.or(only);
    let name = server.map_or(NO_SERVER, |parts| &parts.server.name);
    Record::new(Kind::MalformedMessage)
        .upstream(name)
        .direction(audit::Direction::AgentToUpstream)
        .decision(audit::Decision::Block, stage)
        .revision(&*current.revision())
        .reason(reason)
}
