//! One agent's session, and everything about it that changes.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::policy::{Agent, Client, Labels, Server};
use crate::wire::{Id, Stream};

use super::kept::Whose;
use super::own_policies::OwnPolicies;
use super::parked::{Awaits, Parked};
use super::pending::Exchange;
use super::place::OverHttp;
use super::remembered::{
    AgentSide, Connection, Lists, Parties, Protocol, SecurityContext, Waiting,
};
use super::request::Asker;

/// One agent's session with the gate.
#[derive(Debug)]
pub struct Session {
    /// The gate's own name for the session; never `Mcp-Session-Id`.
    pub id: SessionId,
    /// Where the agent's bytes come from, as policies and the audit name it.
    pub transport: &'static str,
    /// How the server is reached.
    pub over_http: OverHttp,
    /// Whose reading counts together with what is read here.
    pub whose: Whose,
    /// Its place among the sessions of one gate, from 1 on.
    pub number: u64,
    ids: Ids,
    state: Mutex<State>,
    nearer: Notify,
    /// Wakes the task that has the parked requests judged.
    parked: Notify,
    /// Wakes the task that goes on with the requests that waited for a person.
    bell: Arc<Notify>,
    /// Wakes the tasks that wait for the isolated server to be ready.
    pub(super) arrived: Notify,
    /// Messages that are on their way through the gate.
    in_hand: AtomicUsize,
}

/// Among which requests of an agent's an id is the only one of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ids {
    /// All of the session.
    OfSession,
    /// Those of one stream: agents that know nothing of each other share what is remembered of them
    /// (MCP 2026-07-28 over HTTP, where each POST stands alone).
    OfStream,
}

/// One message on its way through the gate.
#[derive(Debug)]
pub struct InHand<'s>(&'s Session);

