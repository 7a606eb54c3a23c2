//! What the bridge remembers of the session, and of the requests in it.

use std::collections::{HashMap, VecDeque};

use crate::gate::{Rejection, Source, TakenOver};
use crate::wire::{Id, KnownMethod, Message, Stream, TransportHeaders};

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
    /// The id of its `initialize`, which no agent can guess.
    pub(super) handshake: Id,
    /// The source of what the bridge says for the session.
    source: Source,
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
    /// Begins the session for the first request that needs it. Without random bytes none is begun.
    pub(in super::super) fn begin(
        source: &Source,
        frame: &[u8],
        settings: &Settings,
        steps: &mut impl Extend<Step>,
    ) -> Option<Self> {
        let random = getrandom::u64().ok()?;
        let opened_by = Translated::of(source, frame, settings);
        let client = opened_by.client_info();
        let source = opened_by.of_session();
        let session = Self {
            handshake: Id::text(&format!("mcp-protector/session/{random:016x}")),
            source: Source {
                trace: None,
                carrier: TransportHeaders {
                    token: source.carrier.token.clone(),
                    client: source.carrier.client.clone(),
                    ..TransportHeaders::default()
                },
                ..source.clone()
            },
            greeting: None,
            waiting: VecDeque::new(),
            held: 0,
            calls: HashMap::new(),
            listeners: Vec::new(),
        };
        let initialize = words::initialize(&session.handshake, client);
        steps.extend([
            Step::Revision(Some(words::AGENTS_REVISION.into())),
            Step::Pass {
                source,
                frame: initialize.into_bytes(),
                cancels: None,
            },
        ]);
        Some(session)
    }

    /// What the bridge says of its own accord.
    pub(super) fn says(&self, line: String) -> Step {
        Step::Pass {
            source: self.source.clone(),
            frame: line.into_bytes(),
            cancels: None,
        }
    }

    /// The latest token of its agents is shown for the session.
    pub(super) fn shows(&mut self, source: &Source) {
        if let Some(token) = &source.carrier.token {
            self.source.carrier.token = Some(token.clone());
            self.source.peer = source.peer;
        }
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
        self.shows(&source);
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

    pub(in super::super) fn next_waiting(&mut self) -> Option<(Source, Vec<u8>)> {
        self.waiting.pop_front()
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
    pub(in super::super) fn hung_up(&mut self, stream: Stream, steps: &mut VecDeque<Step>) {
        for step in steps.iter_mut() {
            let (Step::Pass { source, frame, .. } | Step::Settle { source, frame, .. }) = step
            else {
                continue;
            };
            if source.stream == stream {
                let frame = std::mem::take(frame);
                *step = cancelled((source.clone(), frame));
            }
        }
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
