//! One agent's session, and everything about it that changes.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::policy::{
    Agent, Client, Consent, DefinitionFingerprint, Labels, Server, SessionSensitivity,
};
use crate::wire::{Id, KnownMethod, Stream};

use super::announced::Announced;
use super::asked::Asking;
use super::catalogue::Catalogue;
use super::company::Company;
use super::cursors::Cursors;
use super::drifts::Drifts;
use super::followed::Followed;
use super::forsaken::Forsaken;
use super::kept::Whose;
use super::lending::Lending;
use super::lifecycle::{Lifecycle, Probe};
use super::pages::Pages;
use super::parked::{Awaits, Parked};
use super::pending::{Exchange, PendingTable};
use super::place::{OverHttp, Place, Travelling};
use super::request::Asker;
use super::trial::Trial;
use super::visibility::Visibilities;

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
    /// Who speaks, as policies see it.
    pub agent: Arc<Agent>,
    /// The agent's roles with those that the host gives it, for the audit. Policies learn the
    /// host's from the labels of their own revision.
    pub roles: Vec<String>,
    /// The capabilities that they grant, likewise.
    pub capabilities: Arc<[Arc<str>]>,
    /// What the server says of its own version.
    pub server_version: Option<Arc<str>>,
    /// The protected server, as policies see it.
    pub server: Arc<Server>,
    /// How far the protocol has come.
    pub lifecycle: Lifecycle,
    /// Requests that went to the upstream and have no reply yet.
    pub to_upstream: PendingTable,
    /// Requests that the upstream sent to the agent and have no reply yet.
    pub to_agent: PendingTable,
    /// What the upstream offers, as far as its lists have told.
    pub tools: Catalogue,
    /// The prompts that the agent was shown, as far as its lists have told.
    pub prompts: Catalogue,
    /// Cursors that the agent was given.
    pub cursors: Cursors,
    /// What the agent knows of tools whose definition has changed.
    pub drifts: Drifts,
    /// The pages of lists that were read lately.
    pub pages: Pages,
    /// Which items of lists the agent may see, as far as that is known.
    pub visibilities: Visibilities,
    /// Lists whose changes the upstream has promised to tell at the handshake, by the notification
    /// that tells.
    pub promised: Vec<KnownMethod>,
    /// Lists that the agent has got, by the same.
    pub listed: Vec<KnownMethod>,
    /// Whether the upstream is asked what it speaks.
    pub probe: Probe,
    /// What has come of the handshake that the gate asks for itself, if that is what the session is for.
    pub trial: Trial,
    /// Requests that wait for something else than a reply or a person, in the order in which they came.
    pub parked: VecDeque<Parked>,
    /// Requests that wait for a person, and what people have agreed to.
    pub asking: Asking,
    /// The resources that the agent follows (revisions before `2026-07-28`).
    pub followed: Followed,
    /// Who has spoken, where the agents know nothing of each other.
    pub company: Company,
    /// Pages that the agent's user was sent to.
    pub announced: Announced,
    /// What the agent's model may still work at for the server.
    pub lending: Lending,
    /// The revision that the agent speaks, if a bridge stands before it and the server speaks
    /// another.
    pub bridged: Option<Arc<str>>,
    /// Calls forwarded so far.
    pub calls: i64,
    /// The tool that has failed for good, if that ends the session.
    pub failed: Option<Arc<str>>,
    /// When the session began: milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// What was read, where that is this session's alone.
    pub held: Arc<SessionSensitivity>,
    /// What was read when the agent was told last what it may use, if it was told anything.
    pub shown_by: Option<Arc<SessionSensitivity>>,
    pub established: Arc<Established>,
    /// Whether the upstream can be spoken to.
    pub upstream: Readiness,
    /// Which instance of it is spoken to.
    pub place: Place,
    /// Messages of the agent's that wait until it has arrived there.
    pub travelling: Vec<Travelling>,
    /// How often a server has ended that was spoken to.
    pub ended: u64,
    /// The tools that the agent had got from the open server, until they were compared with those of
    /// the isolated one.
    pub tools_left: Option<HashMap<String, DefinitionFingerprint>>,
    /// The highest level at which the session was ever found, where that chooses the instance.
    pub found_at: i64,
    /// Requests were given up that the upstream may still speak of.
    pub forsaken: Forsaken,
    /// Frames from the upstream that answered nothing: unknown, late, doubled or type-confused.
    pub stray_replies: u64,
    /// The deadline that somebody sleeps for.
    armed: Option<Duration>,
}

