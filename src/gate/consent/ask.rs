//! Asking: a question on the desk, and a form where the agent's client shows one.

use std::sync::Arc;
use std::time::Duration;

use tracing::info;

use crate::audit::{self, AuditFault, Event};
use crate::consent::{Binding, Judged, Request, Settings, TicketId, Way};
use crate::policy::{Denial, PolicySnapshot};
use crate::session::{Asked, AskedStage, Asker, Origin, Progress};
use crate::wire::Side;

use crate::gate::arrival::AnswerTo;
use crate::gate::faults::AgentGone;
use crate::gate::forward::{Agent, Upstream};
use crate::gate::parked::PARKED_FRAMES;
use crate::gate::record::Trail;
use crate::gate::rejection::Rejection;
use crate::gate::stop::{Asking, Form, Reply};
use crate::gate::talk::Talk;
use crate::gate::{Gate, runs};

use super::kept_reply::take_out;
use super::why::Unconsented;

/// How often who waits for a person is told that it still does.
pub(super) const TELLS_EVERY: Duration = Duration::from_secs(5);

/// A question that was put to people.
#[derive(Debug)]
pub(super) struct Put {
    pub(super) ticket: TicketId,
    pub(super) binding: Binding,
    pub(super) denial: Denial,
    pub(super) form: Form,
    /// What a form says.
    pub(super) message: String,
    pub(super) reply: Option<Reply>,
}

/// What became of a request while its question was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begun {
    Waits,
    /// Its agent is answered now, and brings it again.
    Answered,
    Cancelled,
    Gone,
}

/// The form that its agent is shown, if any.
fn form_for(agent: &impl Agent, wanted: Form, settings: &Settings) -> Form {
    // A bridged agent that is shown a form of a result hears of no other answer.
    let is_deaf = wanted == Form::Result && agent.is_bridged();
    if settings.has(Way::Elicitation) && !(is_deaf && settings.has(Way::Page)) {
        wanted
    } else {
        Form::None
    }
}

