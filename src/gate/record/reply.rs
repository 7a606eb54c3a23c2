//! A message that is, or was to be, the reply to a request: it is recorded as the outcome of that,
//! and whoever asked is told.

use std::sync::Arc;

use crate::audit::Record;
use crate::session::{Exchange, Origin};
use crate::wire::{Id, Likeness, Side, WireError};

use crate::gate::classified::asker;
use crate::gate::talk::Talk;

use super::{AnswerTo, Trail, kind};

impl Trail {
    /// The outcome of a request that got no reply.
    pub(in crate::gate) fn outcome<U, A>(talk: &Talk<U, A>, exchange: &Exchange) -> Self {
        let record = Record::new(kind::of_outcome(exchange.method)).within(&talk.scope());
        let began = (exchange.received.started, exchange.received.stream);
        let reference = Arc::clone(&exchange.ids.reference);
        let mut trail = Self::blank(talk.session.run(), reference, began, record);
        trail.envelope.method = Some(exchange.method);
        trail.received.peer = exchange.received.peer;
        trail.ids.span = exchange.ids.span;
        trail.answers(exchange);
        trail
    }

    /// The frame could not be read. If its id could, its sender learns of it; and if it was to be
    /// the reply to a request, the one who asked does.
    pub(in crate::gate) fn undecodable<U, A>(
        &mut self,
        talk: &Talk<U, A>,
        from: Side,
        error: &WireError,
    ) {
        self.unread(talk, from, (error.id.as_ref(), error.likeness));
    }

    /// The same of a message that the gate has not decoded.
    pub(in crate::gate) fn unread<U, A>(
        &mut self,
        talk: &Talk<U, A>,
        from: Side,
        (id, likeness): (Option<&Id>, Likeness),
    ) {
        let Some(id) = id else { return };
        let taken = match (from, likeness) {
            // Ids of the two sides may be equal: what asks, or may have been meant to, answers
            // nothing; and what answers is not itself answered.
            (Side::Upstream, Likeness::Reply | Likeness::Neither) => {
                talk.session.state().waiting.to_upstream.take(id)
            }
            (Side::Upstream, Likeness::Question | Likeness::Nothing) => None,
            (Side::Agent, Likeness::Reply) => {
                self.envelope.answer_to = AnswerTo::None;
                talk.session.state().waiting.to_agent.take(id)
            }
            (Side::Agent, Likeness::Question | Likeness::Neither | Likeness::Nothing) => {
                let asker = talk.session.asker(id, self.received.stream);
                self.envelope.answer_to = AnswerTo::Asker(Side::Agent, asker);
                None
            }
        };
        if let Some(taken) = taken {
            self.answers_unread(&taken.exchange, from);
        }
    }

    /// A server that asks under this id gets an error for it.
    pub(in crate::gate) fn asked_unread<U, A>(
        &mut self,
        talk: &Talk<U, A>,
        id: &Id,
        likeness: Likeness,
    ) {
        match likeness {
            Likeness::Question => {
                let asker = asker(&talk.session, Side::Upstream, id, self.received.stream);
                self.envelope.answer_to = AnswerTo::Asker(Side::Upstream, asker);
            }
            Likeness::Reply | Likeness::Neither | Likeness::Nothing => {}
        }
    }

    /// The message is the reply to the request with this id, which has waited with it.
    pub(in crate::gate) fn waited<U, A>(&mut self, talk: &Talk<U, A>, minted: u64) {
        let mut state = talk.session.state();
        let taken = state.waiting.to_upstream.take_replied(&Id::integer(minted));
        drop(state);
        if let Some(taken) = taken {
            self.answers_unread(&taken.exchange, Side::Upstream);
        }
    }

    fn answers_unread(&mut self, exchange: &Exchange, from: Side) {
        self.record.kind = kind::of_outcome(exchange.method);
        self.replies(exchange, from);
    }

    /// The message replies to a request: what becomes of it is told to the one who asked.
    pub(super) fn replies(&mut self, exchange: &Exchange, from: Side) {
        self.ids.reference = Arc::clone(&exchange.ids.reference);
        self.received.started = exchange.received.started;
        self.received.stream = exchange.received.stream;
        self.envelope.method = Some(exchange.method);
        self.ids.span = exchange.ids.span;
        self.answers(exchange);
        let side = match from {
            Side::Agent => Side::Upstream,
            Side::Upstream => Side::Agent,
        };
        match &exchange.origin {
            Origin::Peer(waiting) => {
                self.envelope.answer_to = AnswerTo::Waiting(side, waiting.clone());
            }
            own @ (Origin::Catalogue
            | Origin::Discovery
            | Origin::Handshake
            | Origin::Trial(_)
            | Origin::Consent(_)) => {
                self.envelope.asked_by_gate = Some(own.clone());
                // It goes no further than the gate.
                self.record.direction = None;
            }
        }
    }

    fn answers(&mut self, exchange: &Exchange) {
        if let Some(agent) = &exchange.admission.agent {
            self.sent_by(&agent.client.name);
        }
        self.record.reference = Some((&exchange.ids.reference).into());
        self.record.method = Some(exchange.method.name().into());
        self.record.revision = Some(exchange.admission.snapshot.revision().as_str().into());
        self.belongs_to(&exchange.ids.correlation);
        if let Some(call) = &exchange.about.call {
            self.is_call(Arc::clone(call));
        }
        self.is_agreed_to(exchange.admission.agreed.as_ref());
        self.about(&exchange.about.target);
    }
}
