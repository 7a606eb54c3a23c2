//! What is under way between an agent and several servers.

use std::collections::{BTreeSet, HashMap};

use bytes::Bytes;
use tokio::time::Instant;

use super::cursor::Continued;
use super::merge::{self, ServerAnswer};
use super::naming::Naming;
use crate::gate::{Carried, Permit, Source};
use crate::wire::{Id, KnownMethod, Message, Stream};

/// "Method not found" (JSON-RPC 2.0 §5.1).
const NO_METHOD: i64 = -32_601;

/// Bytes of one subscription before it is acknowledged; further messages are dropped.
const MOST_HELD: usize = 1 << 20;

#[derive(Default)]
pub(super) struct Waiting {
    /// The agent's requests.
    pub(super) asked: HashMap<RequestKey, WaitingRequest>,
    /// Requests of servers to the agent, by their ids here.
    questions: HashMap<u64, Question>,
    latest_question: u64,
    /// How far each server is.
    pub(super) progress: Vec<Progress>,
    /// What the agent has said once it was greeted.
    pub(super) initialized: Option<(Source, Bytes)>,
}

/// A request of the agent's: its stream where ids belong to streams, and its id.
pub(super) type RequestKey = (Stream, Id);

/// A request to the agent: its server's number, and the id that its gate minted. Two gates mint the same ids.
pub(super) type Question = (usize, u64);

/// How far the conversation with one server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// It has not answered `initialize`.
    Begun,
    /// Messages may go to it.
    Ready,
    Ended,
}

/// A request of the agent's that waits.
pub(super) struct WaitingRequest {
    pub(super) method: KnownMethod,
    pub(super) stream: Stream,
    pub(super) of: Of,
}

/// Who answers it.
pub(super) enum Of {
    One(usize),
    All(Box<Gathering>),
}

/// The answers of several servers to one request.
pub(super) struct Gathering {
    /// Servers that have not answered.
    pub(super) open: BTreeSet<usize>,
    /// Those that could not be asked, or have no answer that is a result.
    pub(super) missing: BTreeSet<usize>,
    results: Vec<(ServerAnswer, Permit)>,
    /// What servers say of a subscription before anything else (since 2026-07-28).
    acknowledged: Vec<(ServerAnswer, Permit)>,
    is_acknowledged: bool,
    /// What of it comes after that, and came before.
    held: Vec<Permit>,
    held_bytes: usize,
    /// Where the lists that the agent goes on with go on at each server.
    continued: Continued,
    /// The first answer that is none.
    error: Option<Permit>,
    /// When those who have answered wait for others no more.
    deadline: Instant,
    is_late: bool,
    /// The agent has its answer.
    pub(super) is_answered: bool,
}

impl Waiting {
    pub(super) fn of(progress: Vec<Progress>) -> Self {
        Self {
            progress,
            ..Self::default()
        }
    }

    pub(super) fn is_ready(&self, server: usize) -> bool {
        self.progress.get(server) == Some(&Progress::Ready)
    }

    pub(super) fn is_there(&self, server: usize) -> bool {
        self.progress.get(server) != Some(&Progress::Ended)
    }

    /// What several servers answer to this request.
    pub(super) fn gathering(&mut self, key: &RequestKey) -> Option<&mut Gathering> {
        match &mut self.asked.get_mut(key)?.of {
            Of::All(gathering) => Some(gathering),
            Of::One(_) => None,
        }
    }

    /// When the first request waits for no server any more.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let asked = self.asked.values();
        let deadlines = asked.filter_map(|it| match &it.of {
            Of::All(gathering) if !gathering.is_late => Some(gathering.deadline),
            Of::All(_) | Of::One(_) => None,
        });
        deadlines.min()
    }

    /// The id that the agent is asked under.
    pub(super) fn ask(&mut self, question: Question) -> u64 {
        self.latest_question = self.latest_question.saturating_add(1);
        self.questions.insert(self.latest_question, question);
        self.latest_question
    }

    /// A question that the agent answers, by its id here.
    pub(super) fn answered(&mut self, id: u64) -> Option<Question> {
        self.questions.remove(&id)
    }

    /// A question that its server needs no answer to any more; yields its id here.
    pub(super) fn withdrawn(&mut self, question: Question) -> Option<u64> {
        let mut asked = self.questions.iter();
        let (id, _) = asked.find(|(_, it)| **it == question)?;
        let id = *id;
        self.questions.remove(&id);
        Some(id)
    }

    pub(super) fn ended(&mut self, server: usize) {
        self.now(server, Progress::Ended);
        self.questions.retain(|_, (of, _)| *of != server);
    }

    /// The requests that this server has not answered.
    pub(super) fn open_at(&self, server: usize) -> Vec<RequestKey> {
        let waits = |request: &WaitingRequest| match &request.of {
            Of::One(of) => *of == server,
            Of::All(gathering) => gathering.open.contains(&server),
        };
        let open = self.asked.iter().filter(|(_, request)| waits(request));
        open.map(|(key, _)| key.clone()).collect()
    }

    pub(super) fn now(&mut self, server: usize, progress: Progress) {
        if let Some(known) = self.progress.get_mut(server) {
            *known = progress;
        }
    }
}

