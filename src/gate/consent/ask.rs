//! Asking: a question on the desk, and a form where the agent's client shows one.

use std::sync::Arc;
use std::time::Duration;

use crate::audit::{self, Event};
use crate::consent::{Binding, Question, Request, TicketId, Way};
use crate::policy::{Denial, PolicySnapshot};
use crate::session::{
    Admitted, Asked, AskedStage, Exchange, Origin, Progress, Spoken, Target, Task, Turn,
};
use crate::wire::{Fragment, KnownMethod, Side, Stream};

use super::super::Gate;
use super::super::decide::Permit;
use super::super::forward::{Agent, AgentGone, Upstream};
use super::super::isolate;
use super::super::own::{AnswerId, OwnMessage};
use super::super::parked::PARKED_FRAMES;
use super::super::record::{AnswerTo, Trail};
use super::super::refuse::Refusal;
use super::super::talk::Talk;
use super::bound::KEY;
use super::why::Unconsented;

/// How often who waits for a person is told that it still does.
pub(super) const TELLS_EVERY: Duration = Duration::from_secs(5);

/// A request that a person is to be asked about.
#[derive(Debug)]
pub(in crate::gate) struct Asking {
    pub(super) binding: Binding,
    pub(super) question: Question,
    pub(super) denial: Denial,
    pub(super) snapshot: Arc<PolicySnapshot>,
    pub(super) form: Form,
    pub(super) shown_on: Stream,
    /// JSON text.
    pub(super) progress: Option<String>,
}

/// Too many requests wait for people already, or too large ones.
#[derive(Debug, Clone, Copy)]
struct NoRoom;

/// What became of a request while its question was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begun {
    Waits,
    /// Its agent is answered now, and brings it again.
    Answered,
    Cancelled,
    Gone,
}

