//! From one instance of the server to a narrower one, when a session has become too sensitive for the
//! first.
//!
//! Every message of the agent's begins with a look at the session's level. Once that has reached a
//! threshold the session moves, before anything of the message is judged; the message whose decision
//! raised the level still goes where it was going, and the session moves behind it.

mod elsewhere;
mod travelling;
mod warm;

use tracing::{info, warn};

use crate::audit;
use crate::session::{
    Instance, Kept, Origin, Readiness, Session, StoreFault, Thresholds, Unanswered,
};
use crate::wire::{KnownMethod, Message, Shape, Side, Stream};

use super::arrival::{AnswerTo, Arrival};
use super::classified::Role;
use super::context::RequestContext;
use super::faults::{AgentGone, UpstreamFault};
use super::filter::{Filter, Flow, Hook};
use super::forward::{Agent, Upstream};
use super::own::{Occasion, OwnMessage};
use super::passage::Carried;
use super::permit::Permit;
use super::record::Trail;
use super::runs::{gone, has_left_since};
use super::stop::Stop;
use super::talk::Talk;
use super::{Gate, ratchet};

pub(super) use elsewhere::leads_nowhere;
use travelling::until_arrived;

/// Keeps what a server said from agents that could not go on with it.
#[derive(Debug)]
pub(super) struct Isolation {
    pub(super) thresholds: Thresholds,
}

impl Filter for Isolation {
    fn on_request<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        leads_nowhere(&cx.understood)?;
        Flow::DONE
    }

    /// A message is not for the server that it began at if its session has moved while it was on its way,
    /// or must, since it was judged at that level. What a server asks or tells must come of
    /// the one that is spoken to.
    fn on_permitted<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        let identified = &cx.understood.identified;
        if identified.from == Side::Upstream {
            if !matches!(identified.role, Role::Reply(_)) {
                still_speaks(cx.session, cx.trail)?;
            }
            return Flow::DONE;
        }
        let Some(begun) = cx.trail.server.began_at else {
            return Flow::DONE;
        };
        let level = identified.scene.held.level;
        if self.thresholds.instance_at(level) > begun {
            ratchet::note_level(cx.session, level);
            return Err(Stop::Elsewhere);
        }
        if cx.session.run().instance == begun {
            Flow::DONE
        } else {
            Err(Stop::Elsewhere)
        }
    }
}

