//! Asks a server what it speaks, and takes in what it says.

use crate::session::{Opening, Origin, Probe, Taken, Trial};
use crate::wire::Message;

use super::eras::{Found, Says, lack_of, named, said};
use super::faults::UpstreamFault;
use super::forward::{Agent, Upstream};
use super::own::OwnMessage;
use super::record::Trail;
use super::stop::Stop;
use super::talk::Talk;
use super::{Gate, remember};

impl Gate {
    /// Asks the server what it speaks, in the revision of the request that waits for the answer.
    pub(super) async fn discover<U: Upstream, A: Agent>(&self, talk: &Talk<U, A>, version: &str) {
        let message = |minted| OwnMessage::discover(minted, version);
        self.ask_when_up(talk, Origin::Discovery, message).await;
    }

    /// Takes in what the server says to the gate.
    pub(super) async fn absorb_discovery<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        message: &Message,
        trail: &Trail,
    ) -> Result<(), Stop> {
        let taken_in = trail.taken_in(self.clock.elapsed());
        self.recorder.record(taken_in).await?;
        // It is what a server says that is not spoken to any more.
        if trail.server.run != talk.session.run() {
            return Ok(());
        }
        let says = said(message);
        if says == Says::Takes {
            talk.session.state().parties.server_version =
                message.result().and_then(remember::server_version);
            talk.upstream.handshake_completed();
        }
        self.settle_era(talk, says, named(message));
        Ok(())
    }

    /// A question of the gate's own was not answered with a message.
    pub(super) fn undiscovered<U, A>(
        &self,
        talk: &Talk<U, A>,
        taken: &Taken,
        fault: &UpstreamFault,
    ) -> Found {
        let Some(lack) = lack_of(fault) else {
            return Found::Nothing;
        };
        match taken.exchange.origin {
            Origin::Discovery => self.settle_era(talk, Says::Lacks(lack), Vec::new()),
            Origin::Trial(Opening::Discover) => {
                talk.session.state().protocol.trial =
                    Some(Trial::Otherwise(lack.to_string().into()));
            }
            Origin::Trial(Opening::Initialize)
            | Origin::Catalogue
            | Origin::Handshake
            | Origin::Consent(_)
            | Origin::Peer(_) => return Found::Nothing,
        }
        Found::Something
    }

    fn settle_era<U, A>(&self, talk: &Talk<U, A>, says: Says, named: Vec<String>) {
        let instance = talk.session.run().instance;
        self.stores.eras.note(instance, (says, named));
        talk.session.state().protocol.probe = Probe::Idle;
        talk.session.parked_may_go_on();
    }
}
