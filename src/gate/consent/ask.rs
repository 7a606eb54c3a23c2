//! Asking: a question on the desk, and a form where the agent's client shows one.

use std::sync::Arc;

use crate::audit::{self, Event};
use crate::consent::{Binding, Question, Request, TicketId, Way};
use crate::policy::{Denial, PolicySnapshot};
use crate::session::{Admitted, Asked, Exchange, Origin, Parked, Spoken, Target, Task, Turn};
use crate::wire::{Fragment, KnownMethod, Side};

use super::super::Gate;
use super::super::decide::Permit;
use super::super::forward::{Agent, AgentGone, Upstream};
use super::super::own::{AnswerId, OwnMessage};
use super::super::parked::PARKED_FRAMES;
use super::super::record::{AnswerTo, Trail};
use super::super::refuse::Refusal;
use super::super::talk::Talk;
use super::bound::KEY;
use super::why::Unconsented;

/// A request that a person is to be asked about.
#[derive(Debug)]
pub(in crate::gate) struct Asking {
    pub(super) binding: Binding,
    pub(super) question: Question,
    pub(super) denial: Denial,
    pub(super) snapshot: Arc<PolicySnapshot>,
    pub(super) form: Form,
}

/// Too many requests wait for people already, or too large ones.
#[derive(Debug, Clone, Copy)]
struct NoRoom;

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
        trail: &Trail,
        asking: Asking,
    ) -> Result<(), AgentGone> {
        let Some(desk) = &self.desk else {
            let denial = asking.denial;
            return self.refuse(talk, trail, Refusal::Denied { denial }).await;
        };
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
            ..
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
        let record = trail.consent(Event::Asked, &ticket, &denial, &snapshot);
        if let Err(fault) = self.audit.record(self.concealed(record)).await {
            desk.withdraw(&ticket);
            return self.refuse(talk, trail, fault.into()).await;
        }
        if form == Form::Result {
            let state = desk.seal(&ticket, &binding);
            let why = Unconsented::Asked;
            return self
                .ask_by_result(talk, trail, denial, why, &message, &state)
                .await;
        }
        let deadline = desk.until(&ticket).unwrap_or(trail.started);
        let Some(asker) = trail.asker() else {
            desk.withdraw(&ticket);
            return Ok(());
        };
        let waiting = Asked {
            ticket: ticket.as_str().into(),
            request: Parked {
                asker: asker.clone(),
                stream: trail.stream,
                peer: trail.peer,
                trace: trail.told_by_http,
                carrier: trail.carrier.clone(),
                frame: frame.to_vec(),
                version: trail.version.clone(),
                target: trail.target.clone(),
                started: trail.started,
                deadline,
                cancelled: false,
            },
            reference: Arc::clone(&trail.reference),
            denial,
            snapshot,
            form: None,
        };
        if self.wait(talk, waiting).is_err() {
            desk.withdraw(&ticket);
            let refusal = Refusal::TooMany(self.settings.max_in_flight);
            return self.refuse(talk, trail, refusal).await;
        }
        // It may have been answered before it waited.
        talk.session.bell().notify_one();
        if form == Form::Request {
            return self.show(talk, trail, &ticket, &message).await;
        }
        Ok(())
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
        talk.session.arm(&state, Some(asked.request.deadline));
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
        let minted = {
            let mut state = talk.session.state();
            let state = &mut *state;
            let mut waiting = state.asking.waiting.iter_mut();
            let Some(asked) = waiting.find(|it| *it.ticket == *ticket.as_str()) else {
                // It has been answered meanwhile.
                return Ok(());
            };
            let exchange = Exchange {
                origin: Origin::Consent(Arc::clone(&asked.ticket)),
                stream: trail.stream,
                sent_on: trail.stream,
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
            minted
        };
        let message = OwnMessage::elicit(minted, form(message));
        self.tell(talk, Side::Agent, trail.stream, message).await
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
