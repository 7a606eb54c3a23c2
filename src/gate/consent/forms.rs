//! Forms that the agent's client shows.

use std::sync::Arc;

use crate::consent::TicketId;
use crate::session::{Admitted, AuditIds, Exchange, Origin, Reception};
use crate::wire::{Fragment, KnownMethod, Side};

use crate::gate::Gate;
use crate::gate::arrival::AnswerTo;
use crate::gate::faults::AgentGone;
use crate::gate::forward::{Agent, Upstream};
use crate::gate::own::{AnswerId, OwnMessage};
use crate::gate::permit::Permit;
use crate::gate::record::Trail;
use crate::gate::talk::Talk;

use super::answers::about;
use super::ask::Put;
use super::brought::KEY;
use super::why::Unconsented;

impl Gate {
    /// Lets the agent's client show a form, on the stream of the request.
    pub(super) async fn show<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        trail: &Trail,
        ticket: &TicketId,
        message: &str,
    ) -> Result<(), AgentGone> {
        let (minted, shown_on) = {
            let mut state = talk.session.state();
            let state = &mut *state;
            let mut waiting = state.waiting.asking.waiting.iter_mut();
            let Some(asked) = waiting.find(|it| *it.ticket == *ticket.as_str()) else {
                // It has been answered meanwhile.
                return Ok(());
            };
            let exchange = Exchange {
                received: Reception {
                    started: self.clock.elapsed(),
                    stream: asked.shown_on,
                    peer: trail.received.peer,
                },
                sent_on: asked.shown_on,
                ids: AuditIds {
                    span: None,
                    ..trail.ids.clone()
                },
                ..Exchange::own(
                    Origin::Consent(Arc::clone(&asked.ticket)),
                    KnownMethod::Elicit,
                    Arc::clone(&asked.snapshot),
                    self.clock.elapsed(),
                    asked.request.deadline,
                )
            };
            let Ok(Admitted(minted)) = state.waiting.to_agent.admit(exchange) else {
                return Ok(());
            };
            asked.form = Some(minted);
            (minted, asked.shown_on)
        };
        let message = OwnMessage::elicit(minted, form(message));
        self.tell(talk, Side::Agent, shown_on, message).await
    }

    /// Answers a request without a session by what its client is to show.
    pub(super) async fn ask_by_result<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        frame: &[u8],
        trail: &mut Trail,
        put: Put,
    ) -> Result<(), AgentGone> {
        let Some(desk) = &self.people.desk else {
            return Ok(());
        };
        let Put {
            ticket,
            binding,
            denial,
            message,
            reply,
            form: _,
        } = put;
        let sealed = match reply {
            None => Ok(desk.seal(&ticket, &binding)),
            Some(reply) => {
                let until = desk.until(&ticket).unwrap_or(trail.received.started);
                let until = until.saturating_add(desk.settings().timeout);
                let kept = reply.kept(
                    &talk.session,
                    ticket.clone(),
                    denial.clone(),
                    frame,
                    trail.server.run,
                );
                self.keep_reply(kept, until)
            }
        };
        let state = match sealed {
            Ok(state) => state,
            Err(refusal) => {
                let told = desk.withdraw(&ticket);
                if let Some(denial) = refusal.denial() {
                    self.close_question(trail, ticket.as_str(), denial, told.as_ref(), &refusal)
                        .await;
                }
                return self.refuse(talk, trail, refusal).await;
            }
        };
        let closing = about(&denial, trail.closing(ticket.as_str()));
        self.people.along.add(ticket.clone(), closing);
        if !desk.is_taken_along(&ticket) {
            // It is void, and has been forgotten.
            self.people.along.has_come_back(&ticket);
        }
        let why = Unconsented::Asked;
        let refusal = why.rejection(denial);
        let record = trail.refused(&refusal, self.clock.elapsed());
        if let Err(fault) = self.recorder.record(record).await {
            return self.refuse(talk, trail, fault.into()).await;
        }
        let asker = match &trail.envelope.answer_to {
            AnswerTo::Asker(_, asker) | AnswerTo::Waiting(_, asker) => asker,
            AnswerTo::None | AnswerTo::Unreadable => return Ok(()),
        };
        let id = AnswerId::Json(asker.id.json());
        let message = OwnMessage::input_required(id, KEY, form(&message), &state);
        let secrets = &self.settings.secrets;
        let permit = Permit::own(Side::Agent, trail.received.stream, message, secrets);
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
