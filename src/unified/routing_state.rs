//! The requests that an agent and several servers have sent each other and not answered.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep};

use super::cursor::Continued;
use super::list_changes::ListChanges;
use super::merge::{self, ServerAnswer};
use super::name_map::NameMap;
use super::subscribed_names;
use crate::gate::{Carried, Permit, Source};
use crate::wire::{Id, KnownMethod, Message, Stream};

/// "Method not found" (JSON-RPC 2.0 §5.1).
const METHOD_NOT_FOUND: i64 = -32_601;

/// Bytes of one subscription that are held; further messages are dropped.
const MAX_HELD_BYTES: usize = 1 << 20;

#[derive(Default)]
pub(super) struct RoutingState {
    /// The agent's requests.
    pub(super) requests: HashMap<RequestKey, RoutedRequest>,
    /// Requests of servers to the agent, by their ids here.
    questions: HashMap<u64, Question>,
    latest_question: u64,
    /// How far each server is.
    pub(super) progress: Vec<ServerState>,
    /// The agent's `initialize`.
    pub(super) initialize: Option<SentToAll>,
    /// The agent's `notifications/initialized`.
    pub(super) initialized: Option<(Source, Bytes)>,
    /// The agent's latest `logging/setLevel`.
    pub(super) set_level: Option<SentToAll>,
    pub(super) list_changes: ListChanges,
}

/// A request of the agent's that servers get which come after it.
pub(super) type SentToAll = (RequestKey, Source, Bytes);

/// A request of the agent's: its stream where ids belong to streams, and its id.
pub(super) type RequestKey = (Stream, Id);

/// A request to the agent: its server's number, and the id that its gate minted. Two gates mint the same ids.
pub(super) type Question = (usize, u64);

/// How far the conversation with one server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerState {
    /// It has not answered `initialize`.
    Initializing,
    /// Messages may go to it.
    Ready,
    Ended,
}

/// A request of the agent's that waits.
pub(super) struct RoutedRequest {
    pub(super) method: KnownMethod,
    pub(super) stream: Stream,
    pub(super) recipients: Recipients,
}

/// The servers that answer a request.
pub(super) enum Recipients {
    One(usize),
    All(Box<FanOut>),
}

/// The answers of several servers to one request.
pub(super) struct FanOut {
    /// Servers that have not answered.
    pub(super) open: BTreeSet<usize>,
    /// Servers that did not get the request, or have not answered with a result.
    pub(super) missing: BTreeSet<usize>,
    results: Vec<(ServerAnswer, Permit)>,
    /// The servers' acknowledgements of a subscription (since 2026-07-28).
    acknowledged: Vec<(ServerAnswer, Permit)>,
    is_acknowledged: bool,
    /// Messages of the subscription that came before the merged acknowledgement.
    held: Vec<Permit>,
    held_bytes: usize,
    /// The servers' cursors in the request, of a list.
    continued: Continued,
    /// The first answer that is an error.
    error: Option<Permit>,
    /// After it, one result is enough.
    deadline: Instant,
    is_late: bool,
    /// The agent has its answer.
    pub(super) is_answered: bool,
}

impl RoutingState {
    /// One more server; yields its number.
    pub(super) fn add_server(&mut self, begun: ServerState) -> usize {
        self.progress.push(begun);
        self.progress.len().saturating_sub(1)
    }

    /// The `initialize` for a server that came after the agent had sent it. Its answer is awaited as a late one.
    pub(super) fn begin_late(&mut self, server: usize) -> Option<SentToAll> {
        let initialize = self.initialize.clone()?;
        self.send_late(server, KnownMethod::Initialize, initialize)
    }

    /// The same for `logging/setLevel`.
    pub(super) fn set_level_late(&mut self, server: usize) -> Option<SentToAll> {
        let set_level = self.set_level.clone()?;
        self.send_late(server, KnownMethod::SetLevel, set_level)
    }

