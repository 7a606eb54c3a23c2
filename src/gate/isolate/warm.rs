//! Isolated servers that are kept warm: they are started with a session and agree to its handshake before
//! it needs them, so that it does not wait for them when it comes.

use tracing::warn;

use crate::gate::Gate;
use crate::gate::catalogue::agreed_on;
use crate::gate::faults::UpstreamFault;
use crate::gate::forward::{Agent, Upstream};
use crate::gate::own::{Occasion, OwnMessage};
use crate::gate::rejection::Rejection;
use crate::gate::talk::Talk;
use crate::session::{Admitted, AuditIds, Exchange, Instance, Origin};
use crate::wire::Stream;

impl Gate {
    /// Repeats the session's handshake to each server that it may go to and that is kept warm; once.
    pub(super) async fn greet_those_kept_warm<U: Upstream, A: Agent>(&self, talk: &Talk<U, A>) {
        if agreed_on(&talk.session).is_none()
            || std::mem::replace(
                &mut talk.session.state().connection.has_sent_handshakes,
                true,
            )
        {
            return;
        }
        for instance in Instance::ISOLATED {
            self.greet(talk, instance).await;
        }
    }

    /// Repeats the session's handshake to a server that is kept warm, unless it is spoken to by now.
    /// What fails here is tried again when the session goes there.
    pub async fn greet<U: Upstream, A: Agent>(&self, talk: &Talk<U, A>, instance: Instance) {
        if !self.settings.warm.of(instance) || talk.session.run().instance >= instance {
            return;
        }
        if let Err(refusal) = self.try_to_greet(talk, instance).await {
            warn!("an isolated server cannot be kept warm: {refusal}");
        }
    }

    async fn try_to_greet<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        instance: Instance,
    ) -> Result<(), Rejection> {
        let params = agreed_on(&talk.session).ok_or(UpstreamFault::Down)?;
        talk.upstream.warm(instance)?;
        let occasion = Occasion::Handshake;
        let method = occasion.method();
        let reference = self.record_own_to(talk, occasion, instance).await?;
        let (started, snapshot) = (self.clock.elapsed(), self.policies_of(&talk.session));
        let until = started.saturating_add(self.terms(&snapshot).request_timeout);
        let exchange = Exchange {
            ids: AuditIds {
                reference,
                ..AuditIds::default()
            },
            ..Exchange::own(Origin::Handshake, method, snapshot, started, until)
        };
        let minted = {
            let mut state = talk.session.state();
            // While it was recorded, the session may have gone there.
            if state.connection.place.instance() >= instance {
                return Err(UpstreamFault::Left.into());
            }
            talk.session.arm(&state, exchange.deadline);
            let admitted = state.waiting.to_upstream.admit(exchange);
            let Admitted(minted) = admitted.map_err(|_| Rejection::reused_id())?;
            state.waiting.to_upstream.assign(minted, instance);
            minted
        };
        let message = OwnMessage::initialize(minted, params);
        let permit = self.own_permit_to(&talk.session, instance, Stream::MAIN, message);
        let sent = match permit {
            Ok(permit) => talk
                .upstream
                .send_to(instance, permit)
                .await
                .map_err(Rejection::from),
            Err(refusal) => Err(refusal),
        };
        let Err(refusal) = sent else { return Ok(()) };
        let taken = talk.session.state().waiting.to_upstream.end(minted);
        if let Some(taken) = taken {
            self.close(talk, &taken, &refusal).await;
        }
        Err(refusal)
    }
}
