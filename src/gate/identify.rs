//! Whose message it is: its era, the request that a reply answers, and whether it may come now.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::mcp::revisions::{self, FIRST_STATELESS};
use crate::mcp::{TASKS, meta};
use crate::policy::{Agent, Client};
use crate::session::{
    Asker, Era, Extension, Kept, Lifecycle, PendingTable, Session, Spoken, State, Waits, Within,
};
use crate::wire::{
    self, ClientName, Extensions, Id, KnownMethod, Message, Method, Shape, Side, Stream, Value,
};

use super::arrival::{Arrival, Waited};
use super::classified::{Identified, Role, Scene, asker, client};
use super::extensions;
use super::rejection::Rejection;
use super::takeover::{in_revision_of_session, is_in_session_of_bridge};

/// Finds the place of a message in its session.
pub(super) fn identify<'m>(
    message: &'m Message,
    arrival: Arrival,
    session: &Session,
    kept: Kept,
    (extensions, max_in_flight): (&Extensions, usize),
    sent_by: Option<&ClientName>,
) -> Result<Identified<'m>, Rejection> {
    let Arrival {
        from,
        stream,
        form,
        waited,
        ..
    } = arrival;
    let mut state = session.state();
    let (role, spoken) = match message.shape() {
        Shape::Request { id, method } => {
            let known = known(method, from, extensions)?;
            if !known.is_request() {
                return Err(Rejection::wrong_shape(known));
            }
            let spoken = speak(&mut state, from, known, message)?;
            let asker = asker(session, from, id, stream);
            admissible(&state, from, &asker, max_in_flight)?;
            if from == Side::Agent && session.is_shared() {
                leaves_places(&state.waiting.to_upstream, arrival.peer, max_in_flight)?;
            }
            (
                Role::Request {
                    asker,
                    method: known,
                },
                spoken,
            )
        }
        Shape::Notification { method } => {
            let known = known(method, from, extensions)?;
            if known.is_request() {
                return Err(Rejection::wrong_shape(known));
            }
            let spoken = speak(&mut state, from, known, message)?;
            (Role::Notification { method: known }, spoken)
        }
        Shape::Reply { id, .. } => {
            let taken = id.as_ref().and_then(|id| match (from, waited) {
                (Side::Agent, _) => state.waiting.to_agent.take(id),
                (Side::Upstream, _) if !belongs(id, stream) => None,
                (Side::Upstream, Waited::No) => state.waiting.to_upstream.take(id),
                (Side::Upstream, Waited::ForAPerson(_)) => {
                    state.waiting.to_upstream.take_replied(id)
                }
            });
            let Some(taken) = taken else {
                let is_task = message.result().is_some_and(|it| it.get("task").is_some());
                if let Some(id) = id.as_ref().filter(|_| from == Side::Agent && !is_task) {
                    state.agent_side.lending.answered(id);
                }
                state.connection.stray_replies = state.connection.stray_replies.saturating_add(1);
                return Err(Rejection::stray());
            };
            let spoken = taken.exchange.asks.spoken.clone();
            (Role::Reply(Box::new(taken)), spoken)
        }
    };
    let mut scene = Scene::of(&state, spoken, kept);
    if let Role::Reply(taken) = &role
        && let Some(agreed) = &taken.exchange.admission.agreed
    {
        scene.agrees_to_request(&agreed.consent);
    }
    if let Role::Reply(taken) = &role
        && let Waits::Elsewhere(instance) = taken.waits
    {
        scene.run.instance = instance;
    }
    scene.peer = match &role {
        Role::Reply(taken) => taken.exchange.received.peer,
        Role::Request { .. } | Role::Notification { .. } => arrival.peer,
    };
    // Without a handshake of its own each request says who sends it, and its reply is for the same.
    let is_in_session_of_bridge = is_in_session_of_bridge(&state);
    if matches!(state.protocol.lifecycle, Lifecycle::New) || is_in_session_of_bridge {
        let asker = match &role {
            Role::Reply(taken) => taken.exchange.admission.agent.clone(),
            Role::Request { .. } | Role::Notification { .. } => None,
        };
        match (from, asker) {
            (Side::Agent, _) if is_in_session_of_bridge => {
                scene.agent = called_by_bridge(&scene.agent, sent_by);
            }
            (Side::Agent, _) => {
                let said = message.meta().and_then(|meta| meta.get(meta::CLIENT));
                scene.agent = called(&scene.agent, client(said));
            }
            (Side::Upstream, Some(asker)) => scene.agent = asker,
            (Side::Upstream, None) => {}
        }
    }
    let of_listed_type = extensions::is_of_listed_type(&role, message, extensions);
    Ok(Identified {
        message,
        from,
        stream,
        form,
        role,
        of_listed_type,
        scene,
    })
}

