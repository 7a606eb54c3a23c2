//! Requests that wait before they are judged: until the gate knows what the server speaks, or which tools
//! there are, or until the agent's model has worked for the server.

use std::sync::Arc;
use std::time::Duration;

use tracing::warn;

use crate::session::{Asker, Attempt, Awaits, Lifecycle, Parked, Session};
use crate::wire::{Message, Method, Side};

use super::Gate;
use super::arrival::{AnswerTo, Arrival, Source};
use super::consent::Brought;
use super::eras::Awaited;
use super::faults::{AgentGone, UpstreamFault};
use super::forward::{Agent, TakenOver, Upstream};
use super::record::Trail;
use super::rejection::Rejection;
use super::talk::Talk;

/// How many frames of the greatest length may wait; of shorter ones as many as may
/// be in flight.
pub(super) const PARKED_FRAMES: usize = 4;

/// How a request ceased to wait, unless it was cancelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Over {
    /// Its time.
    Time,
    /// The conversation, for this reason: nobody lists tools any more.
    Conversation(UpstreamFault),
}

impl Gate {
    /// Lets a request wait, but not longer than it may take in all.
    pub(super) async fn park<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        frame: &[u8],
        trail: &mut Trail,
        awaits: Awaits,
    ) -> Result<(), AgentGone> {
        if let Err(fault) = talk.reachable(Side::Upstream) {
            self.settle_rates(trail).await;
            return self.refuse(talk, trail, fault.into()).await;
        }
        let awaited = match awaits {
            Awaits::Model => Ok(None),
            Awaits::Upstream => self.stores.eras.awaited(&talk.session, trail).map(Some),
        };
        let awaited = match awaited {
            Ok(awaited) => awaited,
            Err(refusal) => {
                if self.give_over(talk, frame, trail, &refusal).await == TakenOver::Yes {
                    return Ok(());
                }
                self.settle_rates(trail).await;
                return self.refuse(talk, trail, refusal).await;
            }
        };
        let agreed_to = self.put_by(trail);
        let version = trail.stateless_version(&talk.session);
        let current = self.policy.current();
        let most = self.terms(&current).max_in_flight;
        let deadline = trail
            .received
            .started
            .saturating_add(self.terms(&current).timeout(&trail.about.target));
        let full = {
            let mut state = talk.session.state();
            let waiting: usize = state
                .waiting
                .parked
                .iter()
                .map(|parked| parked.frame.len())
                .sum();
            let full = state.waiting.parked.len() >= most
                || waiting > PARKED_FRAMES * self.settings.from_agent.max_bytes;
            if let (false, Some(asker)) = (full, trail.asker()) {
                let mut parked = trail.as_it_came(asker, frame, deadline);
                parked.awaits = awaits;
                parked.carried.version = version;
                parked.agreed_to = agreed_to;
                talk.session.arm(&state, Some(deadline));
                state.waiting.parked.push_back(parked);
            }
            full
        };
        if full {
            self.settle_rates(trail).await;
            return self.refuse(talk, trail, Rejection::too_many(most)).await;
        }
        match awaited {
            None => self.let_go_on(talk),
            Some(Awaited::Catalogue) => {
                let begins = talk.session.state().lists.tools.begin_fetch();
                if begins {
                    self.fetch(talk, None).await;
                }
            }
            Some(Awaited::Era(version)) => {
                let begins = talk.session.state().protocol.probe.begin();
                if begins {
                    self.discover(talk, &version).await;
                }
            }
        }
        Ok(())
    }

    /// Judges what waited, from its first byte. Not called by whoever reads the
    /// upstream: it may have to wait until the upstream reads.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn resume<U: Upstream, A: Agent>(&self, talk: &Talk<U, A>) -> Result<(), AgentGone> {
        let _in_hand = talk.session.take_in_hand();
        // Those that have to wait again are behind these.
        let waiting = talk.session.state().waiting.parked.len();
        for _ in 0..waiting {
            // One at a time: the id of a call that waits is taken.
            let next = talk.session.state().waiting.parked.pop_front();
            let Some(parked) = next else { break };
            if parked.cancelled || parked.deadline <= self.clock.elapsed() {
                self.end_parked(talk, &parked, Over::Time).await?;
            } else {
                let arrival = came(&parked);
                let mut trail = Trail::begin(talk, arrival)
                    .known_as(Arc::clone(&parked.ids.reference))
                    .carried_by(parked.carried.headers.clone());
                trail.belongs_to(&parked.ids.correlation);
                trail.comes_again(&parked);
                self.take_along(&parked, &mut trail);
                self.owes(&talk.session, &mut trail);
                self.handle_on(talk, arrival, &parked.frame, &mut trail)
                    .await?;
            }
        }
        let mut state = talk.session.state();
        state.lists.tools.retry_fetch();
        state.protocol.probe.retry();
        Ok(())
    }

    /// Ends all calls that wait: there is nobody any more who could list tools. They are not judged,
    /// since that may have to wait for a server that nobody reads.
    pub(super) async fn end_all_parked<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        why: &UpstreamFault,
    ) -> Result<(), AgentGone> {
        let over = Over::Conversation(why.clone());
        let waiting = std::mem::take(&mut talk.session.state().waiting.parked);
        let mut told = Ok(());
        for parked in waiting {
            told = told.and(self.end_parked(talk, &parked, over.clone()).await);
        }
        told
    }

    /// Ends a call that was cancelled while it waited, or that has waited too long: it has one
    /// decision and never goes out.
    pub(super) async fn end_parked<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        parked: &Parked,
        over: Over,
    ) -> Result<(), AgentGone> {
        // It has cost what a request costs that comes to nothing; one that was sent was paid for.
        if parked.attempt == Attempt::First {
            self.charge_for(&talk.session).await;
        }
        let mut trail =
            Trail::begin(talk, came(parked)).known_as(Arc::clone(&parked.ids.reference));
        trail.retry.attempt = parked.attempt;
        trail.belongs_to(&parked.ids.correlation);
        if parked.cancelled {
            // Nobody comes again for what it had.
            self.take_along(parked, &mut trail);
        }
        if let Ok(message) = Message::decode(&parked.frame, &self.settings.from_agent) {
            trail.decoded(talk, &message, Side::Agent);
            let current = self.policy.current();
            trail.asks(&parked.target, &message, self.content_recorder(&current));
            trail.envelope.method = message.method().and_then(Method::known);
            trail.needs(&parked.target, &talk.session, &current);
        }
        let refusal = if parked.cancelled {
            // Who cancels expects no answer.
            trail.envelope.answer_to = AnswerTo::None;
            talk.agent.release(parked.received.stream);
            Rejection::cancelled()
        } else {
            match over {
                Over::Time if parked.awaits == Awaits::Model => {
                    Rejection::blocked_during_sampling()
                }
                Over::Time => {
                    warn!(
                        reference = &*trail.ids.reference,
                        "timed out before the upstream had told what it speaks, or listed its tools"
                    );
                    let allowed = parked.deadline.saturating_sub(parked.received.started);
                    UpstreamFault::TimedOut(allowed).into()
                }
                Over::Conversation(why) => why.into(),
            }
        };
        self.refuse(talk, &trail, refusal).await
    }
}