impl Gate {
    /// Asks, and lets the request wait for the answer; or tells its agent to come back with one.
    pub(in crate::gate) async fn ask_people<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        frame: &[u8],
        trail: &mut Trail,
        asking: Asking,
    ) -> Result<(), AgentGone> {
        let Some(desk) = &self.people.desk else {
            let refusal = Rejection::denied(asking.denial);
            return self.refuse(talk, trail, refusal).await;
        };
        // Nobody need be asked for a server that is gone.
        let gone = match &asking.reply {
            Some(_) => runs::gone(&talk.session, trail.server.run),
            None => runs::asker_gone(&talk.session, trail),
        };
        if let Some(fault) = gone {
            return self.refuse(talk, trail, fault.into()).await;
        }
        let settings = desk.settings();
        let form = form_for(&talk.agent, asking.form, settings);
        let Asking {
            mut binding,
            mut question,
            anew,
            denial,
            snapshot,
            shown_on,
            progress,
            reply,
            form: _,
        } = asking;
        // The answer comes in the place of what the request goes on with, so that it begins anew.
        if let (Form::Result, Some(anew)) = (form, anew) {
            binding = binding.of_any_round();
            question.arguments = anew;
        }
        // Whoever sits before the agent's client knows places as the agent does.
        let message = question.message();
        let message = snapshot.labels().roots.outward(&message).unwrap_or(message);
        let ticket = if form == Form::None && !settings.has(Way::Page) {
            Err(Unconsented::NoWay)
        } else {
            let bell = Arc::clone(talk.session.bell());
            let judged = match &reply {
                Some(_) => Judged::ByThoseThatAdmittedIt,
                None => Judged::ByThoseInForce,
            };
            let request = Request {
                binding: binding.clone(),
                question,
                bell,
                judged,
            };
            desk.ask(request).map_err(Unconsented::NotAsked)
        };
        let ticket = match ticket {
            Ok(ticket) => ticket,
            Err(why) => {
                let refusal = why.rejection(denial);
                return self.refuse(talk, trail, refusal).await;
            }
        };
        // Others may be in force since it was judged.
        if *self.revision() != *binding.revision {
            desk.retire(&binding.revision);
        }
        let Some((from, asker)) = whose(trail, reply.as_ref()) else {
            desk.withdraw(&ticket);
            return Ok(());
        };
        let waiting = Asked {
            from,
            ticket: ticket.as_str().into(),
            request: trail.as_it_came(
                asker,
                frame,
                desk.until(&ticket).unwrap_or(trail.received.started),
            ),
            reply: reply.as_ref().map(Reply::replied),
            denial: denial.clone(),
            snapshot: Arc::clone(&snapshot),
            stage: AskedStage::BeingRecorded,
            shown_on,
            progress: progress.map(|token| Progress {
                token,
                told: 0,
                next: self.clock.elapsed().saturating_add(TELLS_EVERY),
            }),
            form: None,
            run: trail.server.run,
        };
        // Before it is recorded, or a cancellation that comes meanwhile would be one of nothing.
        if let Err(refusal) = self.wait(talk, waiting, reply.as_ref()) {
            desk.withdraw(&ticket);
            return self.refuse(talk, trail, refusal).await;
        }
        let record = trail.consent(Event::ConsentRequested, &ticket, &denial, &snapshot);
        let recorded = self.recorder.record(record).await;
        let put = Put {
            ticket,
            binding,
            denial,
            form,
            message,
            reply,
        };
        self.begins(talk, frame, trail, put, recorded).await
    }

    /// Goes on with a message whose question was recorded, or could not be.
    async fn begins<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        frame: &[u8],
        trail: &mut Trail,
        put: Put,
        recorded: Result<(), AuditFault>,
    ) -> Result<(), AgentGone> {
        let Some(desk) = &self.people.desk else {
            return Ok(());
        };
        let (ticket, form) = (&put.ticket, put.form);
        if recorded.is_ok() && desk.settings().has(Way::Page) {
            let method = put.binding.method.name();
            info!(
                "a question waits for an approver: {} about `{method}`",
                ticket.as_str()
            );
        }
        let begun = Self::begin_to_wait(talk, ticket, form);
        match (begun, recorded) {
            // The server has ended meanwhile: it has been answered.
            (Begun::Gone, _) => Ok(()),
            (Begun::Cancelled, recorded) => {
                let told = desk.withdraw(ticket);
                if recorded.is_ok() {
                    let (ticket, refusal) = (ticket.as_str(), Rejection::cancelled());
                    self.close_question(trail, ticket, &put.denial, told.as_ref(), &refusal)
                        .await;
                }
                match put.reply {
                    // Its request has been ended, and that was recorded.
                    Some(_) => Ok(()),
                    None => self.cancelled_in_time(talk, trail).await,
                }
            }
            (Begun::Waits, Err(fault)) => {
                talk.session.state().waiting.asking.take(ticket.as_str());
                desk.withdraw(ticket);
                match put.reply.as_ref().map(Reply::replied) {
                    Some(replied) => self.give_up_reply(talk, replied, fault.into()).await,
                    None => self.refuse(talk, trail, fault.into()).await,
                }
            }
            (Begun::Answered, Err(fault)) => {
                desk.withdraw(ticket);
                self.refuse(talk, trail, fault.into()).await
            }
            (Begun::Answered, Ok(())) => self.ask_by_result(talk, frame, trail, put).await,
            (Begun::Waits, Ok(())) => {
                // It may have been answered before it waited, or be void.
                talk.session.bell().notify_one();
                if form == Form::Request {
                    return self.show(talk, trail, ticket, &put.message).await;
                }
                Ok(())
            }
        }
    }

    /// A question is recorded: its request waits from now on, unless it is to come back by itself.
    fn begin_to_wait<U, A>(talk: &Talk<U, A>, ticket: &TicketId, form: Form) -> Begun {
        let mut state = talk.session.state();
        let mut waiting = state.waiting.asking.waiting.iter_mut();
        let Some(asked) = waiting.find(|it| *it.ticket == *ticket.as_str()) else {
            return Begun::Gone;
        };
        let reply = asked.reply;
        if asked.request.cancelled || form == Form::Result {
            let taken = state.waiting.asking.take(ticket.as_str());
            let cancelled = taken.is_some_and(|asked| asked.request.cancelled);
            return if cancelled || !take_out(&mut state, reply) {
                Begun::Cancelled
            } else {
                Begun::Answered
            };
        }
        asked.stage = AskedStage::Asked;
        if reply.is_some_and(|reply| !state.waiting.to_upstream.has_replied(reply.minted)) {
            state.waiting.asking.take(ticket.as_str());
            return Begun::Cancelled;
        }
        let due = state.waiting.asking.next_deadline();
        talk.session.arm(&state, due);
        Begun::Waits
    }

    /// Nobody wants a request any more that a person was about to be asked about.
    async fn cancelled_in_time<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        trail: &mut Trail,
    ) -> Result<(), AgentGone> {
        // Who cancels expects no answer.
        if matches!(trail.asked_by(), Some((Side::Agent, _))) {
            talk.agent.release(trail.received.stream);
        }
        trail.envelope.answer_to = AnswerTo::None;
        self.refuse(talk, trail, Rejection::cancelled()).await
    }

    /// Takes a request among those that wait for a person.
    ///
    /// # Errors
    /// [`Rejection`] where too many wait already, or too large ones.
    fn wait<U, A>(
        &self,
        talk: &Talk<U, A>,
        asked: Asked,
        reply: Option<&Reply>,
    ) -> Result<(), Rejection> {
        let most = self.terms(&asked.snapshot).max_in_flight;
        let mut state = talk.session.state();
        let parked: usize = state
            .waiting
            .parked
            .iter()
            .map(|parked| parked.frame.len())
            .sum();
        let bytes = parked.saturating_add(state.waiting.asking.bytes());
        if state.waiting.asking.waiting.len() >= most
            || bytes > PARKED_FRAMES * self.settings.from_agent.max_bytes
        {
            return Err(Rejection::too_many(most));
        }
        if let Some(reply) = reply {
            let (minted, exchange) = (reply.replied().minted, reply.exchange.clone());
            let waits = state.waiting.to_upstream.wait_replied(minted, exchange);
            waits.map_err(|_| Rejection::too_many(most))?;
        }
        state.waiting.asking.waiting.push(asked);
        Ok(())
    }
}

/// Whose message a person is asked about; of a result, who waits for it.
fn whose<'t>(trail: &'t Trail, reply: Option<&'t Reply>) -> Option<(Side, &'t Asker)> {
    let Some(reply) = reply else {
        return trail.asked_by();
    };
    match &reply.exchange.origin {
        Origin::Peer(asker) => Some((Side::Upstream, asker)),
        Origin::Catalogue
        | Origin::Discovery
        | Origin::Handshake
        | Origin::Trial(_)
        | Origin::Consent(_) => None,
    }
}

impl Trail {
    /// The record of something that became of a question.
    pub(super) fn consent(
        &self,
        event: Event,
        ticket: &TicketId,
        denial: &Denial,
        snapshot: &PolicySnapshot,
    ) -> audit::Record {
        let mut record = self.record_of_consent();
        record.event = Some(event);
        record.consent = Some(audit::Consent {
            ticket: Some(ticket.as_str().into()),
            ..audit::Consent::default()
        });
        let policies = denial.reasons.iter();
        record.policies = policies.map(|one| one.policy.as_str().into()).collect();
        record.revision = Some(snapshot.revision().as_str().into());
        record
    }
}