impl Gathering {
    pub(super) fn until(deadline: Instant, continued: Continued) -> Self {
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

    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        self.is_late |= self.deadline <= now;
        self.is_late
    }

    pub(super) fn add(&mut self, server: usize, message: Message, permit: Permit) {
        if message.result().is_some() {
            self.results
                .push((ServerAnswer { server, message }, permit));
            return;
        }
        // A server without such lists lacks nothing.
        if !matches!(
            permit.passage().carried,
            Carried::Reply {
                error: Some(NO_METHOD),
                ..
            }
        ) {
            self.missing.insert(server);
        }
        self.error.get_or_insert(permit);
    }

    /// The answer, once there is one.
    fn answer(&mut self, method: KnownMethod, naming: &Naming) -> Option<Permit> {
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
        let missing: Vec<usize> = self.missing.union(&self.open).copied().collect();
        let again = self.continued.iter();
        let again = again.filter(|(server, _)| missing.contains(server));
        let again: Continued = again.cloned().collect();
        let greets = matches!(method, KnownMethod::Initialize | KnownMethod::Discover);
        let merged = if greets {
            merge::greeting(&parts, &missing, naming)
        } else {
            merge::list(method, &parts, (&missing, again), naming)
        };
        Some(match merged {
            Some(line) => first.answering(line, None),
            // What says only that it is done.
            None => first,
        })
    }

    /// A server answers no more.
    pub(super) fn lose(&mut self, server: usize) {
        self.open.remove(&server);
        self.missing.insert(server);
    }

    /// What the agent can be told now.
    pub(super) fn next(&mut self, method: KnownMethod, naming: &Naming) -> Vec<Permit> {
        let mut told = self.acknowledgement(naming);
        told.extend(self.answer(method, naming));
        told
    }

    /// A server has taken its part of a subscription.
    pub(super) fn acknowledge(&mut self, server: usize, message: Message, permit: Permit) {
        if !self.is_acknowledged {
            self.acknowledged
                .push((ServerAnswer { server, message }, permit));
        }
    }

    /// What all of them have taken, once it is known, and what was held for it.
    pub(super) fn acknowledgement(&mut self, naming: &Naming) -> Vec<Permit> {
        let is_whole = self.acknowledged.len() >= self.open.len();
        if self.is_acknowledged || !(is_whole || self.is_late) {
            return Vec::new();
        }
        self.is_acknowledged = true;
        let (parts, permits): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.acknowledged).into_iter().unzip();
        let line = merge::acknowledgement(&parts, naming);
        let whole = permits.first().zip(line);
        let whole =
            whole.map(|(first, line)| first.translated(line, first.passage().carried.clone()));
        whole
            .into_iter()
            .chain(std::mem::take(&mut self.held))
            .collect()
    }

    /// What belongs to a subscription, or nothing while it is held.
    pub(super) fn in_turn(&mut self, permit: Permit) -> Option<Permit> {
        if self.is_acknowledged {
            return Some(permit);
        }
        let bytes = self.held_bytes.saturating_add(permit.line().len());
        if bytes <= MOST_HELD {
            self.held_bytes = bytes;
            self.held.push(permit);
        }
        None
    }

    /// Whether no answer matters any more. One to `initialize` always does: the server is there from then on.
    pub(super) fn is_over(&self, method: KnownMethod) -> bool {
        self.open.is_empty() || self.is_answered && method != KnownMethod::Initialize
    }
}
