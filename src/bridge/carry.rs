//! Carries out the steps of a bridge at the gate.

use std::collections::VecDeque;

use crate::gate::{Agent, AgentGone, Gate, Settled, Talk, Upstream, UpstreamFault};
use crate::wire::{Id, Message, Stream};

use super::agent::Bridged;
use super::server_session::ServerSession;
use super::shared::Bridge;
use super::state::{Aside, Phase, State};
use super::step::{Step, Then};

impl Bridge {
    /// Does what a step says.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn carry_out<U: Upstream, A: Agent>(
        &self,
        gate: &Gate,
        talk: &Talk<U, Bridged<A>>,
        step: Step,
    ) -> Result<(), AgentGone> {
        let told = self.carry_to_gate(gate, talk, step).await;
        // The agent may have answered with its model.
        gate.let_go_on(talk);
        told
    }

    /// The conversation is over: what waits here is answered, once, and told why. To be called after the
    /// gate's own `conversation_ends`.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn conversation_ends<U: Upstream, A: Agent>(
        &self,
        gate: &Gate,
        talk: &Talk<U, Bridged<A>>,
        why: &UpstreamFault,
    ) -> Result<(), AgentGone> {
        let mut told = Ok(());
        loop {
            let step = self.state().last_step(why);
            let Some(step) = step else {
                return told;
            };
            told = told.and(Box::pin(self.carry_to_gate(gate, talk, step)).await);
        }
    }

    async fn carry_to_gate<U: Upstream, A: Agent>(
        &self,
        gate: &Gate,
        talk: &Talk<U, Bridged<A>>,
        step: Step,
    ) -> Result<(), AgentGone> {
        match step {
            Step::Pass {
                source,
                frame,
                cancels,
            } => {
                let stream = source.stream;
                gate.handle_from(talk, source, &frame).await?;
                if let Some(id) = cancels
                    && !gate.is_waiting(talk, &id, stream)
                {
                    self.forget(&id, stream);
                }
                Ok(())
            }
            Step::Settle {
                source,
                frame,
                spoken,
                answer,
                then,
            } => {
                let settled = gate.settle_here(talk, source, &frame, &spoken, answer);
                if settled.await? == Settled::Done {
                    self.settled(then);
                }
                Ok(())
            }
            Step::TurnBack {
                source,
                frame,
                refusal,
            } => {
                if refusal.is_reused_id() {
                    let limits = self.settings().from_agent;
                    let message = Message::decode(&frame, &limits).ok();
                    let id = message.and_then(|message| message.id().cloned());
                    self.state().aside = id.map(Aside);
                }
                let told = gate.turn_back(talk, source, &frame, refusal).await;
                self.state().aside = None;
                told
            }
            Step::TakeBack {
                stream,
                question,
                why,
            } => gate.take_back(talk, stream, question, why).await,
            Step::Release(stream) => {
                talk.agent.release(stream);
                Ok(())
            }
            Step::Revision(revision) => {
                gate.bridge(talk, revision);
                Ok(())
            }
        }
    }

    fn settled(&self, then: Then) {
        let mut state = self.state();
        let State { phase, steps, .. } = &mut *state;
        let session = match phase {
            Phase::Bridged(session) => session,
            Phase::Carried(session) => {
                settled_in_server_session(session, then, steps);
                return;
            }
            Phase::Apart | Phase::Sessions | Phase::Asked(_) | Phase::Probing(..) => return,
        };
        match then {
            Then::Nothing | Then::Listen(_) | Then::Leave(_) => {}
            Then::Level(level) => session.level = Some(level),
            Then::Begin => session.news.begin(),
            Then::Cancel(id) => {
                let call = session.close(&id, steps);
                let source = call.map(|call| call.source);
                if let Some(source) = source.or_else(|| session.news.cancel(&id)) {
                    steps.push_back(Step::Release(source.stream));
                }
            }
            Then::Follow(uri) => session.news.followed(uri),
            Then::Unfollow(uri) => {
                session.news.unfollow(&uri);
            }
        }
    }

    fn forget(&self, id: &Id, stream: Stream) {
        let mut state = self.state();
        let State { phase, steps, .. } = &mut *state;
        match phase {
            Phase::Bridged(session) => {
                session.close(id, steps);
            }
            Phase::Carried(session) => session.forget(id, stream),
            Phase::Apart | Phase::Sessions | Phase::Asked(_) | Phase::Probing(..) => {}
        }
    }
}

fn settled_in_server_session(session: &mut ServerSession, then: Then, steps: &mut VecDeque<Step>) {
    match then {
        Then::Listen(listener) => session.listen(listener),
        Then::Leave(listener) => {
            session.leave(&listener);
            steps.push_back(Step::Release(listener.stream));
        }
        Then::Nothing
        | Then::Level(_)
        | Then::Begin
        | Then::Cancel(_)
        | Then::Follow(_)
        | Then::Unfollow(_) => {}
    }
}
