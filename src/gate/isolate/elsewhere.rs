//! What servers say that the session does not speak to, and what waits for them: it has left them, or
//! may go there.

use tracing::warn;

use crate::session::{Instance, LeftBehind, Origin, Waits};
use crate::wire::{self, ArrivalForm, Id, Likeness, Message, Shape, Side, Stream, WireError};

use crate::gate::arrival::Arrival;
use crate::gate::asking::lending;
use crate::gate::classified::Role;
use crate::gate::faults::{AgentGone, UpstreamFault};
use crate::gate::forward::{Agent, Upstream};
use crate::gate::own::OwnMessage;
use crate::gate::query::Understood;
use crate::gate::record::Trail;
use crate::gate::rejection::{INVALID_REQUEST, Rejection};
use crate::gate::stage::Stage;
use crate::gate::stop::Stop;
use crate::gate::talk::Talk;
use crate::gate::{Gate, apart, rounds, tasks};

use super::leave_for_good;

impl Gate {
    /// Takes a frame of a server that is not spoken to: a reply that is waited for goes on its way, and
    /// nothing else is heard.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn handle_elsewhere<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        instance: Instance,
        (stream, form): (Stream, ArrivalForm),
        frame: &[u8],
    ) -> Result<(), AgentGone> {
        let limits = &self.settings.from_upstream;
        let room = self.memory.room_to_judge(frame, limits.max_nodes).await;
        let (message, answered) = match room {
            Some(_) => read(apart::work(frame.len(), || Message::decode(frame, limits))),
            None => (None, answered(wire::seems(frame))),
        };
        drop(room);
        let answered = answered.and_then(|id| minted(&id));
        // INVARIANT: what both servers say is taken in one after the other, so that the one that
        // is spoken to cannot answer in its place.
        let is_awaited = talk
            .session
            .state()
            .waiting
            .to_upstream
            .answer_elsewhere(instance, answered);
        if is_awaited {
            drop(message);
            let arrival = Arrival::of_the_server(stream, form, self.clock.elapsed());
            let mut trail = Trail::begin(talk, arrival);
            trail.take_instance(talk, instance);
            let told = self.handle_on(talk, arrival, frame, &mut trail).await;
            talk.session
                .state()
                .waiting
                .to_upstream
                .answered_elsewhere();
            told?;
        } else {
            let arrival = Arrival::of_the_server(stream, form, self.clock.elapsed());
            self.unheard(talk, instance, arrival, message).await;
        }
        leave_for_good(talk);
        Ok(())
    }

    /// A server that is not spoken to will not reply to this one request, by the id that the gate minted.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn failed_elsewhere<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        instance: Instance,
        minted: u64,
        fault: UpstreamFault,
    ) -> Result<(), AgentGone> {
        let _in_hand = talk.session.take_in_hand();
        let taken = talk
            .session
            .state()
            .waiting
            .to_upstream
            .take_one_elsewhere(instance, minted);
        let told = match taken {
            Some(taken) => self.fails(talk, &taken, fault).await,
            None => Ok(()),
        };
        leave_for_good(talk);
        told
    }

    /// An instance of the server has ended, wherever the session is by now: what waits for it is answered.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn lost<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        instance: Instance,
        why: UpstreamFault,
    ) -> Result<(), AgentGone> {
        if talk.session.run().instance == instance {
            self.upstream_lost(talk, why).await
        } else {
            self.lost_elsewhere(talk, instance, &why).await
        }
    }

    /// A server has ended that is not spoken to: what waits for it is answered.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn died_elsewhere<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        instance: Instance,
    ) -> Result<(), AgentGone> {
        self.lost_elsewhere(talk, instance, &UpstreamFault::Died)
            .await
    }

    /// The same where more is known of why.
    pub(in crate::gate) async fn lost_elsewhere<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        instance: Instance,
        why: &UpstreamFault,
    ) -> Result<(), AgentGone> {
        let waiting = talk
            .session
            .state()
            .waiting
            .to_upstream
            .take_elsewhere(instance);
        talk.session.state().connection.greeted.take(instance);
        let mut told = Ok(());
        for taken in waiting {
            let refusal: Rejection = why.clone().into();
            if taken.exchange.origin.is_gate() {
                self.close(talk, &taken, &refusal).await;
            } else {
                told = told.and(self.give_up(talk, Side::Agent, &taken, refusal).await);
            }
        }
        leave_for_good(talk);
        told
    }

    /// Ends what belongs to the server that is left and cannot be brought along.
    pub(super) async fn give_up_left<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        left: LeftBehind,
    ) -> Result<(), AgentGone> {
        let mut told = Ok(());
        for changed in left.lists {
            told = told.and(self.tell_of_other_list(talk, changed).await);
        }
        for taken in left.given_up {
            let refusal: Rejection = UpstreamFault::Left.into();
            match taken.exchange.origin {
                Origin::Peer(_) => {
                    told = told.and(self.give_up(talk, Side::Agent, &taken, refusal).await);
                }
                // What the next server lists or speaks is asked for when a request needs it.
                Origin::Catalogue
                | Origin::Discovery
                | Origin::Handshake
                | Origin::Trial(_)
                | Origin::Consent(_) => {
                    self.close(talk, &taken, &refusal).await;
                }
            }
        }
        told = told.and(Box::pin(self.leave_questions(talk, left.questions)).await);
        for taken in left.asked {
            lending::given_up(&taken, &mut talk.session.state(), lending::in_time(&taken));
            self.close(talk, &taken, &UpstreamFault::Left.into()).await;
            if self.may_cancel(talk, &taken, Side::Agent).await {
                let cancel = OwnMessage::cancel(
                    taken.minted,
                    "the server that asked is not spoken to any more",
                );
                let stream = taken.exchange.sent_on;
                told = told.and(self.tell(talk, Side::Agent, stream, cancel).await);
            }
        }
        told
    }

    /// Records a message of a server that the session has left, which goes nowhere.
    async fn unheard<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        instance: Instance,
        arrival: Arrival,
        message: Option<Message>,
    ) {
        let mut trail = Trail::begin(talk, arrival);
        trail.take_instance(talk, instance);
        if let Some(message) = message {
            trail.decoded(talk, &message, Side::Upstream);
        }
        let text = "the session has left the server that says it";
        let left = Rejection::new(Stage::Identify, "left", INVALID_REQUEST, text);
        let record = trail.refused(&left, self.clock.elapsed());
        if let Err(fault) = self.recorder.record(record).await {
            warn!("a message of a server that the session has left could not be recorded: {fault}");
        }
    }
}

