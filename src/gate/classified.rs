//! A message with its place in its session: whose it is, and what its session was when it came.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use crate::mcp::meta;
use crate::policy::{Agent, Client, Consent, Server, SessionSensitivity};
use crate::session::{Asker, Established, Kept, Lifecycle, Run, Session, Spoken, State, Taken};
use crate::wire::{ArrivalForm, Id, KnownMethod, Message, Side, Stream, TransportHeaders, Value};

/// A message that has a place in its session.
#[derive(Debug)]
pub(super) struct Identified<'m> {
    pub(super) message: &'m Message,
    pub(super) from: Side,
    /// The stream of its sender that it came on.
    pub(super) stream: Stream,
    pub(super) form: ArrivalForm,
    pub(super) role: Role,
    /// Whether it is a result of a type that an extension defines, which is listed.
    pub(super) of_listed_type: bool,
    pub(super) scene: Scene,
}

/// What a message is to its session.
#[derive(Debug)]
pub(super) enum Role {
    Request {
        asker: Asker,
        method: KnownMethod,
    },
    Notification {
        method: KnownMethod,
    },
    /// The reply to a request that the gate let through, or sent itself.
    Reply(Box<Taken>),
}

/// Who is there, and what they speak: what policies see of the session.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    pub(super) agent: Arc<Agent>,
    pub(super) server: Arc<Server>,
    /// The one that a message of the agent's is for, or that has sent it.
    pub(super) run: Run,
    pub(super) spoken: Spoken,
    /// The network address of the requester, if it has one.
    pub(super) peer: Option<IpAddr>,
    pub(super) calls: i64,
    pub(super) started_ms: i64,
    /// What the session had read when it was asked for last.
    pub(super) held: Arc<SessionSensitivity>,
    /// What was kept of the session when the message came.
    pub(super) kept: Kept,
    /// What was established of what the agent asks for.
    pub(super) established: Arc<Established>,
    /// The same of what the server asks for.
    pub(super) of_server: Arc<Established>,
    /// What a person agreed to of what the server asks for within its result.
    pub(super) within: Option<Arc<Consent>>,
}

impl Identified<'_> {
    pub(super) fn is_request(&self) -> bool {
        matches!(self.role, Role::Request { .. })
    }
}

impl Scene {
    pub(super) fn of(state: &State, spoken: Spoken, kept: Kept) -> Self {
        Self {
            agent: Arc::clone(&state.parties.agent),
            server: Arc::clone(&state.parties.server),
            run: state.run(),
            spoken,
            peer: None,
            calls: state.security.calls,
            started_ms: state.started_ms,
            held: Arc::clone(&kept.held),
            kept,
            established: Arc::clone(&state.security.established),
            of_server: Arc::clone(&state.security.established),
            within: None,
        }
    }
}

/// Who waits for the reply to a request. Ids of an upstream belong to its one conversation with us.
pub(super) fn asker(session: &Session, from: Side, id: &Id, stream: Stream) -> Asker {
    match from {
        Side::Agent => session.asker(id, stream),
        Side::Upstream => session.asker(id, Stream::MAIN),
    }
}

/// How an agent calls itself, as it says so; nameless where it does not.
pub(super) fn client(said: Option<Value<'_>>) -> Client {
    let text = |key| said.and_then(|said| said.get(key)).and_then(Value::as_str);
    Client {
        name: text("name").unwrap_or_default().into_owned(),
        version: text("version").unwrap_or_default().into_owned(),
    }
}

/// The name that the sender of a message gives itself without a handshake of its own; empty where it gives none.
pub(super) fn name_of_sender<'m>(
    message: &'m Message,
    headers: &TransportHeaders,
    state: &State,
) -> Cow<'m, str> {
    // Of what a bridge has translated the text does not say it any more.
    if let Some(client) = &headers.client {
        return client.name.to_string().into();
    }
    let says_itself = matches!(state.protocol.lifecycle, Lifecycle::New);
    let client = message.meta().and_then(|meta| meta.get(meta::CLIENT));
    let name = client.and_then(|client| client.get("name")?.as_str());
    name.filter(|_| says_itself).unwrap_or_default()
}

/// Methods whose results may ask for more.
pub(super) fn asks(method: KnownMethod) -> bool {
    matches!(
        method,
        KnownMethod::ToolsCall | KnownMethod::PromptsGet | KnownMethod::ResourcesRead
    )
}

/// Whether a method does something as the call of a tool does: it is counted, and held back, as one.
pub(super) fn is_call(method: KnownMethod) -> bool {
    matches!(method, KnownMethod::ToolsCall | KnownMethod::Extension(_))
}