    fn send_late(
        &mut self,
        server: usize,
        method: KnownMethod,
        sent: SentToAll,
    ) -> Option<SentToAll> {
        let (key, source, _) = &sent;
        let request = self.requests.entry(key.clone());
        let request = request.or_insert_with(|| RoutedRequest {
            method,
            stream: source.stream,
            recipients: Recipients::All(Box::new(FanOut::answered())),
        });
        match &mut request.recipients {
            Recipients::All(fan_out) if request.method == method => {
                fan_out.open.insert(server);
                Some(sent)
            }
            // The agent has used this id again.
            Recipients::All(_) | Recipients::One(_) => None,
        }
    }

    pub(super) fn is_ready(&self, server: usize) -> bool {
        self.progress.get(server) == Some(&ServerState::Ready)
    }

    pub(super) fn is_there(&self, server: usize) -> bool {
        self.progress.get(server) != Some(&ServerState::Ended)
    }

    /// The answers of several servers to this request.
    pub(super) fn fan_out(&mut self, key: &RequestKey) -> Option<&mut FanOut> {
        match &mut self.requests.get_mut(key)?.recipients {
            Recipients::All(fan_out) => Some(fan_out),
            Recipients::One(_) => None,
        }
    }

    /// The next deadline.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let asked = self.requests.values();
        let deadlines = asked.filter_map(|it| match &it.recipients {
            Recipients::All(fan_out) if !fan_out.is_late => Some(fan_out.deadline),
            Recipients::All(_) | Recipients::One(_) => None,
        });
        deadlines.chain(self.list_changes.next_deadline()).min()
    }

    /// The id of a question for the agent.
    pub(super) fn number_question(&mut self, question: Question) -> u64 {
        self.latest_question = self.latest_question.saturating_add(1);
        self.questions.insert(self.latest_question, question);
        self.latest_question
    }

    /// A question that the agent answers, by its id here.
    pub(super) fn take_question(&mut self, id: u64) -> Option<Question> {
        self.questions.remove(&id)
    }

    /// A question that its server has withdrawn; yields the agent's id of it.
    pub(super) fn withdraw_question(&mut self, question: Question) -> Option<u64> {
        let mut asked = self.questions.iter();
        let (id, _) = asked.find(|(_, it)| **it == question)?;
        let id = *id;
        self.questions.remove(&id);
        Some(id)
    }

    pub(super) fn end_server(&mut self, server: usize) {
        self.set_state(server, ServerState::Ended);
        self.questions.retain(|_, (of, _)| *of != server);
    }

    /// The requests that this server has not answered.
    pub(super) fn open_at(&self, server: usize) -> Vec<RequestKey> {
        let waits = |request: &RoutedRequest| match &request.recipients {
            Recipients::One(of) => *of == server,
            Recipients::All(fan_out) => fan_out.open.contains(&server),
        };
        let open = self.requests.iter().filter(|(_, request)| waits(request));
        open.map(|(key, _)| key.clone()).collect()
    }

    pub(super) fn set_state(&mut self, server: usize, progress: ServerState) {
        if let Some(known) = self.progress.get_mut(server) {
            *known = progress;
        }
    }
}

impl FanOut {
    pub(super) fn new(deadline: Instant, continued: Continued) -> Self {
        Self {
            open: BTreeSet::new(),
            missing: BTreeSet::new(),
            results: Vec::new(),
            acknowledged: Vec::new(),
            is_acknowledged: false,
            held: Vec::new(),
            held_bytes: 0,
            continued,
            error: None,
            deadline,
            is_late: false,
            is_answered: false,
        }
    }