/// The same agent, as its bridge says that its client calls itself.
pub(super) fn called_by_bridge(agent: &Arc<Agent>, client: Option<&ClientName>) -> Arc<Agent> {
    let client = client.cloned().unwrap_or_default();
    let client = Client {
        name: client.name.to_string(),
        version: client.version.to_string(),
    };
    called(agent, client)
}

/// The same agent, as its client calls itself.
fn called(agent: &Arc<Agent>, client: Client) -> Arc<Agent> {
    if client == agent.client {
        return Arc::clone(agent);
    }
    Arc::new(Agent {
        client,
        ..(**agent).clone()
    })
}

/// An unknown method is refused whoever sends it, and so is one that the other side sends. Those of
/// extensions are known where the configuration lists them.
fn known(method: &Method, from: Side, extensions: &Extensions) -> Result<KnownMethod, Rejection> {
    let known = match method {
        Method::Known(known) => Some(*known),
        Method::Unknown(name) => extensions.find(name),
    };
    known
        .filter(|known| known.sent_by(from))
        .ok_or_else(|| Rejection::unknown_method(method.name()))
}

/// Settles the era of a message and, with it, what its sender speaks. A method of the other era is
/// an unknown one.
fn speak(
    state: &mut State,
    from: Side,
    method: KnownMethod,
    message: &Message,
) -> Result<Spoken, Rejection> {
    let era = match from {
        Side::Agent => agents_era(state, method, message)?,
        // What the upstream may ask depends on what the agent said at the handshake. In the
        // stateless era it may ask nothing; then there is no handshake, and nothing was said.
        Side::Upstream => match state.protocol.lifecycle.handshake() {
            Some(handshake) => Era::Legacy(handshake.spoken.clone()),
            None => Era::Stateless(Spoken::default()),
        },
    };
    let (spoken, era) = match era {
        Era::Legacy(spoken) => (spoken, wire::Era::Legacy),
        Era::Stateless(spoken) => (spoken, wire::Era::Stateless),
    };
    if !method.sent_by_in(from, era) {
        return Err(Rejection::unknown_method(method.name()));
    }
    Ok(spoken)
}

fn agents_era(state: &State, method: KnownMethod, message: &Message) -> Result<Era, Rejection> {
    in_revision_of_session(state, message)?;
    let modern = match state.protocol.lifecycle {
        Lifecycle::New if method != KnownMethod::Initialize => {
            message.meta().and_then(|meta| meta.get(meta::VERSION))
        }
        // A session that begins with `initialize` goes on as it began.
        Lifecycle::New | Lifecycle::Initializing(_) | Lifecycle::Ready(_) => None,
    };
    if let Some(version) = modern.filter(|version| !is_legacy_version(*version)) {
        return stateless(version, message);
    }
    // MCP 2026-07-28, basic/transports/stdio: a cancellation names no version of its own.
    let waits = !(state.waiting.to_upstream.is_empty()
        && state.waiting.asking.waiting.is_empty()
        && state.waiting.parked.is_empty());
    if method == KnownMethod::Cancelled
        && matches!(state.protocol.lifecycle, Lifecycle::New)
        && waits
    {
        return Ok(Era::Stateless(Spoken::default()));
    }
    Ok(state.protocol.lifecycle.legacy(method)?)
}

