//! What the bridge remembers of the session, and of the requests in it.

use std::collections::{HashMap, VecDeque};

use crate::gate::{Rejection, Source, TakenOver};
use crate::wire::{Id, KnownMethod, Message, Stream};

use super::super::lists::Listener;
use super::super::settings::Settings;
use super::super::step::Step;
use super::translated::Translated;
use super::words::{self, Greeting};

/// Requests of the largest size that wait until the session is open.
const WAITING_MESSAGES: usize = 4;

/// `subscriptions/listen` that are open at once.
pub(super) const MOST_LISTENERS: usize = 64;

/// What the bridge remembers of the session, and of the requests in it.
#[derive(Debug)]
pub(in super::super) struct ServerSession {
    /// The id of its `initialize`.
    pub(super) handshake: Id,
    /// What the server said to that.
    pub(super) greeting: Option<Greeting>,
    /// Requests that came before.
    pub(super) waiting: VecDeque<(Source, Vec<u8>)>,
    /// Their bytes.
    pub(super) held: usize,
    /// Requests at the server, by their ids and streams.
    pub(super) calls: HashMap<(Id, Stream), Call>,
    pub(super) listeners: Vec<Listener>,
}

/// A request at the server.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) method: KnownMethod,
    /// The least level of the log messages that it asks for.
    pub(super) level: Option<usize>,
}

impl ServerSession {
    /// Begins the session for the first request that needs it.
    pub(in super::super) fn begin(
        source: &Source,
        frame: &[u8],
        settings: &Settings,
        steps: &mut impl Extend<Step>,
    ) -> Self {
        let handshake = Id::text("mcp-protector/session");
        let session = Self {
            handshake,
            greeting: None,
            waiting: VecDeque::new(),
            held: 0,
            calls: HashMap::new(),
            listeners: Vec::new(),
        };
        let opened_by = Translated::of(source, frame, settings);
        let initialize = words::initialize(&session.handshake, opened_by.client_info());
        steps.extend([
            Step::Revision(Some(words::AGENTS_REVISION.into())),
            Step::Pass {
                source: opened_by.of_session(),
                frame: initialize.into_bytes(),
                cancels: None,
            },
        ]);
        session
    }

    /// Lets a request wait until the session is open.
    pub(in super::super) fn hold(
        &mut self,
        source: Source,
        frame: &[u8],
        settings: &Settings,
    ) -> TakenOver {
        let held = self.held.saturating_add(frame.len());
        let most = settings
            .from_agent
            .max_bytes
            .saturating_mul(WAITING_MESSAGES);
        if self.waiting.len() >= settings.max_in_flight || held > most {
            return TakenOver::No;
        }
        self.held = held;
        self.waiting.push_back((source, frame.to_vec()));
        TakenOver::Yes
    }

    /// Takes out one that the agent waits for no more.
    pub(super) fn take_waiting(
        &mut self,
        id: &Id,
        stream: Stream,
        settings: &Settings,
    ) -> Option<(Source, Vec<u8>)> {
        let limits = &settings.from_agent;
        let is_it = |(source, frame): &(Source, Vec<u8>)| {
            let message = Message::decode(frame, limits);
            source.stream == stream && message.is_ok_and(|message| message.id() == Some(id))
        };
        let at = self.waiting.iter().position(is_it)?;
        let taken = self.waiting.remove(at)?;
        self.held = self.held.saturating_sub(taken.1.len());
        Some(taken)
    }

    /// Whether requests wait for it.
    pub(in super::super) fn is_awaited(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether the server has agreed to it.
    pub(in super::super) fn is_open(&self) -> bool {
        self.greeting.is_some()
    }

    /// The agent waits no more for what this stream would bring.
    pub(in super::super) fn hung_up(&mut self, stream: Stream, steps: &mut impl Extend<Step>) {
        let waiting = std::mem::take(&mut self.waiting);
        let (gone, waiting): (VecDeque<_>, VecDeque<_>) = waiting
            .into_iter()
            .partition(|(source, _)| source.stream == stream);
        self.waiting = waiting;
        self.held = self.waiting.iter().map(|(_, frame)| frame.len()).sum();
        steps.extend(gone.into_iter().map(cancelled));
        self.calls.retain(|(_, of), _| *of != stream);
        self.listeners.retain(|listener| listener.stream != stream);
    }

    /// The request gets no reply.
    pub(in super::super) fn forget(&mut self, id: &Id, stream: Stream) {
        self.calls.remove(&(id.clone(), stream));
    }

    pub(in super::super) fn listen(&mut self, listener: Listener) {
        self.listeners.push(listener);
    }

    pub(in super::super) fn leave(&mut self, listener: &Listener) {
        self.listeners.retain(|it| it != listener);
    }

    /// The session is not opened: what waits for it is refused.
    pub(super) fn refuse_all(
        &mut self,
        refusal: impl Fn() -> Rejection,
        steps: &mut impl Extend<Step>,
    ) {
        let waiting = std::mem::take(&mut self.waiting);
        steps.extend(waiting.into_iter().map(|(source, frame)| Step::TurnBack {
            source,
            frame,
            refusal: refusal(),
        }));
        steps.extend([Step::Revision(None)]);
    }
}

/// A request that its agent has cancelled before it was sent.
pub(super) fn cancelled((source, frame): (Source, Vec<u8>)) -> Step {
    Step::TurnBack {
        source,
        frame,
        refusal: Rejection::cancelled(),
    }
}
