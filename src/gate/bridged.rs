//! What the bridge between the eras asks of the gate besides the path of a message.
//!
//! Most of what an agent of the session era sends has a counterpart, and takes the path like
//! everything else. What has none (`ping`, `logging/setLevel`) is judged all the same, and goes no
//! further; what cannot be carried is refused. All of it is recorded.

use std::sync::Arc;

use crate::session::{Asker, Spoken};
use crate::wire::{ArrivalForm, Era, Fragment, Id, KnownMethod, Method, Shape, Side, Stream};

use super::arrival::{AnswerTo, Arrival, Source};
use super::classified::{Identified, Role, Scene, asker};
use super::consent::note_roots;
use super::context::RequestContext;
use super::eras::is_stateless;
use super::faults::AgentGone;
use super::forward::{Agent, Upstream};
use super::identify::called_by_bridge;
use super::look::Look;
use super::own::{AnswerId, Occasion, OwnMessage};
use super::panics::{self, Panicked};
use super::query::Asks;
use super::record::Trail;
use super::rejection::{Property, Rejection};
use super::stop::Stop;
use super::talk::Talk;
use super::{Gate, questions};

/// What became of a message that goes no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// Policy permits it, and whoever asked has been answered.
    Done,
    /// It was refused, and whoever asked has been told.
    Refused,
}

/// The answer to a request that goes no further, if policy permits it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerHere {
    Empty,
    Result(Fragment),
    /// Changes of these lists are told on the stream of the request (`notifications` of
    /// `notifications/subscriptions/acknowledged`).
    Subscribed(Fragment),
}

impl Gate {
    /// A bridge stands before the agent, which speaks this revision; or none does any more.
    pub fn bridge<U, A>(&self, talk: &Talk<U, A>, revision: Option<Arc<str>>) {
        talk.session.state().protocol.bridged = revision;
        talk.introduce();
    }

