//! Requests that need a session, where the bridge before their agent opens one.
//!
//! They were judged in the agent's revision. The bridge brings them again in that of the session, and what the
//! server gets is judged then: so nothing is recorded or charged here.

use tracing::error;

use crate::mcp::meta;
use crate::mcp::revisions::FIRST_STATELESS;
use crate::session::{Lifecycle, Origin, State, Taken};
use crate::wire::{Fragment, Message, Side};

use super::Gate;
use super::arrival::{AnswerTo, Source};
use super::asking::required;
use super::eras::is_stateless;
use super::forward::{Agent, TakenOver};
use super::record::Trail;
use super::rejection::{MISSING_CAPABILITY, Property, Rejection, UNSUPPORTED_VERSION, versions};
use super::stage::Stage;
use super::talk::Talk;

/// Whether the bridge before an agent that has no session holds one.
pub(super) fn is_in_session_of_bridge(state: &State) -> bool {
    let revision = state.protocol.bridged.as_deref();
    revision.is_some_and(is_stateless)
}

/// Refuses what is still in the agent's own revision: it waited while the bridge opened the session.
pub(super) fn in_revision_of_session(state: &State, message: &Message) -> Result<(), Rejection> {
    let names_revision = || message.meta()?.get(meta::VERSION);
    let is_late = !matches!(state.protocol.lifecycle, Lifecycle::New)
        && is_in_session_of_bridge(state)
        && names_revision().is_some();
    if !is_late {
        return Ok(());
    }
    let text = "the server needs a session, and the request came before it was open";
    let refusal = Rejection::new(Stage::Identify, "needs_session", UNSUPPORTED_VERSION, text);
    Err(refusal
        .with_data(versions(FIRST_STATELESS, [FIRST_STATELESS].into_iter()))
        .with_properties(&[Property::NeedsSession, Property::KeepsConsent]))
}

/// The error for an agent without a session whose server sends the user to pages before it does what was asked:
/// in its revision a server may ask for that, if the agent has declared it.
pub(super) fn needs_pages(refusal: Rejection, message: &Message, state: &State) -> Rejection {
    if !is_in_session_of_bridge(state) || !message.error().is_some_and(required::is_required) {
        return refusal;
    }
    let text = "the server asks the user to open pages first, which a request without a session cannot carry";
    let pages = Fragment::object([("url", Fragment::object([]))]);
    let required = Fragment::object([("elicitation", pages)]);
    Rejection::new(
        Stage::Understand,
        "missing_capability",
        MISSING_CAPABILITY,
        text,
    )
    .with_data([("requiredCapabilities", required)])
    .with_same_answer_for_requesters()
}

impl Gate {
    /// Gives a request that needs a session to the bridge, if there is one that opens it.
    pub(super) async fn give_over<U, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        frame: &[u8],
        trail: &mut Trail,
        refusal: &Rejection,
    ) -> TakenOver {
        if !refusal.has(Property::NeedsSession) {
            return TakenOver::No;
        }
        match &trail.envelope.answer_to {
            AnswerTo::Asker(Side::Agent, _) => {
                let source = Source {
                    stream: trail.received.stream,
                    peer: trail.received.peer,
                    trace: trail.carried.trace,
                    carrier: trail.carried.headers.clone(),
                };
                talk.agent.take_over(source, frame)
            }
            AnswerTo::Waiting(Side::Agent, asker) => {
                let taken = talk
                    .agent
                    .take_over_discovery(&asker.id, trail.received.stream);
                let record = trail.taken_in(self.clock.elapsed());
                if taken == TakenOver::Yes
                    && let Err(fault) = self.recorder.record(record).await
                {
                    error!("the end of a `server/discover` could not be recorded: {fault}");
                }
                taken
            }
            AnswerTo::Asker(Side::Upstream, _)
            | AnswerTo::Waiting(Side::Upstream, _)
            | AnswerTo::None
            | AnswerTo::Unreadable => TakenOver::No,
        }
    }

    /// The same for a `server/discover` that the server did not answer with a message.
    pub(super) fn give_over_discovery<U, A: Agent>(
        talk: &Talk<U, A>,
        taken: &Taken,
        refusal: &Rejection,
    ) -> TakenOver {
        let Origin::Peer(asker) = &taken.exchange.origin else {
            return TakenOver::No;
        };
        if !refusal.has(Property::NeedsSession) {
            return TakenOver::No;
        }
        let stream = taken.exchange.received.stream;
        talk.agent.take_over_discovery(&asker.id, stream)
    }
}
