//! Messages of the agent's that wait until their session has arrived at the isolated server.

use std::sync::Arc;

use crate::session::Travelling;
use crate::wire::Side;

use crate::gate::Gate;
use crate::gate::arrival::{Arrival, Source};
use crate::gate::faults::{AgentGone, UpstreamFault};
use crate::gate::forward::{Agent, Upstream};
use crate::gate::record::Trail;
use crate::gate::talk::Talk;

impl Gate {
    /// The conversation is over: what waits for the session to arrive is not judged any more.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub(in crate::gate) async fn end_travelling<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        why: &UpstreamFault,
    ) -> Result<(), AgentGone> {
        let travelling = std::mem::take(&mut talk.session.state().waiting.travelling);
        let mut told = Ok(());
        for message in travelling {
            let source = Source {
                peer: message.peer,
                trace: message.trace,
                ..Source::on(message.stream)
            };
            let arrival = Arrival::with(&source, Side::Agent, message.came);
            let mut trail = Trail::begin(talk, arrival).known_as(message.reference);
            trail.retry.attempt = message.attempt;
            let decoded = self.decode(talk, Side::Agent, &message.frame, &mut trail);
            let refusal = decoded.err().unwrap_or_else(|| why.clone().into());
            told = told.and(self.refuse(talk, &trail, refusal).await);
        }
        told
    }
}

/// Waits until the session is where the message can be judged. False if the conversation has ended
/// before.
pub(super) async fn until_arrived<U, A>(
    talk: &Talk<U, A>,
    arrival: Arrival,
    frame: &[u8],
    trail: &Trail,
) -> bool {
    let travelling = || Travelling {
        reference: Arc::clone(&trail.ids.reference),
        frame: frame.to_vec(),
        stream: arrival.stream,
        peer: arrival.peer,
        trace: arrival.trace,
        came: arrival.at,
        attempt: trail.retry.attempt,
    };
    talk.session.until_arrived(travelling).await
}
