//! What the gate asks the upstream on its own behalf: what tools there are, when a call comes
//! before any list, and the handshake again, when the upstream was restarted.

use std::sync::Arc;

use tracing::{error, warn};

use crate::session::{
    Exchange, Lifecycle, Origin, Parked, Readiness, Session, Spoken, Taken, Target, Traversal,
};
use crate::wire::{Fragment, Id, KnownMethod, Message, Side};

use super::Gate;
use super::decide::{Permit, Stop};
use super::forward::{Agent, AgentGone, Upstream};
use super::listing;
use super::own::OwnMessage;
use super::record::Trail;
use super::refuse::Refusal;
use super::talk::Talk;

/// How many frames of the greatest length may wait for the catalogue; of shorter ones as many as may
/// be in flight.
const PARKED_FRAMES: usize = 4;

/// The reply to a request of the gate's own.
#[derive(Debug)]
pub(super) struct OwnReply(pub(super) Box<Taken>);

impl Gate {
    /// Lets a call wait until the catalogue is known.
    pub(super) async fn park<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        frame: &[u8],
        trail: &Trail,
    ) -> Result<(), AgentGone> {
        if let Err(fault) = talk.reachable(Side::Upstream) {
            return self.refuse(talk, trail, fault.into()).await;
        }
        let version = trail.stateless_version(&talk.session);
        let full = {
            let mut state = talk.session.state();
            let waiting: usize = state.parked.iter().map(|parked| parked.frame.len()).sum();
            let full = state.parked.len() >= self.settings.max_in_flight
                || waiting > PARKED_FRAMES * self.settings.from_agent.max_bytes;
            if let (false, Some(id)) = (full, trail.asker_id()) {
                let parked = Parked {
                    id: id.clone(),
                    frame: frame.to_vec(),
                    version: version.clone(),
                    cancelled: false,
                };
                state.parked.push_back(parked);
            }
            full
        };
        if full {
            return self
                .refuse(talk, trail, Refusal::TooMany(self.settings.max_in_flight))
                .await;
        }
        let begins = talk.session.state().tools.begin_fetch();
        if begins {
            self.fetch(talk, None).await
        } else {
            Ok(())
        }
    }

    /// Takes in what the gate asked for.
    pub(super) async fn absorb<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        message: &Message,
        OwnReply(taken): OwnReply,
    ) -> Result<(), Stop> {
        let absorbed = match taken.exchange.origin {
            Origin::Catalogue => self.absorb_page(talk, message).await,
            Origin::Handshake => self.absorb_handshake(talk, message).await,
            Origin::Peer(_) => Ok(()),
        };
        absorbed.map_err(|AgentGone| Stop::AgentGone)
    }

    /// What the gate asked for will not come.
    pub(super) fn give_up_own<U, A>(talk: &Talk<U, A>, origin: &Origin) {
        match origin {
            Origin::Peer(_) => {}
            Origin::Catalogue => {
                warn!("the upstream did not list its tools; calls that wait for it are refused");
                talk.session.state().tools.fetch_failed();
                talk.session.catalogue_is_settled();
            }
            Origin::Handshake => {
                error!("the restarted upstream did not repeat the handshake");
                talk.session.state().upstream = Readiness::Down;
            }
        }
    }

    /// Repeats the agent's handshake to an upstream that was restarted.
    pub(super) async fn repeat_handshake<U: Upstream, A: Agent>(&self, talk: &Talk<U, A>) {
        let params = match &talk.session.state().lifecycle {
            Lifecycle::Ready(handshake) => Some(Arc::clone(&handshake.params)),
            Lifecycle::New | Lifecycle::Initializing(_) => None,
        };
        let Some(params) = params.and_then(|params| Fragment::decode(&params).ok()) else {
            talk.session.state().upstream = Readiness::Up;
            return;
        };
        talk.session.state().upstream = Readiness::Repeating;
        if let Some(minted) = self.admit_own(talk, Origin::Handshake, KnownMethod::Initialize) {
            let message = OwnMessage::initialize(minted, params);
            let permit = Permit::own(Side::Upstream, message, &self.settings.secrets);
            if let Err(fault) = talk.upstream.send(permit).await {
                error!("the handshake could not be repeated: {fault}");
            }
        }
    }

    async fn fetch<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        cursor: Option<&str>,
    ) -> Result<(), AgentGone> {
        // Fetched only when a call waits, and asked in the revision that it speaks.
        let version = talk
            .session
            .state()
            .parked
            .front()
            .and_then(|parked| parked.version.clone());
        let Some(minted) = self.admit_own(talk, Origin::Catalogue, KnownMethod::ToolsList) else {
            Self::give_up_own(talk, &Origin::Catalogue);
            return Ok(());
        };
        let message = OwnMessage::list_tools(minted, cursor, version.as_deref());
        let permit = Permit::own(Side::Upstream, message, &self.settings.secrets);
        if self.send(talk, permit).await.is_err() {
            let asked = Id::integer(minted);
            talk.session.state().to_upstream.take(&asked);
            Self::give_up_own(talk, &Origin::Catalogue);
            return Ok(());
        }
        Ok(())
    }

    async fn absorb_page<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        message: &Message,
    ) -> Result<(), AgentGone> {
        let listed = message.result().and_then(|result| result.get("tools"));
        if !listed.is_some_and(crate::wire::Value::is_array) {
            Self::give_up_own(talk, &Origin::Catalogue);
            return Ok(());
        }
        let cursor = listing::next_cursor(message);
        let goes_on = {
            let mut state = talk.session.state();
            listing::note_offers(&mut state.tools, message, Traversal::Gate);
            cursor.is_some() && state.tools.next_page()
        };
        match (cursor, goes_on) {
            (None, _) => {
                talk.session.catalogue_is_settled();
                Ok(())
            }
            (Some(cursor), true) => self.fetch(talk, Some(&cursor)).await,
            (Some(_), false) => {
                Self::give_up_own(talk, &Origin::Catalogue);
                Ok(())
            }
        }
    }

    async fn absorb_handshake<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        message: &Message,
    ) -> Result<(), AgentGone> {
        let version = message
            .result()
            .and_then(|result| result.get("protocolVersion"))
            .and_then(crate::wire::Value::as_str);
        let agreed = match &talk.session.state().lifecycle {
            Lifecycle::Ready(handshake) => version.as_deref() == Some(&*handshake.spoken.version),
            Lifecycle::New | Lifecycle::Initializing(_) => false,
        };
        if !agreed {
            Self::give_up_own(talk, &Origin::Handshake);
            return Ok(());
        }
        talk.session.state().upstream = Readiness::Up;
        talk.upstream.handshake_completed();
        self.tell(talk, Side::Upstream, OwnMessage::initialized())
            .await
    }

    /// Judges the calls that waited, from their first byte. Not called by whoever reads the
    /// upstream: it may have to wait until the upstream reads.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn resume<U: Upstream, A: Agent>(&self, talk: &Talk<U, A>) -> Result<(), AgentGone> {
        let _in_hand = talk.session.take_in_hand();
        // Those that have to wait again are behind these.
        let waiting = talk.session.state().parked.len();
        for _ in 0..waiting {
            // One at a time: the id of a call that waits is taken.
            let next = talk.session.state().parked.pop_front();
            let Some(parked) = next else { break };
            if parked.cancelled {
                self.drop_parked(talk, &parked).await;
            } else {
                self.handle(talk, Side::Agent, &parked.frame).await?;
            }
        }
        talk.session.state().tools.retry_fetch();
        Ok(())
    }

    /// Records a call that was cancelled while it waited. Its asker expects no answer.
    async fn drop_parked<U: Upstream, A: Agent>(&self, talk: &Talk<U, A>, parked: &Parked) {
        let mut trail = Trail::begin(talk, Side::Agent, self.clock.elapsed());
        if let Ok(message) = Message::decode(&parked.frame, &self.settings.from_agent) {
            trail.decoded(&message, Side::Agent);
        }
        let record = trail.refused(&Refusal::Cancelled, self.clock.elapsed());
        if let Err(fault) = self.audit.record(record).await {
            error!("a cancelled call could not be recorded: {fault}");
        }
    }

    fn admit_own<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        origin: Origin,
        method: KnownMethod,
    ) -> Option<u64> {
        let started = self.clock.elapsed();
        let exchange = Exchange {
            origin,
            method,
            target: Target::Server,
            snapshot: self.policy.current(),
            progress_token: None,
            cursor: None,
            spoken: Spoken::default(),
            started,
            deadline: Some(started.saturating_add(self.settings.request_timeout)),
            reference: talk.next_reference(),
            correlation: Vec::new(),
        };
        let mut state = talk.session.state();
        talk.session.arm(&state, exchange.deadline);
        state
            .to_upstream
            .admit(exchange)
            .ok()
            .map(|admitted| admitted.0)
    }
}

impl Trail {
    /// The revision that a request of the stateless era names.
    fn stateless_version(&self, session: &Session) -> Option<Arc<str>> {
        let stateless = matches!(session.state().lifecycle, Lifecycle::New);
        self.version.clone().filter(|_| stateless)
    }

    /// The id of a request, while it may still be answered.
    fn asker_id(&self) -> Option<&crate::wire::Id> {
        match &self.answer_to {
            super::record::AnswerTo::Asker(_, id) => Some(id),
            super::record::AnswerTo::Nobody
            | super::record::AnswerTo::Waiting(..)
            | super::record::AnswerTo::Unreadable => None,
        }
    }
}
