//! `Bridge`: the state that all clones of a bridge share, behind one lock. `carry.rs` carries out its steps.

use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use memchr::memmem;
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::clock::Clock;
use crate::gate::{Carried, Lends, Permit, Rejection, Source, TakenOver, Terms, UpstreamFault};
use crate::wire::{Id, KnownMethod, Message, Method, Stream};

use super::outward::Outward;
use super::server_session::{self, Goes, ServerSession};
use super::settings::Settings;
use super::state::{Aside, Doing, Phase, Presence, State};
use super::step::{Step, Taken};
use super::{handshake, inward, outward, rounds};

/// The bridge before one agent. Clones are the same one.
#[derive(Debug, Clone)]
pub struct Bridge(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// There is something to do, or nothing any more.
    changed: Notify,
    ready: Notify,
    settings: ArcSwap<Settings>,
    clock: Arc<dyn Clock>,
}

/// How a cancellation names its method.
const CANCELLED: &[u8] = b"\"notifications/cancelled\"";

/// How a `server/discover` names its method, and the longest one that is kept, in bytes.
const DISCOVER: &[u8] = b"\"server/discover\"";
const MAX_DISCOVERY: usize = 4 * 1024;
const MOST_DISCOVERIES: usize = 16;

/// The code of an answer to a request whose id is in use (JSON-RPC 2.0 §5.1).
const INVALID_REQUEST: i64 = -32_600;

