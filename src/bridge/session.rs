//! A session that exists on the agent's side only.

use std::collections::HashMap;

use crate::gate::Rejection;
use crate::wire::{Fragment, Id, KnownMethod};

use super::call::{Call, Question};
use super::news::News;
use super::opening::Opening;
use super::step::Step;

/// What a bridge remembers between the messages of an agent.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) opening: Opening,
    /// The level that the agent set with `logging/setLevel`.
    pub(super) level: Option<Fragment>,
    /// Requests of the agent's that have not been answered.
    pub(super) calls: HashMap<Id, Call>,
    /// Bytes of requests that are kept to be repeated.
    pub(super) kept: usize,
    /// Questions put to the agent, by their ids.
    pub(super) questions: HashMap<Id, Question>,
    pub(super) latest_question: u64,
    pub(super) news: News,
}

impl Session {
    pub(super) fn new(opening: Opening, news: News) -> Self {
        Self {
            opening,
            level: None,
            calls: HashMap::new(),
            kept: 0,
            questions: HashMap::new(),
            latest_question: 0,
            news,
        }
    }

    /// Bytes of what servers noted and agents answered in rounds that go on.
    pub(super) fn held(&self) -> usize {
        let rounds = self.calls.values().filter_map(|call| call.round.as_ref());
        let texts = rounds.flat_map(|round| {
            let answers = round.asks.iter().filter_map(|ask| ask.answer.as_ref());
            answers.chain(&round.note)
        });
        texts.map(|text| text.as_str().len()).sum()
    }

    /// Whether the agent, or the bridge itself, waits for a reply under this id.
    pub(super) fn awaits(&self, id: &Id) -> bool {
        self.calls.contains_key(id) || self.news.awaits(id)
    }

    /// Whether the agent has yet to answer a question for a sample of its model.
    pub(super) fn samples(&self) -> bool {
        let rounds = self.calls.values().filter_map(|call| call.round.as_ref());
        let mut asks = rounds.flat_map(|round| &round.asks);
        asks.any(|ask| ask.method == KnownMethod::CreateMessage && ask.answer.is_none())
    }

    /// How many requests of the agent's wait.
    pub(super) fn waiting(&self) -> usize {
        self.calls.len().saturating_add(self.news.waiting())
    }

    pub(super) fn open(&mut self, id: Id, call: Call) {
        self.kept = self.kept.saturating_add(call.frame.len());
        self.calls.insert(id, call);
    }

    /// The request has come to its end: nothing that was asked for it need be answered.
    pub(super) fn close(&mut self, id: &Id, steps: &mut impl Extend<Step>) -> Option<Call> {
        let call = self.calls.remove(id)?;
        self.kept = self.kept.saturating_sub(call.frame.len());
        if let Some(round) = &call.round {
            for ask in &round.asks {
                if self.questions.remove(&Id::integer(ask.question)).is_some() {
                    steps.extend([Step::TakeBack {
                        stream: call.source.stream,
                        question: ask.question,
                        why: "the call that needed an answer is over",
                    }]);
                }
            }
        }
        Some(call)
    }

    /// The request cannot be brought to its end, and its agent is told why.
    pub(super) fn fail(
        &mut self,
        id: &Id,
        refusal: impl Into<Rejection>,
        steps: &mut impl Extend<Step>,
    ) {
        if let Some(call) = self.close(id, steps) {
            steps.extend([Step::TurnBack {
                source: call.source,
                frame: call.frame.into_bytes(),
                refusal: refusal.into(),
            }]);
        }
    }
}