/// How the agent's client is asked to show a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// It has not said that it shows any.
    None,
    /// By a request, in a session.
    Request,
    /// By a result that asks for more, without one.
    Result,
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
        let Some(desk) = &self.desk else {
            let denial = asking.denial;
            return self.refuse(talk, trail, Refusal::Denied { denial }).await;
        };
        // Nobody need be asked for a server that is gone.
        if let Some(fault) = isolate::asker_gone(&talk.session, trail) {
            return self.refuse(talk, trail, fault.into()).await;
        }
        let settings = desk.settings();
        let form = if settings.has(Way::Elicitation) {
            asking.form
        } else {
            Form::None
        };
        let Asking {
            binding,
            question,
            denial,
            snapshot,
            shown_on,
            progress,
            form: _,
        } = asking;
        // Whoever sits before the agent's client knows places as the agent does.
        let message = question.message();
        let roots = &snapshot.labels().roots;
        let message = roots.outward(&message).unwrap_or(message);
        let ticket = if form == Form::None && !settings.has(Way::Page) {
            Err(Unconsented::NoWay)
        } else {
            let bell = Arc::clone(talk.session.bell());
            let request = Request {
                binding: binding.clone(),
                question,
                bell,
            };
            desk.ask(request).map_err(Unconsented::Full)
        };
        let ticket = match ticket {
            Ok(ticket) => ticket,
            Err(why) => {
                let refusal = Refusal::Unconsented { denial, why };
                return self.refuse(talk, trail, refusal).await;
            }
        };
        let Some((from, asker)) = trail.asked_by() else {
            desk.withdraw(&ticket);
            return Ok(());
        };
        let waiting = Asked {
            from,
            ticket: ticket.as_str().into(),
            request: trail.as_it_came(asker, frame, desk.until(&ticket).unwrap_or(trail.started)),
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
            run: trail.run,
        };
        // Before it is recorded, or a cancellation that comes meanwhile would be one of nothing.
        if self.wait(talk, waiting).is_err() {
            desk.withdraw(&ticket);
            let refusal = Refusal::TooMany(self.settings.max_in_flight);
            return self.refuse(talk, trail, refusal).await;
        }
        let record = trail.consent(Event::Asked, &ticket, &denial, &snapshot);
        let recorded = self.audit.record(self.concealed(record)).await;
        let begun = Self::begin_to_wait(talk, &ticket, form);
        match (begun, recorded) {
            // The server has ended meanwhile: it has been answered.
            (Begun::Gone, _) => Ok(()),
            (Begun::Cancelled, _) => {
                desk.withdraw(&ticket);
                self.cancelled_in_time(talk, trail).await
            }
            (Begun::Waits | Begun::Answered, Err(fault)) => {
                talk.session.state().asking.take(ticket.as_str());
                desk.withdraw(&ticket);
                self.refuse(talk, trail, fault.into()).await
            }
            (Begun::Answered, Ok(())) => {
                let state = desk.seal(&ticket, &binding);
                let why = Unconsented::Asked;
                self.ask_by_result(talk, trail, denial, why, &message, &state)
                    .await
            }
            (Begun::Waits, Ok(())) => {
                // It may have been answered before it waited.
                talk.session.bell().notify_one();
                if form == Form::Request {
                    return self.show(talk, trail, &ticket, &message).await;
                }
                Ok(())
            }
        }
    }

    /// A question is recorded: its request waits from now on, unless it is to come back by itself.
    fn begin_to_wait<U, A>(talk: &Talk<U, A>, ticket: &TicketId, form: Form) -> Begun {
        let mut state = talk.session.state();
        let mut waiting = state.asking.waiting.iter_mut();
        let Some(asked) = waiting.find(|it| *it.ticket == *ticket.as_str()) else {
            return Begun::Gone;
        };
        if asked.request.cancelled || form == Form::Result {
            let taken = state.asking.take(ticket.as_str());
            let cancelled = taken.is_some_and(|asked| asked.request.cancelled);
            return if cancelled {
                Begun::Cancelled
            } else {
                Begun::Answered
            };
        }
        asked.stage = AskedStage::Asked;
        let due = state.asking.next_deadline();
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
            talk.agent.release(trail.stream);
        }
        trail.answer_to = AnswerTo::Nobody;
        self.refuse(talk, trail, Refusal::Cancelled).await
    }

    /// Takes a request among those that wait for a person, if there is room.
    fn wait<U, A>(&self, talk: &Talk<U, A>, asked: Asked) -> Result<(), NoRoom> {
        let mut state = talk.session.state();
        let parked: usize = state.parked.iter().map(|parked| parked.frame.len()).sum();
        let bytes = parked.saturating_add(state.asking.bytes());
        if state.asking.waiting.len() >= self.settings.max_in_flight
            || bytes > PARKED_FRAMES * self.settings.from_agent.max_bytes
        {
            return Err(NoRoom);
        }
        state.asking.waiting.push(asked);
        Ok(())
    }

    /// Lets the agent's client show a form, on the stream of the request.
    async fn show<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        trail: &Trail,
        ticket: &TicketId,
        message: &str,
    ) -> Result<(), AgentGone> {
        let (minted, shown_on) = {
            let mut state = talk.session.state();
            let state = &mut *state;
            let mut waiting = state.asking.waiting.iter_mut();
            let Some(asked) = waiting.find(|it| *it.ticket == *ticket.as_str()) else {
                // It has been answered meanwhile.
                return Ok(());
            };
            let exchange = Exchange {
                origin: Origin::Consent(Arc::clone(&asked.ticket)),
                stream: asked.shown_on,
                sent_on: asked.shown_on,
                peer: trail.peer,
                span: None,
                agent: None,
                method: KnownMethod::Elicit,
                offered: None,
                target: Target::Server,
                snapshot: Arc::clone(&asked.snapshot),
                progress_token: None,
                cursor: None,
                spoken: Spoken::default(),
                turn: Turn::default(),
                task: Task::None,
                agreed: None,
                brings: Arc::default(),
                started: self.clock.elapsed(),
                deadline: Some(asked.request.deadline),
                reference: Arc::clone(&trail.reference),
                correlation: Vec::new(),
            };
            let Ok(Admitted(minted)) = state.to_agent.admit(exchange) else {
                return Ok(());
            };
            asked.form = Some(minted);
            (minted, asked.shown_on)
        };
        let message = OwnMessage::elicit(minted, form(message));
        self.tell(talk, Side::Agent, shown_on, message).await
    }

    /// Answers a request without a session by what its client is to show.
    async fn ask_by_result<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        trail: &Trail,
        denial: Denial,
        why: Unconsented,
        message: &str,
        state: &str,
    ) -> Result<(), AgentGone> {
        let refusal = Refusal::Unconsented { denial, why };
        let record = trail.refused(&refusal, self.clock.elapsed());
        if let Err(fault) = self.audit.record(self.concealed(record)).await {
            return self.refuse(talk, trail, fault.into()).await;
        }
        let AnswerTo::Asker(_, asker) = &trail.answer_to else {
            return Ok(());
        };
        let id = AnswerId::Json(asker.id.json());
        let message = OwnMessage::input_required(id, KEY, form(message), state);
        let secrets = &self.settings.secrets;
        let permit = Permit::own(Side::Agent, trail.stream, message, secrets);
        talk.agent.deliver(permit).await
    }
}

/// A form with one field, which says no unless a person changes it.
fn form(message: &str) -> Fragment {
    let approve = Fragment::object([
        ("type", Fragment::string("boolean")),
        ("title", Fragment::string("Let it happen")),
        ("default", Fragment::falsehood()),
    ]);
    let schema = Fragment::object([
        ("type", Fragment::string("object")),
        ("properties", Fragment::object([("approve", approve)])),
        ("required", Fragment::array([Fragment::string("approve")])),
    ]);
    Fragment::object([
        ("mode", Fragment::string("form")),
        ("message", Fragment::string(message)),
        ("requestedSchema", schema),
    ])
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
            ticket: ticket.as_str().into(),
            by: None,
        });
        let policies = denial.reasons.iter();
        record.policies = policies.map(|one| one.policy.as_str().into()).collect();
        record.revision = Some(snapshot.revision().as_str().into());
        record
    }
}