impl Gate {
    /// Moves the session to a narrower instance of the server if it is to be there.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn keep_apart<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
    ) -> Result<(), AgentGone> {
        if self.thresholds().instance_at(i64::MAX) > talk.session.run().instance {
            // Where it cannot be told nothing passes, and the session need not move for that.
            if let (held, None) = self.stores.ratchet.held(&talk.session).await {
                ratchet::note_level(&talk.session, held.level);
            }
        }
        self.move_apart(talk).await?;
        leave_for_good(talk);
        Ok(())
    }

    /// Takes a message of the agent's through the gate, to the server of the session's place. Not
    /// called by whoever reads what servers say: it would wait for itself.
    pub(super) async fn take_to_its_place<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        arrival: Arrival,
        frame: &[u8],
        trail: &mut Trail,
    ) -> Result<(), AgentGone> {
        self.keep_token(&talk.session, trail.carried.headers.token.as_ref());
        self.keep_apart(talk).await?;
        if !until_arrived(talk, arrival, frame, trail).await {
            return Ok(());
        }
        trail.take_scope(talk);
        let taken = self.take_through(talk, arrival, frame, trail).await;
        self.greet_those_kept_warm(talk).await;
        // It may have raised the level.
        taken.and(self.keep_apart(talk).await)
    }

    fn thresholds(&self) -> &Thresholds {
        &self.settings.thresholds
    }

    /// The instance that the session has to move to, if it must not speak to its own any more.
    pub(super) fn due<U, A>(&self, talk: &Talk<U, A>) -> Option<Instance> {
        let state = talk.session.state();
        let level = state.security.found_at.max(state.security.held.level);
        let due = self.thresholds().instance_at(level);
        (due > state.connection.place.instance()).then_some(due)
    }

    /// Where a message of the agent's begins; nothing where there is one place only.
    pub(super) fn begins_at<U, A>(&self, talk: &Talk<U, A>, from: Side) -> Option<Instance> {
        let may_move = from == Side::Agent && !self.thresholds().is_empty();
        may_move.then(|| talk.session.run().instance)
    }

    /// What the session has read when a message of it is judged. That may take its time, and a reply
    /// must answer what its own server was asked: ids count up, so that one of a server that was left
    /// could fit what the next one is asked by then.
    ///
    /// # Errors
    /// [`Stop::Elsewhere`] where it comes of a server that the session has left since.
    pub(super) async fn held_by<U, A>(
        &self,
        talk: &Talk<U, A>,
        from: Side,
        message: &Message,
        trail: &Trail,
    ) -> Result<(Kept, Option<StoreFault>), Stop> {
        let kept = self.stores.ratchet.kept(&talk.session).await;
        match message.shape() {
            Shape::Reply { .. }
                if from == Side::Upstream && has_left_since(talk, trail.server.run) =>
            {
                Err(Stop::Elsewhere)
            }
            Shape::Reply { .. } | Shape::Request { .. } | Shape::Notification { .. } => Ok(kept),
        }
    }

    /// Takes a message along with its session: there it is judged from its first byte, as if nothing
    /// had been said of it. What a server says that was left goes where the session has left it.
    pub(super) async fn judge_there<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        arrival: Arrival,
        frame: &[u8],
        trail: &mut Trail,
    ) -> Result<(), AgentGone> {
        if arrival.from == Side::Upstream {
            let instance = trail
                .server
                .other_speaker
                .unwrap_or(trail.server.run.instance);
            let form = (arrival.stream, arrival.form);
            return Box::pin(self.handle_elsewhere(talk, instance, form, frame)).await;
        }
        self.move_apart(talk).await?;
        if !until_arrived(talk, arrival, frame, trail).await {
            return Ok(());
        }
        // The other server may refuse it; the rate is charged all the same.
        let counted = std::mem::take(&mut trail.holds.counted);
        trail.begin_anew(talk, arrival);
        trail.holds.counted = counted;
        self.take_through(talk, arrival, frame, trail).await
    }

    /// The same for a message that has its decision: its session has moved while that was recorded.
    /// There is no second decision for one message, so it does not leave, and may come again.
    ///
    /// # Errors
    /// [`UpstreamFault::Left`] for a request, and for a handshake of a server that was left; what asks
    /// for nothing is dropped.
    pub(super) fn is_still_there<U, A>(
        talk: &Talk<U, A>,
        begun: Option<Instance>,
        permit: &Permit,
        trail: &Trail,
    ) -> Result<(), Stop> {
        // An agent that got it would go on with a server that knows nothing of it.
        if permit.to() == Side::Agent
            && trail.envelope.method == Some(KnownMethod::Initialize)
            && let Some(fault) = gone(&talk.session, trail.server.run)
        {
            return Err(fault.into());
        }
        if begun.is_none_or(|begun| begun == talk.session.run().instance) {
            return Ok(());
        }
        match permit.passage().carried {
            Carried::Request { id, .. } => {
                // It has not left, so that the other server will not answer it.
                if talk.session.state().waiting.to_upstream.bring_here(id) {
                    Err(UpstreamFault::Left.into())
                } else {
                    Err(Stop::Settled)
                }
            }
            Carried::Reply { .. } | Carried::Notification { .. } => Err(Stop::Settled),
        }
    }

    async fn move_apart<U: Upstream, A: Agent>(&self, talk: &Talk<U, A>) -> Result<(), AgentGone> {
        if self.due(talk).is_some() {
            self.before_leaving(talk).await?;
        }
        // By now it may be another one.
        let Some(to) = self.due(talk) else {
            return Ok(());
        };
        // INVARIANT: nothing is awaited between these two, so that whoever finds the session in its
        // new place finds the new server.
        let Some(left) = talk.session.leave_for(to) else {
            return Ok(());
        };
        let reached = talk.upstream.isolate(to);
        talk.introduce();
        info!(
            "the session has become too sensitive for its server, and goes on with {}",
            to.name_of(&talk.session.state().parties.server.name)
        );
        let moved = self.upstream_state(talk, audit::Event::SwitchedToIsolated);
        if let Err(fault) = self.recorder.record(moved).await {
            // It is no permission: what follows is recorded, or does not happen.
            warn!(
                "that the session goes on with the isolated server could not be recorded: {fault}"
            );
        }
        let greeted = left.greeted.clone();
        let run = talk.session.run();
        let told = self.give_up_left(talk, left).await;
        // Meanwhile it may have gone on, and the later move asks the next server.
        if has_left_since(talk, run) {
            return told;
        }
        let agrees_later = || talk.session.state().waiting.to_upstream.repeats_handshake();
        match (reached, greeted) {
            (Err(_), _) => {
                talk.session.state().connection.upstream = Readiness::Down;
                talk.session.arrived();
            }
            (Ok(()), Some(greeted)) => {
                if self.complete_handshake(talk, run, greeted).await.is_err() {
                    let why = "what completes its handshake could not be recorded";
                    let why = Unanswered::Otherwise(why.into());
                    Self::give_up_own(talk, &Origin::Handshake, why);
                }
            }
            (Ok(()), None) if agrees_later() => {}
            (Ok(()), None) => self.repeat_handshake(talk).await,
        }
        told
    }

    /// The next server is ready: asks it for its tools, if the agent has got those of another and takes
    /// notifications of changes.
    pub(super) async fn look_for_other_tools<U: Upstream, A: Agent>(&self, talk: &Talk<U, A>) {
        let asks = {
            let mut state = talk.session.state();
            state.lists.tools_left.is_some() && state.lists.tools.begin_fetch()
        };
        if asks {
            self.fetch(talk, None).await;
        }
    }

    /// All tools are known: tells the agent if they are not those that it has got.
    ///
    /// # Errors
    /// [`Stop::AgentGone`] when it can no longer be told anything.
    pub(super) async fn tell_of_other_tools<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
    ) -> Result<(), Stop> {
        let differ = {
            let mut state = talk.session.state();
            let left = state.lists.tools_left.take();
            left.is_some_and(|left| left != state.lists.tools.prints())
        };
        if !differ {
            return Ok(());
        }
        self.tell_of_other_list(talk, KnownMethod::ToolsListChanged)
            .await
            .map_err(|AgentGone| Stop::AgentGone)
    }

    async fn tell_of_other_list<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        changed: KnownMethod,
    ) -> Result<(), AgentGone> {
        let occasion = Occasion::Isolated(changed);
        if let Err(fault) = self.record_own(talk, occasion, Side::Agent).await {
            warn!("a notification could not be recorded, and is not sent: {fault}");
            return Ok(());
        }
        let changed = OwnMessage::list_changed(changed);
        self.tell(talk, Side::Agent, Stream::MAIN, changed).await
    }
}

/// Whether the server that something came of is the one that is spoken to.
///
/// # Errors
/// [`UpstreamFault`] where it is not; then nobody is answered.
fn still_speaks(session: &Session, trail: &mut Trail) -> Result<(), Stop> {
    let Some(fault) = gone(session, trail.server.run) else {
        return Ok(());
    };
    trail.envelope.answer_to = AnswerTo::None;
    Err(fault.into())
}

/// Ends the servers that the session has left and that nothing waits for any more.
pub(super) fn leave_for_good<U: Upstream, A>(talk: &Talk<U, A>) {
    let kept = {
        let state = talk.session.state();
        let here = state.connection.place.instance();
        let waited_for = state.waiting.to_upstream.waited_for_elsewhere();
        waited_for.fold(here, Instance::min)
    };
    if !kept.is_open() {
        talk.upstream.leave_below(kept);
    }
}