/// Whether the reply of a server that the session has left is the end of what was asked of it. An agent
/// that went on with it would speak to another server, which knows nothing of that.
///
/// # Errors
/// [`UpstreamFault::Left`] where it is not the end.
pub(in crate::gate) fn leads_nowhere(understood: &Understood<'_>) -> Result<(), Stop> {
    let Role::Reply(taken) = &understood.identified.role else {
        return Ok(());
    };
    let goes_on = rounds::is_unfinished(understood)
        || tasks::begins(&understood.identified).is_some()
        // The gate does not know what the agent may do with it.
        || understood.identified.of_listed_type;
    if matches!(taken.waits, Waits::Elsewhere(_)) && goes_on {
        return Err(UpstreamFault::Left.into());
    }
    Ok(())
}

/// A message of a server's, and the id of what it answers.
fn read(decoded: Result<Message, WireError>) -> (Option<Message>, Option<Id>) {
    match decoded {
        Ok(message) => {
            let id = match message.shape() {
                Shape::Reply { id, .. } => id.clone(),
                Shape::Request { .. } | Shape::Notification { .. } => None,
            };
            (Some(message), id)
        }
        Err(error) => (None, answered((error.id, error.likeness))),
    }
}

/// The id of the request that an undecoded frame answers.
fn answered((id, likeness): (Option<Id>, Likeness)) -> Option<Id> {
    match likeness {
        Likeness::Reply | Likeness::Neither => id,
        Likeness::Question | Likeness::Nothing => None,
    }
}

fn minted(id: &Id) -> Option<u64> {
    u64::try_from(id.as_integer()?).ok()
}