/// What policies may ask of a session beyond its protocol and what it has read. Of the session itself the
/// gate establishes none of it, so it stays what it is by default, except where a test of policies begins
/// elsewhere; a request that a person has agreed to brings its own consent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Established {
    /// A human's answer for the calls that come.
    pub consent: Consent,
}

/// Whether the upstream can be spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// It runs, and has been told what the session agreed on.
    Up,
    /// It was restarted, or is the isolated one; the gate repeats the handshake before anything else may go out.
    Repeating,
    /// It does not run.
    Down,
}

impl State {
    /// Whether a request waits until the agent's model has worked for the server.
    pub fn awaits_model(&self) -> bool {
        self.parked.iter().any(|it| it.awaits == Awaits::Model)
    }

    /// Takes out the requests that have waited until their deadline, oldest first.
    pub fn take_expired_parked(&mut self, now: Duration) -> Vec<Parked> {
        let waiting = std::mem::take(&mut self.parked);
        let (due, waiting): (VecDeque<_>, VecDeque<_>) = waiting
            .into_iter()
            .partition(|parked| parked.deadline <= now);
        self.parked = waiting;
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
                roles: agent.roles.clone(),
                capabilities: Arc::default(),
                server_version: None,
                agent: Arc::new(agent),
                server: Arc::new(server),
                lifecycle: Lifecycle::default(),
                to_upstream: PendingTable::default(),
                to_agent: PendingTable::default(),
                tools: Catalogue::default(),
                prompts: Catalogue::default(),
                cursors: Cursors::default(),
                drifts: Drifts::default(),
                pages: Pages::default(),
                visibilities: Visibilities::default(),
                promised: Vec::new(),
                listed: Vec::new(),
                probe: Probe::default(),
                trial: Trial::default(),
                parked: VecDeque::new(),
                asking: Asking::default(),
                followed: Followed::default(),
                company: Company::default(),
                announced: Announced::default(),
                lending: Lending::default(),
                bridged: None,
                calls: 0,
                failed: None,
                started_ms,
                held: Arc::default(),
                shown_by: None,
                established: Arc::default(),
                upstream: Readiness::Up,
                place: Place::Open,
                travelling: Vec::new(),
                ended: 0,
                tools_left: None,
                found_at: 0,
                forsaken: Forsaken::default(),
                stray_replies: 0,
                armed: None,
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
            state.roles.clone_from(&agent.roles);
            state.agent = Arc::new(agent);
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
        let described = labels.agent(&state.agent);
        let agent = described.as_ref().unwrap_or(&state.agent);
        let roles = agent.roles.clone();
        let capabilities = agent.capabilities.iter().map(|name| name.as_str().into());
        state.capabilities = capabilities.collect();
        state.roles = roles;
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
            state.to_upstream.next_deadline(),
            state.to_agent.next_deadline(),
            state.parked.iter().map(|parked| parked.deadline).min(),
            state.asking.next_deadline(),
            state.lending.next_end().filter(|_| state.awaits_model()),
        ];
        state.armed = deadlines.into_iter().flatten().min();
        state.armed.map(|deadline| deadline.saturating_sub(now))
    }

    /// A request was admitted that runs out of time at `deadline`.
    pub fn arm(&self, state: &State, deadline: Option<Duration>) {
        let Some(deadline) = deadline else { return };
        // Most requests have the same timeout: a later one is found when the earlier one is due.
        if state.armed.is_none_or(|armed| deadline < armed) {
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
        state.to_upstream.is_quiet()
            && state.parked.is_empty()
            && state.asking.waiting.is_empty()
            && self.in_hand.load(Ordering::Relaxed) == 0
    }

    /// The request whose progress a token names.
    pub fn in_progress<'e>(&self, state: &'e State, token: &'e str) -> Option<&'e Exchange> {
        let told = state.to_upstream.with_progress_token(token);
        self.newest_or_only(told, || state.forsaken.has(token))
    }

    /// The request that something belongs to which could belong to any of these.
    pub fn related<'e>(
        &self,
        state: &State,
        candidates: impl Iterator<Item = (u64, &'e Exchange)>,
    ) -> Option<&'e Exchange> {
        self.newest_or_only(candidates, || state.forsaken.any)
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