fn stateless(version: Value<'_>, message: &Message) -> Result<Era, Rejection> {
    let version = version.as_str().unwrap_or_default();
    if !revisions::is_known(&version) {
        return Err(Rejection::unsupported_version(&version));
    }
    let capabilities = message.meta().and_then(|meta| meta.get(meta::CAPABILITIES));
    let level = message.meta().and_then(|meta| meta.get(meta::LOG_LEVEL));
    let spoken = Spoken {
        logs: level.map_or(Extension::Undeclared, |_| Extension::Declared),
        ..said(&version, capabilities)
    };
    Ok(Era::Stateless(spoken))
}

/// Revisions with a handshake are spoken after it, whatever a message says of itself.
fn is_legacy_version(version: Value<'_>) -> bool {
    version
        .as_str()
        .is_some_and(|version| revisions::is_known(&version) && *version < *FIRST_STATELESS)
}

/// What an agent says it can do.
pub fn said(version: &str, capabilities: Option<Value<'_>>) -> Spoken {
    let says = |path: &[&str]| match capabilities.and_then(|all| all.at(path)) {
        Some(_) => Extension::Declared,
        None => Extension::Undeclared,
    };
    let has = |name| says(&[name]) == Extension::Declared;
    let asks = |mode| says(&["elicitation", mode]) == Extension::Declared;
    Spoken {
        version: version.into(),
        sampling: has("sampling"),
        // MCP 2025-11-25: who names no mode means forms, as everybody did before there were modes.
        elicitation: has("elicitation") && (asks("form") || !asks("url")),
        pages: says(&["elicitation", "url"]),
        roots: has("roots"),
        tasks: says(&["extensions", TASKS]),
        logs: Extension::Undeclared,
        within: Within {
            sample_tools: says(&["sampling", "tools"]),
            sample_tasks: says(&["tasks", "requests", "sampling", "createMessage"]),
            elicit_tasks: says(&["tasks", "requests", "elicitation", "create"]),
            tasks: says(&["tasks"]),
            task_lists: says(&["tasks", "list"]),
            task_ends: says(&["tasks", "cancel"]),
        },
    }
}

fn admissible(
    state: &State,
    from: Side,
    asker: &Asker,
    max_in_flight: usize,
) -> Result<(), Rejection> {
    let table = match from {
        Side::Agent => &state.waiting.to_upstream,
        Side::Upstream => &state.waiting.to_agent,
    };
    let parked = from == Side::Agent
        && state
            .waiting
            .parked
            .iter()
            .any(|parked| parked.asker == *asker);
    let is_asked_about = state.waiting.asking.waits(from, asker);
    if parked || is_asked_about || table.is_in_flight(asker) {
        return Err(Rejection::reused_id());
    }
    if table.len() >= max_in_flight {
        return Err(Rejection::too_many(max_in_flight));
    }
    Ok(())
}

/// Which part of the requests in flight no one address may hold, where agents share them that know
/// nothing of each other.
const PART_FOR_OTHERS: usize = 4;

fn leaves_places(
    waiting: &PendingTable,
    peer: Option<IpAddr>,
    max_in_flight: usize,
) -> Result<(), Rejection> {
    let most = max_in_flight - max_in_flight / PART_FOR_OTHERS;
    // As long as all have room, nobody is counted.
    if waiting.len() >= most && waiting.of_peer(peer) >= most {
        return Err(Rejection::too_many(most));
    }
    Ok(())
}

/// Whether a reply came where its request went: an upstream that answers one request in the stream
/// of another has mixed them up.
fn belongs(id: &Id, stream: Stream) -> bool {
    matches!(stream, Stream::MAIN | Stream::UNTOLD)
        || id.as_integer().and_then(|id| u64::try_from(id).ok()) == Some(stream.number())
}

/// The deadline of a request that starts now; streams have none.
pub(super) fn deadline(method: KnownMethod, now: Duration, timeout: Duration) -> Option<Duration> {
    (method != KnownMethod::SubscriptionsListen).then(|| now.saturating_add(timeout))
}