    /// Judges a message that the server has no counterpart for. One that is permitted is answered so, if it is
    /// a request.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn settle_here<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        source: Source,
        frame: &[u8],
        spoken: &Spoken,
        answer: AnswerHere,
    ) -> Result<Settled, AgentGone> {
        let _in_hand = talk.session.take_in_hand();
        let stream = source.stream;
        let mut trail = self.begin_from(talk, source);
        let judged = self.judge_here(talk, (stream, frame), spoken, answer, &mut trail);
        let judged = panics::caught(judged).await;
        self.settle_rates(&mut trail).await;
        let stopped = match judged {
            Ok(Ok(answer)) => {
                if let Some(answer) = answer {
                    self.tell(talk, Side::Agent, stream, answer).await?;
                }
                self.after(talk, &mut trail).await?;
                return Ok(Settled::Done);
            }
            Ok(Err(stop)) => stop,
            Err(Panicked) => Rejection::panicked().into(),
        };
        let refusal = match stopped {
            Stop::Refused(refusal) => refusal,
            // No call of a tool is settled here, so that nothing waits for a list, the model or a person.
            Stop::Park | Stop::Hold | Stop::Ask(_) | Stop::Elsewhere | Stop::Settled => {
                Rejection::panicked()
            }
            Stop::AgentGone => return Err(AgentGone),
        };
        self.refuse(talk, &trail, refusal).await?;
        Ok(Settled::Refused)
    }

    /// Refuses a message of the agent's, or a request of its own that was let through and cannot be
    /// brought to its end.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn turn_back<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        source: Source,
        frame: &[u8],
        refusal: Rejection,
    ) -> Result<(), AgentGone> {
        let _in_hand = talk.session.take_in_hand();
        let stream = source.stream;
        let mut trail = self.begin_from(talk, source);
        let refusal = match self.decode(talk, Side::Agent, frame, &mut trail) {
            Ok(message) => {
                let method = message.method().and_then(Method::known);
                let asks =
                    |method| questions::ask(method, Asks::Agent, message.params(), Look::AWAY);
                if let Some(Ok((target, _))) = method.map(asks) {
                    let current = self.policy.current();
                    trail.asks(&target, &message, self.content_recorder(&current));
                }
                refusal
            }
            Err(unreadable) => unreadable,
        };
        if refusal.has(Property::Cancelled) {
            trail.envelope.answer_to = AnswerTo::None;
            talk.agent.release(stream);
        }
        self.refuse(talk, &trail, refusal).await
    }

    /// Tells the agent that a question is withdrawn which the bridge put to it under this id.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn take_back<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        stream: Stream,
        question: u64,
        why: &str,
    ) -> Result<(), AgentGone> {
        if let Err(fault) = self
            .record_own(talk, Occasion::Withdrawn, Side::Agent)
            .await
        {
            tracing::warn!("a cancellation could not be recorded, and is not sent: {fault}");
            return Ok(());
        }
        let cancel = OwnMessage::cancel(question, why);
        self.tell(talk, Side::Agent, stream, cancel).await
    }

    /// Whether a request of the agent's still waits, for the upstream or for the list of its tools.
    pub fn is_waiting<U, A>(&self, talk: &Talk<U, A>, id: &Id, stream: Stream) -> bool {
        let asker: Asker = talk.session.asker(id, stream);
        let state = talk.session.state();
        let mut parked = state.waiting.parked.iter();
        state.waiting.to_upstream.is_in_flight(&asker)
            || parked.any(|parked| parked.asker == asker && !parked.cancelled)
            || state.waiting.asking.waits_for(&asker)
    }

    fn begin_from<U, A>(&self, talk: &Talk<U, A>, source: Source) -> Trail {
        let arrival = Arrival::with(&source, Side::Agent, self.clock.elapsed());
        Trail::begin(talk, arrival).carried_by(source.carrier)
    }

    /// The steps of the path that are left; yields the answer.
    async fn judge_here<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        (stream, frame): (Stream, &[u8]),
        spoken: &Spoken,
        answer: AnswerHere,
        trail: &mut Trail,
    ) -> Result<Option<OwnMessage>, Stop> {
        let session = &talk.session;
        let message = self.decode(talk, Side::Agent, frame, trail)?;
        let era = if is_stateless(&spoken.version) {
            Era::Stateless
        } else {
            Era::Legacy
        };
        let role = match message.shape() {
            Shape::Request { id, method } => Role::Request {
                asker: asker(session, Side::Agent, id, stream),
                method: of_an_agent(method, era)?,
            },
            Shape::Notification { method } => Role::Notification {
                method: of_an_agent(method, era)?,
            },
            Shape::Reply { .. } => return Err(Rejection::stray().into()),
        };
        let is_request = matches!(role, Role::Request { .. });
        let (kept, fault) = self.stores.ratchet.kept(session).await;
        let mut scene = Scene::of(&session.state(), spoken.clone(), kept);
        scene.peer = trail.received.peer;
        if era == Era::Stateless {
            scene.agent = called_by_bridge(&scene.agent, trail.carried.headers.client.as_ref());
        }
        let identified = Identified {
            message: &message,
            from: Side::Agent,
            stream,
            form: ArrivalForm::Whole,
            role,
            of_listed_type: false,
            scene,
        };
        trail.identified(talk, &identified, Side::Agent);
        trail.sensitivity.store_fault = fault;
        let snapshot = self.policies_with_roots(session).await;
        let snapshot = snapshot.map_err(Rejection::from)?;
        let recalled = self.recall(&identified, session);
        let mut cx = self.context(talk, identified, frame, &snapshot, trail);
        self.chains.all.on_classified(&mut cx)?;
        self.understand(&mut cx, &recalled)?;
        Box::pin(self.chains.all.authorize(&mut cx)).await?;
        let RequestContext {
            understood, trail, ..
        } = cx;
        let record = trail.settled(self.clock.elapsed());
        self.recorder.record(record).await?;
        note_roots(&understood.identified, session);
        let id = message.id().filter(|_| is_request);
        Ok(id.map(|id| match answer {
            AnswerHere::Empty => OwnMessage::done(AnswerId::Json(id.json())),
            AnswerHere::Result(result) => OwnMessage::result(AnswerId::Json(id.json()), result),
            AnswerHere::Subscribed(lists) => OwnMessage::subscribed(id, lists),
        }))
    }
}

/// A method that an agent may send in this era.
fn of_an_agent(method: &Method, era: Era) -> Result<KnownMethod, Rejection> {
    method
        .known()
        .filter(|known| known.sent_by_in(Side::Agent, era))
        .ok_or_else(|| Rejection::unknown_method(method.name()))
}
