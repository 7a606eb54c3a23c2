//! The questions that wait for an answer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::clock::Clock;

use super::binding::{Binding, Receipt};
use super::outcome::{Answer, AnswerError, Judged, Outcome, Void};
use super::question::Question;
use super::seal::{self, Seal};
use super::settings::{By, Settings, Way};
use super::ticket::TicketId;
use super::waiting::{Answered, Entry, State};

/// Every question of the gate, whichever way it is answered. Shared by all conversations, the page
/// and the command line; nothing waits while its lock is held.
#[derive(Debug)]
pub struct Desk {
    settings: Settings,
    clock: Arc<dyn Clock>,
    seal: Seal,
    state: Mutex<State>,
}

/// Something that needs a person's consent.
#[derive(Debug)]
pub struct Request {
    pub binding: Binding,
    pub question: Question,
    /// Rung when there is an answer.
    pub bell: Arc<Notify>,
    pub judged: Judged,
}

/// A question that waits, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    pub id: TicketId,
    pub question: Arc<Question>,
    /// Milliseconds since the Unix epoch.
    pub asked_at_ms: i64,
    /// The same: from then on no answer counts.
    pub expires_at_ms: i64,
}

/// Why nobody is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAsked {
    #[error("{0} questions of the same principal wait for an answer already")]
    OfPrincipal(usize),
    #[error("{0} questions wait for an answer already")]
    InAll(usize),
    #[error("the questions that wait for an answer take too much memory")]
    Memory,
    #[error("the gate is stopping")]
    Stopping,
}

/// What all questions may take in memory, in bytes.
const MOST_BYTES: usize = 16 << 20;