    /// Of a request that the agent has its answer to.
    fn answered() -> Self {
        Self {
            is_answered: true,
            is_late: true,
            ..Self::new(sleep(Duration::ZERO).deadline(), Continued::default())
        }
    }

    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        self.is_late |= self.deadline <= now;
        self.is_late
    }

    pub(super) fn add(
        &mut self,
        method: KnownMethod,
        (server, message): (usize, Message),
        permit: Permit,
    ) {
        if message.result().is_some() {
            self.results
                .push((ServerAnswer { server, message }, permit));
            return;
        }
        // A server without this method has no part that could be missing. One that needs a session has lists.
        let is_without = matches!(
            permit.passage().carried,
            Carried::Reply {
                error: Some(METHOD_NOT_FOUND),
                ..
            }
        );
        if !is_without || method == KnownMethod::Discover {
            self.missing.insert(server);
        }
        self.error.get_or_insert(permit);
    }

    /// The answer, once there is one.
    fn answer(&mut self, method: KnownMethod, names: &NameMap) -> Option<Permit> {
        let lasts = method == KnownMethod::SubscriptionsListen;
        let is_enough = method == KnownMethod::Ping || self.is_late && !lasts;
        if self.is_answered || !(self.open.is_empty() || is_enough && !self.results.is_empty()) {
            return None;
        }
        if self.results.is_empty() && self.error.is_none() {
            return None;
        }
        self.is_answered = true;
        self.results.sort_by_key(|(part, _)| part.server);
        let (parts, permits): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.results).into_iter().unzip();
        let Some(first) = permits.into_iter().next() else {
            return self.error.take();
        };
        let missing = self.missing.union(&self.open).copied();
        let missing: Vec<usize> = missing.filter(|server| names.is_there(*server)).collect();
        let again = self.continued.iter();
        let again = again.filter(|(server, _)| missing.contains(server));
        let again: Continued = again.cloned().collect();
        let greets = matches!(method, KnownMethod::Initialize | KnownMethod::Discover);
        let merged = if greets {
            merge::greeting(&parts, &missing, names)
        } else {
            merge::list(method, &parts, (&missing, again), names)
        };
        Some(match merged {
            Some(line) => first.answering(line, None),
            // Such results are empty.
            None => first,
        })
    }

    /// A server answers no more.
    pub(super) fn lose(&mut self, server: usize) {
        self.open.remove(&server);
        self.missing.insert(server);
    }

    /// The messages that the agent can get now.
    pub(super) fn next(&mut self, method: KnownMethod, names: &NameMap) -> Vec<Permit> {
        let mut told = self.acknowledgement(names);
        told.extend(self.answer(method, names));
        told
    }

    /// A server has taken its part of a subscription.
    pub(super) fn acknowledge(&mut self, server: usize, message: Message, permit: Permit) {
        if !self.is_acknowledged {
            self.acknowledged
                .push((ServerAnswer { server, message }, permit));
        }
    }

    /// The merged acknowledgement once it is complete, and the messages held for it.
    pub(super) fn acknowledgement(&mut self, names: &NameMap) -> Vec<Permit> {
        let is_whole = self.acknowledged.len() >= self.open.len();
        if self.is_acknowledged || !(is_whole || self.is_late) {
            return Vec::new();
        }
        self.is_acknowledged = true;
        let (parts, permits): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.acknowledged).into_iter().unzip();
        let line = subscribed_names::acknowledgement(&parts, names);
        let whole = permits.first().zip(line);
        let whole =
            whole.map(|(first, line)| first.translated(line, first.passage().carried.clone()));
        whole
            .into_iter()
            .chain(std::mem::take(&mut self.held))
            .collect()
    }

    /// Passes a message of a subscription, or holds it until the acknowledgement.
    pub(super) fn hold_or_pass(&mut self, permit: Permit) -> Option<Permit> {
        if self.is_acknowledged {
            return Some(permit);
        }
        let bytes = self.held_bytes.saturating_add(permit.line().len());
        if bytes <= MAX_HELD_BYTES {
            self.held_bytes = bytes;
            self.held.push(permit);
        }
        None
    }

    /// Whether no server's answer is awaited. Each one is to what changes a server: `initialize` makes it ready.
    pub(super) fn is_complete(&self, method: KnownMethod) -> bool {
        let is_awaited = matches!(method, KnownMethod::Initialize | KnownMethod::SetLevel);
        self.open.is_empty() || self.is_answered && !is_awaited
    }
}