fn came(parked: &Parked) -> Arrival {
    let source = Source {
        peer: parked.received.peer,
        trace: parked.carried.trace,
        ..Source::on(parked.received.stream)
    };
    Arrival::with(&source, Side::Agent, parked.received.started)
}

impl Trail {
    /// A call that was not taken when it was sent the first time has what it had then.
    fn comes_again(&mut self, parked: &Parked) {
        self.retry.attempt = parked.attempt;
        self.consent.agreed.clone_from(&parked.agreed);
        if self.consent.agreed.is_some() {
            self.consent.brought = Brought::Spent;
        }
    }

    /// The revision that a request of the stateless era names.
    fn stateless_version(&self, session: &Session) -> Option<Arc<str>> {
        let stateless = matches!(session.state().protocol.lifecycle, Lifecycle::New);
        self.carried.version.clone().filter(|_| stateless)
    }

    /// A request that is to wait until then, with all that it came with.
    pub(super) fn as_it_came(&self, asker: &Asker, frame: &[u8], deadline: Duration) -> Parked {
        Parked {
            awaits: Awaits::Upstream,
            asker: asker.clone(),
            received: self.received,
            carried: self.carried.clone(),
            ids: self.ids.clone(),
            frame: frame.to_vec(),
            target: self.about.target.clone(),
            deadline,
            cancelled: false,
            agreed_to: None,
            attempt: self.retry.attempt,
            agreed: self
                .consent
                .agreed
                .clone()
                .filter(|_| self.retry.attempt == Attempt::Second),
        }
    }

    /// Who asked, while it may still be answered.
    pub(super) fn asker(&self) -> Option<&Asker> {
        match &self.envelope.answer_to {
            AnswerTo::Asker(_, asker) => Some(asker),
            AnswerTo::None | AnswerTo::Waiting(..) | AnswerTo::Unreadable => None,
        }
    }

    /// The same, and which side it is.
    pub(super) fn asked_by(&self) -> Option<(Side, &Asker)> {
        match &self.envelope.answer_to {
            AnswerTo::Asker(side, asker) => Some((*side, asker)),
            AnswerTo::None | AnswerTo::Waiting(..) | AnswerTo::Unreadable => None,
        }
    }
}