impl Desk {
    /// `seed` must be random, and known to nobody: what agents bring back is sealed with it.
    pub fn new(settings: Settings, clock: Arc<dyn Clock>, seed: [u8; 32]) -> Self {
        Self {
            settings,
            clock,
            seal: Seal::new(&seed),
            state: Mutex::default(),
        }
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Puts a question on the desk. Whoever asked [looks](Self::take) for the outcome when its bell
    /// rings or its time is over.
    ///
    /// # Errors
    /// [`NotAsked`] when too many questions wait, or the gate stops: then nobody is asked.
    pub fn ask(&self, request: Request) -> Result<TicketId, NotAsked> {
        let Request {
            binding,
            question,
            bell,
            judged,
        } = request;
        let now = self.clock.elapsed();
        let mut state = self.state();
        if state.stopping {
            return Err(NotAsked::Stopping);
        }
        state.clear(now);
        // What servers ask takes no place from what agents do.
        let of_principal = |entry: &&Entry| {
            entry.void.is_none()
                && entry.binding.principal == binding.principal
                && entry.binding.is_servers() == binding.is_servers()
        };
        let Settings {
            timeout,
            per_principal,
            in_all,
            ..
        } = self.settings;
        if state.open.values().filter(of_principal).count() >= per_principal {
            return Err(NotAsked::OfPrincipal(per_principal));
        }
        if state.open.values().filter(|it| it.void.is_none()).count() >= in_all {
            return Err(NotAsked::InAll(in_all));
        }
        let held: usize = state.open.values().map(|it| it.question.weight()).sum();
        if held.saturating_add(question.weight()) > MOST_BYTES {
            return Err(NotAsked::Memory);
        }
        let id = state.next(&self.seal);
        let number = state.last;
        let entry = Entry {
            id: id.clone(),
            binding,
            question: Arc::new(question),
            bell,
            asked_at_ms: self.clock.now().as_millisecond(),
            until: now.saturating_add(timeout),
            answered: None,
            void: None,
            is_along: false,
            judged,
        };
        state.open.insert(number, entry);
        state.numbers.insert(id.clone(), number);
        Ok(id)
    }

    /// The questions that wait for an answer, in the order in which they were asked; none where
    /// nobody may answer but the agents' clients.
    pub fn pending(&self) -> Vec<Pending> {
        if !self.settings.has(Way::Page) {
            return Vec::new();
        }
        let now = self.clock.elapsed();
        let now_ms = self.clock.now().as_millisecond();
        let state = self.state();
        let waiting = state.open.values();
        let waiting = waiting.filter(|entry| entry.is_unanswered() && now < entry.until);
        let pending = waiting.map(|entry| {
            let left = entry.until.saturating_sub(now).as_millis();
            Pending {
                id: entry.id.clone(),
                question: Arc::clone(&entry.question),
                asked_at_ms: entry.asked_at_ms,
                expires_at_ms: now_ms.saturating_add(i64::try_from(left).unwrap_or(i64::MAX)),
            }
        });
        pending.collect()
    }

    /// Answers a question. The first answer counts, and rings the bell of whoever asked.
    ///
    /// # Errors
    /// [`AnswerError`] when it changes nothing.
    pub fn answer(&self, id: &TicketId, answer: Answer, by: By) -> Result<(), AnswerError> {
        if !self.settings.has(by.via.way()) {
            return Err(AnswerError::NotThisWay);
        }
        let now = self.clock.elapsed();
        let at_ms = self.clock.now().as_millisecond();
        let until = now.saturating_add(self.settings.timeout);
        let mut state = self.state();
        let Some(entry) = state.entry(id) else {
            return Err(state.ended_as(id));
        };
        if entry.answered.is_some() {
            return Err(AnswerError::AlreadyAnswered);
        }
        if entry.void.is_some() {
            return Err(AnswerError::Withdrawn);
        }
        if now >= entry.until {
            return Err(AnswerError::Expired);
        }
        entry.answered = Some(Answered {
            answer,
            by,
            at_ms,
            until,
        });
        entry.bell.notify_one();
        Ok(())
    }

    /// Takes the outcome of a question, once there is one; the question is gone then. One that is
    /// not there any more has timed out.
    pub fn take(&self, id: &TicketId) -> Option<Outcome> {
        let now = self.clock.elapsed();
        self.state().take(id, now)
    }

    /// The same for whoever has no use for a yes, which stays where it is.
    pub fn take_what_is_no_yes(&self, id: &TicketId) -> Option<Outcome> {
        let now = self.clock.elapsed();
        let mut state = self.state();
        if state.is_granted(id) {
            return None;
        }
        state.take(id, now)
    }

    /// Keeps a yes that could not be made use of: its request had to wait, or came too often. It is no
    /// younger for that. As many are kept as questions may wait; then the oldest is forgotten, and its
    /// request is asked about again.
    pub fn keep(&self, receipt: Receipt) {
        let now = self.clock.elapsed();
        let mut state = self.state();
        state.kept.retain(|kept| now < kept.until());
        state.kept.push_back(receipt);
        if state.kept.len() > self.settings.in_all {
            state.kept.pop_front();
        }
    }

    /// Takes out the yes to this question, if it was kept.
    pub fn kept(&self, id: &TicketId) -> Option<Receipt> {
        self.take_kept(|receipt| receipt.ticket() == id)
    }

    /// Takes out a yes to this very request, if one was kept.
    pub fn kept_for(&self, binding: &Binding) -> Option<Receipt> {
        self.take_kept(|receipt| receipt.is_for(binding))
    }

    fn take_kept(&self, wanted: impl Fn(&Receipt) -> bool) -> Option<Receipt> {
        let now = self.clock.elapsed();
        let mut state = self.state();
        state.kept.retain(|kept| now < kept.until());
        let at = state.kept.iter().position(wanted)?;
        state.kept.remove(at)
    }

    /// Whether somebody has said yes, and the answer was not taken yet.
    pub fn is_granted(&self, id: &TicketId) -> bool {
        self.state().is_granted(id)
    }

    /// Whether a question has ended without an answer.
    pub fn is_over(&self, id: &TicketId) -> bool {
        let mut state = self.state();
        state.entry(id).is_none() && state.ended_as(id) != AnswerError::AlreadyAnswered
    }

    /// Nobody waits for the answer any more: none counts from now on. What somebody has answered
    /// before is told, and is good for nothing but the audit.
    pub fn withdraw(&self, id: &TicketId) -> Option<Outcome> {
        self.state().remove(id, AnswerError::Withdrawn)?.outcome()
    }

    /// Whoever asked has gone with it, and may come back: it stays until it is taken, also
    /// [when its time is over](Self::take_lapsed). `false` when it is not there any more.
    pub fn is_taken_along(&self, id: &TicketId) -> bool {
        let mut state = self.state();
        let entry = state.entry(id);
        entry.map(|entry| entry.is_along = true).is_some()
    }

    /// Takes the outcomes of those with which nobody has come back in time.
    pub fn take_lapsed(&self) -> Vec<(TicketId, Outcome)> {
        let now = self.clock.elapsed();
        self.state().take_along(|entry| entry.is_over(now))
    }

    /// Takes the outcomes of all with which nobody has come back.
    pub fn take_along(&self) -> Vec<(TicketId, Outcome)> {
        self.state().take_along(|_| true)
    }

    /// Asks nobody from now on: the gate stops. Whoever waits for an answer is told so, by its bell;
    /// answers that were given count.
    pub fn stop(&self) {
        let mut state = self.state();
        state.stopping = true;
        state.withdraw(Void::Stopping, |_| true);
    }

    /// These policies are in force no more: what they asked about is withdrawn, but for what is
    /// [judged by them to its end](Judged::ByThoseThatAdmittedIt).
    pub fn retire(&self, revision: &str) {
        let theirs = |entry: &Entry| {
            entry.judged == Judged::ByThoseInForce && *entry.binding.revision == *revision
        };
        self.state().withdraw(Void::Policies, theirs);
    }

    /// When a question's time is over: time since the clock was made.
    pub fn until(&self, id: &TicketId) -> Option<Duration> {
        self.state().entry(id).map(|entry| entry.until)
    }

    /// What an agent without a session is to bring back for this ticket, and for this request alone.
    pub fn seal(&self, id: &TicketId, binding: &Binding) -> String {
        self.seal.close(id, binding)
    }

    /// The ticket of a state that was sealed here for this very request.
    pub fn open(&self, state: &str, binding: &Binding) -> Option<TicketId> {
        self.seal.open(state, binding)
    }

    /// Whether a state claims to come from here.
    pub fn is_ours(state: &str) -> bool {
        seal::is_ours(state)
    }

    /// A panic while the lock was held leaves at most a number without its question.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