impl Bridge {
    pub fn new(settings: Settings, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::default(),
            changed: Notify::new(),
            ready: Notify::new(),
            settings: ArcSwap::from_pointee(settings),
            clock,
        }))
    }

    /// What the gate's terms say of bridges holds from now on.
    pub fn renew(&self, terms: &Terms) {
        let settings = self.0.settings.load_full();
        self.0.settings.store(Arc::new(settings.under(terms)));
    }

    /// Looks at a frame of the agent's. To be called only when [`Self::ready`] has resolved.
    pub fn take(&self, source: &Source, frame: &[u8]) -> Taken {
        let now = self.0.clock.elapsed();
        let taken = self.state().take(source, frame, &self.settings(), now);
        if taken == Taken::Yes {
            self.0.changed.notify_one();
        }
        taken
    }

    /// Resolves when the next frame of the agent's can be taken. Until then nothing is read: that
    /// bounds what waits.
    pub async fn ready(&self) {
        loop {
            {
                let state = self.state();
                if state.steps.is_empty() && state.in_hand == Doing::Nothing && state.held.is_none()
                {
                    return;
                }
            }
            self.0.ready.notified().await;
        }
    }

    /// The next step. Asked for only by one who has carried out the last one.
    pub async fn next(&self) -> Step {
        loop {
            let until = {
                let mut state = self.state();
                state.in_hand = Doing::Nothing;
                let now = self.0.clock.elapsed();
                state.expire(&self.settings(), now);
                if let Some(step) = state.steps.pop_front() {
                    state.in_hand = Doing::Something;
                    return step;
                }
                state.next_deadline().map(|it| it.saturating_sub(now))
            };
            self.0.ready.notify_one();
            tokio::select! {
                () = self.0.changed.notified() => {}
                () = wait(until) => {}
            }
        }
    }

    /// The agent sends no more: whatever waits for an answer of its is over.
    pub fn closed(&self) {
        {
            let mut state = self.state();
            state.agent = Presence::Closed;
            let State { phase, steps, .. } = &mut *state;
            if let Phase::Bridged(session) = phase {
                rounds::give_up(session, steps);
            }
        }
        self.0.changed.notify_one();
    }

    /// Whether the agent has a question for a sample of its model that it has not answered.
    pub fn lends(&self) -> Lends {
        match &self.state().phase {
            Phase::Bridged(session) if session.samples() => Lends::Model,
            Phase::Bridged(_)
            | Phase::Carried(_)
            | Phase::Apart
            | Phase::Sessions
            | Phase::Asked(_)
            | Phase::Probing(..) => Lends::Nothing,
        }
    }

    /// Takes over a request that its server does in a session only.
    pub(super) fn take_over(&self, source: Source, frame: &[u8]) -> TakenOver {
        let taken = self.state().take_over(source, frame, &self.settings());
        self.0.changed.notify_one();
        taken
    }

    /// The same for the `server/discover` that the agent has sent under this id.
    pub(super) fn take_over_discovery(&self, id: &Id, stream: Stream) -> TakenOver {
        let settings = self.settings();
        let found = {
            let mut state = self.state();
            let found = state.take_discovery(id, stream, &settings);
            found.filter(|(_, frame)| state.answers_discovery(stream, frame, &settings))
        };
        let Some((source, frame)) = found else {
            return TakenOver::No;
        };
        self.take_over(source, &frame)
    }

    /// The agent waits no more for what this stream would bring.
    pub fn hung_up(&self, stream: Stream) {
        let mut state = self.state();
        state
            .discoveries
            .retain(|(source, _)| source.stream != stream);
        let State { phase, steps, .. } = &mut *state;
        if let Phase::Carried(session) = phase {
            session.hung_up(stream, steps);
        }
        drop(state);
        self.0.changed.notify_one();
    }

    /// Whether an agent with a session has a server without them.
    pub fn is_between(&self) -> bool {
        matches!(self.state().phase, Phase::Bridged(_))
    }

    /// Whether nothing is to be finished.
    pub fn is_idle(&self) -> bool {
        let state = self.state();
        let waits = match &state.phase {
            Phase::Apart | Phase::Sessions => false,
            Phase::Asked(_) | Phase::Probing(..) => true,
            Phase::Bridged(session) => session.waiting() > 0,
            Phase::Carried(session) => session.is_awaited(),
        };
        !waits && state.steps.is_empty() && state.in_hand == Doing::Nothing && state.held.is_none()
    }

    /// What the agent gets of something that was permitted to it.
    pub(super) fn translate(&self, permit: Permit) -> Outward {
        let now = self.0.clock.elapsed();
        let mut state = self.state();
        if matches!(state.phase, Phase::Apart | Phase::Sessions) {
            if !state.discoveries.is_empty() {
                state.forget_discovery(&permit, &self.settings());
            }
            return Outward::AsItIs(permit);
        }
        let outward = state.translate(permit, &self.settings(), now);
        drop(state);
        self.0.changed.notify_one();
        self.0.ready.notify_one();
        outward
    }

    pub(super) fn settings(&self) -> Arc<Settings> {
        self.0.settings.load_full()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take(&mut self, source: &Source, frame: &[u8], settings: &Settings, now: Duration) -> Taken {
        match &mut self.phase {
            Phase::Sessions => Taken::Not,
            Phase::Apart => {
                if let Some(asked) = handshake::asked(source, frame, settings, now) {
                    self.phase = Phase::Asked(Box::new(asked));
                }
                self.note_discovery(source, frame);
                self.note_cancellation(source, frame, settings);
                Taken::Not
            }
            Phase::Asked(_) | Phase::Probing(..) => {
                if handshake::may_overtake(frame, settings) {
                    return Taken::Not;
                }
                self.held = Some(Box::new((source.clone(), frame.to_vec())));
                Taken::Yes
            }
            Phase::Bridged(session) => {
                inward::take(session, &mut self.steps, source, frame, settings)
            }
            Phase::Carried(session) => {
                server_session::take(session, &mut self.steps, source, frame, settings)
            }
        }
    }

    fn take_over(&mut self, source: Source, frame: &[u8], settings: &Settings) -> TakenOver {
        if matches!(self.phase, Phase::Apart) {
            let Some(session) = ServerSession::begin(&source, frame, settings, &mut self.steps)
            else {
                return TakenOver::No;
            };
            self.phase = Phase::Carried(Box::new(session));
        }
        match &mut self.phase {
            Phase::Carried(session) if session.is_open() => {
                let taken =
                    server_session::take(session, &mut self.steps, &source, frame, settings);
                match taken {
                    Taken::Yes => TakenOver::Yes,
                    Taken::Not => TakenOver::No,
                }
            }
            Phase::Carried(session) => {
                if session.hold(source.clone(), frame, settings) == TakenOver::No {
                    self.steps.push_back(Step::TurnBack {
                        source,
                        frame: frame.to_vec(),
                        refusal: Rejection::too_many(settings.max_in_flight),
                    });
                }
                TakenOver::Yes
            }
            Phase::Apart
            | Phase::Sessions
            | Phase::Asked(_)
            | Phase::Probing(..)
            | Phase::Bridged(_) => TakenOver::No,
        }
    }

    /// Keeps a `server/discover`: the server may answer that it needs a session, and then it is answered here.
    fn note_discovery(&mut self, source: &Source, frame: &[u8]) {
        if frame.len() > MAX_DISCOVERY || memmem::find(frame, DISCOVER).is_none() {
            return;
        }
        if self.discoveries.len() >= MOST_DISCOVERIES {
            self.discoveries.pop_front();
        }
        self.discoveries.push_back((source.clone(), frame.to_vec()));
    }

    /// A `server/discover` that the agent has cancelled is not answered here.
    fn note_cancellation(&mut self, source: &Source, frame: &[u8], settings: &Settings) {
        if self.discoveries.is_empty() || memmem::find(frame, CANCELLED).is_none() {
            return;
        }
        let Ok(message) = Message::decode(frame, &settings.from_agent) else {
            return;
        };
        let is_it = message.method().and_then(Method::known) == Some(KnownMethod::Cancelled);
        let named = message.params().and_then(|it| it.get("requestId"));
        if let Some(id) = named.and_then(Id::read).filter(|_| is_it) {
            self.take_discovery(&id, source.stream, settings);
        }
    }

    fn take_discovery(
        &mut self,
        id: &Id,
        stream: Stream,
        settings: &Settings,
    ) -> Option<(Source, Vec<u8>)> {
        let is_it = |(source, frame): &(Source, Vec<u8>)| {
            let message = Message::decode(frame, &settings.from_agent);
            source.stream == stream && message.is_ok_and(|message| message.id() == Some(id))
        };
        let at = self.discoveries.iter().rposition(is_it)?;
        self.discoveries.remove(at)
    }

    /// Whether the bridge answers a `server/discover`. An agent that can be asked may begin a session of its own
    /// instead, except on standard streams once the bridge has one.
    fn answers_discovery(&self, stream: Stream, frame: &[u8], settings: &Settings) -> bool {
        let has_session = matches!(self.phase, Phase::Carried(_)) && stream == Stream::MAIN;
        let message = Message::decode(frame, &settings.from_agent);
        has_session || message.is_ok_and(|message| !server_session::can_be_asked(&message))
    }

    /// A `server/discover` that is answered needs no other answer.
    fn forget_discovery(&mut self, permit: &Permit, settings: &Settings) {
        let is_reply = matches!(permit.passage().carried, Carried::Reply { .. });
        if !is_reply {
            return;
        }
        let reply = Message::decode(permit.line().as_bytes(), &settings.permitted());
        if let Some(id) = reply.ok().and_then(|reply| reply.id().cloned()) {
            self.take_discovery(&id, permit.passage().stream, settings);
        }
    }

    /// Whether this is the refusal of a second request under an id in use. A server may answer
    /// another request with the same code meanwhile.
    fn is_aside(&self, permit: &Permit, settings: &Settings) -> bool {
        let Some(Aside(id)) = &self.aside else {
            return false;
        };
        let refused = match permit.passage().carried {
            Carried::Reply { error, .. } => error == Some(INVALID_REQUEST),
            Carried::Request { .. } | Carried::Notification { .. } => false,
        };
        let limits = settings.permitted();
        let is_its = || Message::decode(permit.line().as_bytes(), &limits);
        refused && is_its().is_ok_and(|reply| reply.id() == Some(id))
    }

    fn translate(&mut self, permit: Permit, settings: &Settings, now: Duration) -> Outward {
        if self.is_aside(&permit, settings) {
            self.aside = None;
            return Outward::AsItIs(permit);
        }
        if let Phase::Carried(session) = &mut self.phase {
            let (outward, goes) =
                server_session::translate(session, &mut self.steps, permit, settings);
            if goes == Goes::No {
                self.phase = Phase::Apart;
            }
            return outward;
        }
        if let Phase::Bridged(session) = &mut self.phase {
            return outward::translate(session, &mut self.steps, permit, self.agent, settings, now);
        }
        let outward = handshake::answered(&mut self.phase, &mut self.steps, permit, settings, now);
        if !matches!(self.phase, Phase::Asked(_) | Phase::Probing(..))
            && let Some((source, frame)) = self.held.take().map(|held| *held)
            && self.take(&source, &frame, settings, now) == Taken::Not
        {
            self.steps.push_back(Step::Pass {
                source,
                frame,
                cancels: None,
            });
        }
        outward
    }

    /// A step of what is left when the conversation is over: nothing goes to the server any more.
    pub(super) fn last_step(&mut self, why: &UpstreamFault) -> Option<Step> {
        let waiting = match &mut self.phase {
            Phase::Carried(session) => session.next_waiting(),
            Phase::Apart
            | Phase::Sessions
            | Phase::Asked(_)
            | Phase::Probing(..)
            | Phase::Bridged(_) => self.held.take().map(|held| *held),
        };
        let turned_back = |source, frame| Step::TurnBack {
            source,
            frame,
            refusal: why.clone().into(),
        };
        if let Some((source, frame)) = waiting {
            return Some(turned_back(source, frame));
        }
        Some(match self.steps.pop_front()? {
            Step::Pass { source, frame, .. } | Step::Settle { source, frame, .. } => {
                turned_back(source, frame)
            }
            step @ (Step::TurnBack { .. }
            | Step::TakeBack { .. }
            | Step::Release(_)
            | Step::Revision(_)) => step,
        })
    }

    fn expire(&mut self, settings: &Settings, now: Duration) {
        let Phase::Bridged(session) = &mut self.phase else {
            return;
        };
        rounds::expire(session, &mut self.steps, settings, now);
        session.news.expire(&mut self.steps, now);
        // What is still to be done may change what is followed.
        if self.steps.is_empty() {
            session.news.pump(&session.opening, &mut self.steps, now);
        }
    }

    fn next_deadline(&self) -> Option<Duration> {
        let Phase::Bridged(session) = &self.phase else {
            return None;
        };
        let rounds = session
            .calls
            .values()
            .filter_map(|call| call.round.as_ref());
        let rounds = rounds.map(|round| round.deadline).min();
        [rounds, session.news.next_deadline()]
            .into_iter()
            .flatten()
            .min()
    }
}

async fn wait(duration: Option<Duration>) {
    match duration {
        Some(duration) => sleep(duration).await,
        None => pending().await,
    }
}
