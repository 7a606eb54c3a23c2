//! What is on the desk, under its lock.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::binding::{Binding, Receipt};
use super::outcome::{Answer, AnswerError, Judged, Outcome, Void};
use super::question::Question;
use super::seal::Seal;
use super::settings::By;
use super::ticket::TicketId;

/// Ended tickets whose numbers are known, so that a second answer is told from a wrong number.
const MOST_ENDED: usize = 256;

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) last: u64,
    /// In the order in which they were asked.
    pub(super) open: BTreeMap<u64, Entry>,
    pub(super) numbers: BTreeMap<TicketId, u64>,
    pub(super) ended: VecDeque<(TicketId, AnswerError)>,
    /// Answers that could not be made use of yet, oldest first.
    pub(super) kept: VecDeque<Receipt>,
    /// Nobody is asked any more.
    pub(super) stopping: bool,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: TicketId,
    pub(super) binding: Binding,
    pub(super) question: Arc<Question>,
    pub(super) bell: Arc<Notify>,
    pub(super) asked_at_ms: i64,
    /// Time since the clock was made.
    pub(super) until: Duration,
    pub(super) answered: Option<Answered>,
    /// Set if it is withdrawn: then it has no answer, and gets none.
    pub(super) void: Option<Void>,
    /// Whoever asked is not here.
    pub(super) is_along: bool,
    pub(super) judged: Judged,
}

#[derive(Debug)]
pub(super) struct Answered {
    pub(super) answer: Answer,
    pub(super) by: By,
    pub(super) at_ms: i64,
    /// Until when a yes can be spent.
    pub(super) until: Duration,
}

impl Entry {
    /// Whether an answer would still count, if it came in time.
    pub(super) fn is_unanswered(&self) -> bool {
        self.answered.is_none() && self.void.is_none()
    }

    /// Whether there is no answer in time, or it can be used no more.
    pub(super) fn is_over(&self, now: Duration) -> bool {
        let answered = self.answered.as_ref();
        now >= answered.map_or(self.until, |answered| answered.until)
    }

    /// What it came to, where nobody has answered.
    fn silence(&self) -> Outcome {
        self.void.map_or(Outcome::TimedOut, Outcome::Withdrawn)
    }

    /// What somebody has answered.
    pub(super) fn outcome(self) -> Option<Outcome> {
        let Answered {
            answer,
            by,
            at_ms,
            until,
        } = self.answered?;
        Some(match answer {
            Answer::Deny => Outcome::Denied(by),
            Answer::Approve => {
                Outcome::Granted(Receipt::new(self.id, self.binding, by, at_ms, until))
            }
        })
    }
}

impl State {
    pub(super) fn is_granted(&mut self, id: &TicketId) -> bool {
        let answered = self.entry(id).and_then(|entry| entry.answered.as_ref());
        answered.is_some_and(|it| it.answer == Answer::Approve)
    }

    pub(super) fn take(&mut self, id: &TicketId, now: Duration) -> Option<Outcome> {
        let Some(entry) = self.entry(id) else {
            return Some(Outcome::TimedOut);
        };
        if entry.is_unanswered() && now < entry.until {
            return None;
        }
        let how = match entry.void {
            Some(_) => AnswerError::Withdrawn,
            None => AnswerError::Unknown,
        };
        let entry = self.remove(id, how)?;
        let silence = entry.silence();
        Some(entry.outcome().unwrap_or(silence))
    }

    pub(super) fn entry(&mut self, id: &TicketId) -> Option<&mut Entry> {
        let number = self.numbers.get(id)?;
        self.open.get_mut(number)
    }

    /// Takes out a question; an answer that comes later is told this, unless it had one.
    pub(super) fn remove(&mut self, id: &TicketId, how: AnswerError) -> Option<Entry> {
        let number = self.numbers.remove(id)?;
        let entry = self.open.remove(&number)?;
        let how = match entry.answered {
            Some(_) => AnswerError::AlreadyAnswered,
            None => how,
        };
        self.ended.push_back((id.clone(), how));
        if self.ended.len() > MOST_ENDED {
            self.ended.pop_front();
        }
        Some(entry)
    }

    pub(super) fn ended_as(&self, id: &TicketId) -> AnswerError {
        let ended = self.ended.iter().find(|(ended, _)| ended == id);
        ended.map_or(AnswerError::Unknown, |(_, how)| *how)
    }

    /// Drops what nobody came for. Of what its agent has taken along the end is to be told first.
    pub(super) fn clear(&mut self, now: Duration) {
        let over = self.open.values();
        let over = over.filter(|entry| entry.is_over(now) && !entry.is_along);
        let over: Vec<TicketId> = over.map(|entry| entry.id.clone()).collect();
        for id in over {
            self.remove(&id, AnswerError::Unknown);
        }
    }

    /// Takes out such of those whose agents have taken them along.
    pub(super) fn take_along(
        &mut self,
        is_such: impl Fn(&Entry) -> bool,
    ) -> Vec<(TicketId, Outcome)> {
        let left = self.open.values();
        let left = left.filter(|entry| entry.is_along && is_such(entry));
        let left: Vec<TicketId> = left.map(|entry| entry.id.clone()).collect();
        let taken = left.into_iter().filter_map(|id| {
            let entry = self.remove(&id, AnswerError::Unknown)?;
            let silence = entry.silence();
            Some((id, entry.outcome().unwrap_or(silence)))
        });
        taken.collect()
    }

    /// Withdraws what nobody has answered of those whose binding is such.
    pub(super) fn withdraw(&mut self, why: Void, is_void: impl Fn(&Entry) -> bool) {
        for entry in self.open.values_mut() {
            if entry.is_unanswered() && is_void(entry) {
                entry.void = Some(why);
                entry.bell.notify_one();
            }
        }
    }

    pub(super) fn next(&mut self, seal: &Seal) -> TicketId {
        loop {
            self.last = self.last.saturating_add(1);
            let id = TicketId::of_digits(&seal.digits(self.last));
            let taken = self.ended.iter().any(|(ended, _)| *ended == id);
            if !taken && !self.numbers.contains_key(&id) {
                return id;
            }
        }
    }
}