impl Drop for InHand<'_> {
    fn drop(&mut self) {
        self.0.in_hand.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The gate's own identifier of a session: 128 random bits in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionId(Arc<str>);

/// Everything about a session that changes.
#[derive(Debug)]
pub struct State {
    /// The agent and the server of a session.
    pub parties: Parties,
    /// How far the protocol has come on both sides.
    pub protocol: Protocol,
    /// Requests of both sides that have no answer yet.
    pub waiting: Waiting,
    /// What the server offers, and what the agent was shown of it.
    pub lists: Lists,
    /// What the agent follows, and what it does for the server.
    pub agent_side: AgentSide,
    /// What the session has read and done, as far as policies are asked about it.
    pub security: SecurityContext,
    /// The server that is spoken to, and what became of those before it.
    pub connection: Connection,
    /// The policies in force, with its roots.
    pub own_policies: OwnPolicies,
    /// When the session began: milliseconds since the Unix epoch.
    pub started_ms: i64,
}

impl State {
    /// Whether a request waits until the agent's model has worked for the server.
    pub fn awaits_model(&self) -> bool {
        self.waiting
            .parked
            .iter()
            .any(|it| it.awaits == Awaits::Model)
    }

    /// Takes out the requests that have waited until their deadline, oldest first.
    pub fn take_expired_parked(&mut self, now: Duration) -> Vec<Parked> {
        let waiting = std::mem::take(&mut self.waiting.parked);
        let (due, waiting): (VecDeque<_>, VecDeque<_>) = waiting
            .into_iter()
            .partition(|parked| parked.deadline <= now);
        self.waiting.parked = waiting;
        due.into()
    }
}

impl SessionId {
    /// Names a session by 128 bits from a secure source.
    pub fn from_random(bits: u128) -> Self {
        Self(format!("{bits:032x}").into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Session {
    pub fn new(id: SessionId, transport: &'static str, server: Server, started_ms: i64) -> Self {
        let agent = Agent {
            id: transport.to_owned(),
            client: Client {
                name: String::new(),
                version: String::new(),
            },
            ..Agent::default()
        };
        Self {
            id,
            transport,
            over_http: OverHttp::default(),
            whose: Whose::Own,
            number: 1,
            ids: Ids::OfSession,
            state: Mutex::new(State {
                parties: Parties {
                    roles: agent.roles.clone(),
                    capabilities: Arc::default(),
                    server_version: None,
                    agent: Arc::new(agent),
                    server: Arc::new(server),
                },
                protocol: Protocol::default(),
                waiting: Waiting::default(),
                lists: Lists::default(),
                agent_side: AgentSide::default(),
                security: SecurityContext::default(),
                connection: Connection::default(),
                own_policies: OwnPolicies::default(),
                started_ms,
            }),
            nearer: Notify::new(),
            parked: Notify::new(),
            bell: Arc::new(Notify::new()),
            arrived: Notify::new(),
            in_hand: AtomicUsize::new(0),
        }
    }

    /// The same, for an agent that has shown who it is.
    #[must_use]
    pub fn of(self, agent: Agent) -> Self {
        {
            let mut state = self.state();
            state.parties.roles.clone_from(&agent.roles);
            state.parties.agent = Arc::new(agent);
        }
        self
    }

    /// The same, as the one of that number.
    #[must_use]
    pub fn numbered(mut self, number: u64) -> Self {
        self.number = number;
        self
    }

    /// The same for agents that share nothing but their identity.
    #[must_use]
    pub fn with_ids(mut self, ids: Ids) -> Self {
        self.ids = ids;
        self
    }

    /// The same for one whose reading counts together with that of others.
    #[must_use]
    pub fn reading_as(mut self, whose: Whose) -> Self {
        self.whose = whose;
        self
    }

    /// Who waits for the reply to a request that came on a stream under this id.
    pub fn asker(&self, id: &Id, stream: Stream) -> Asker {
        let scope = match self.ids {
            Ids::OfSession => Stream::MAIN,
            Ids::OfStream => stream,
        };
        Asker {
            id: id.clone(),
            scope,
        }
    }

    /// Whether agents share it that know nothing of each other.
    pub fn is_shared(&self) -> bool {
        self.ids == Ids::OfStream
    }

    /// The audit shows the roles that the host gives the agent from now on.
    pub fn described_by(&self, labels: &Labels) {
        let mut state = self.state();
        let described = labels.agent(&state.parties.agent);
        let agent = described.as_ref().unwrap_or(&state.parties.agent);
        let roles = agent.roles.clone();
        let capabilities = agent.capabilities.iter().map(|name| name.as_str().into());
        state.parties.capabilities = capabilities.collect();
        state.parties.roles = roles;
    }

    /// The changing part. A panic while the lock was held leaves a state that is still consistent:
    /// every change is a single insertion, removal or assignment.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long until the next unanswered request runs out of time; `None` while none can.
    pub fn until_next_deadline(&self, now: Duration) -> Option<Duration> {
        let mut state = self.state();
        let deadlines = [
            state.waiting.to_upstream.next_deadline(),
            state.waiting.to_agent.next_deadline(),
            state
                .waiting
                .parked
                .iter()
                .map(|parked| parked.deadline)
                .min(),
            state.waiting.asking.next_deadline(),
            state
                .agent_side
                .lending
                .next_end()
                .filter(|_| state.awaits_model()),
        ];
        state.waiting.armed = deadlines.into_iter().flatten().min();
        state
            .waiting
            .armed
            .map(|deadline| deadline.saturating_sub(now))
    }

    /// A request was admitted that runs out of time at `deadline`.
    pub fn arm(&self, state: &State, deadline: Option<Duration>) {
        let Some(deadline) = deadline else { return };
        // Most requests have the same timeout: a later one is found when the earlier one is due.
        if state.waiting.armed.is_none_or(|armed| deadline < armed) {
            self.nearer.notify_one();
        }
    }

    /// Resolves when a deadline is nearer than the one that [`Self::until_next_deadline`] told.
    pub async fn deadline_is_nearer(&self) {
        self.nearer.notified().await;
    }

    /// Counts a message until what this returns is dropped.
    pub fn take_in_hand(&self) -> InHand<'_> {
        self.in_hand.fetch_add(1, Ordering::Relaxed);
        InHand(self)
    }

    /// What parked requests wait for may have come: they are to be judged.
    pub fn parked_may_go_on(&self) {
        self.parked.notify_one();
    }

    /// Resolves after [`Self::parked_may_go_on`].
    pub async fn until_parked_may_go_on(&self) {
        self.parked.notified().await;
    }

    /// What rings when a person has answered.
    pub fn bell(&self) -> &Arc<Notify> {
        &self.bell
    }

    /// Resolves after the bell was rung.
    pub async fn until_the_bell_rings(&self) {
        self.bell.notified().await;
    }

    /// Whether nothing waits for a reply of the upstream, or of a person.
    pub fn is_idle(&self) -> bool {
        let state = self.state();
        state.waiting.to_upstream.is_quiet()
            && state.waiting.parked.is_empty()
            && state.waiting.asking.waiting.is_empty()
            && self.in_hand.load(Ordering::Relaxed) == 0
    }

    /// The request whose progress a token names.
    pub fn in_progress<'e>(&self, state: &'e State, token: &'e str) -> Option<&'e Exchange> {
        let told = state.waiting.to_upstream.with_progress_token(token);
        self.newest_or_only(told, || state.connection.forsaken.has(token))
    }

    /// The request that something belongs to which could belong to any of these.
    pub fn related<'e>(
        &self,
        state: &State,
        candidates: impl Iterator<Item = (u64, &'e Exchange)>,
    ) -> Option<&'e Exchange> {
        self.newest_or_only(candidates, || state.connection.forsaken.any)
    }

    /// The newest. Where the askers know nothing of each other: the only one, as long as none was
    /// given up that is meant as well.
    fn newest_or_only<'e>(
        &self,
        mut candidates: impl Iterator<Item = (u64, &'e Exchange)>,
        was_given_up: impl FnOnce() -> bool,
    ) -> Option<&'e Exchange> {
        let related = match self.ids {
            Ids::OfSession => candidates.max_by_key(|(minted, _)| *minted),
            Ids::OfStream if was_given_up() => None,
            Ids::OfStream => candidates.next().filter(|_| candidates.next().is_none()),
        };
        related.map(|(_, exchange)| exchange)
    }
}
