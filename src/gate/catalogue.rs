//! What the gate asks the upstream on its own behalf: what tools there are, when a call comes
//! before any list, and the handshake again, when the upstream was restarted.
//!
//! It is recorded like what a peer asks: a decision before it goes out, and an outcome.

use std::sync::Arc;

use tracing::{error, warn};

use crate::audit::{AuditFault, Kind, Record};
use crate::session::{
    Admitted, AuditIds, Exchange, Greeted, Instance, Lifecycle, Origin, Probe, Readiness, Run,
    Session, Taken, Traversal, Trial, Unanswered, Waits,
};
use crate::wire::{Fragment, Id, Message, Side, Stream};

use super::classified::{Identified, Role};
use super::faults::{AgentGone, UpstreamFault};
use super::forward::{Agent, Upstream};
use super::own::{Occasion, OwnMessage};
use super::page::{ListKind, Reading, Shape};
use super::record::Trail;
use super::rejection::Rejection;
use super::runs::has_left_since;
use super::stop::Stop;
use super::talk::Talk;
use super::trial::method_of;
use super::{Gate, again, drift, listing, remember};

/// The reply to a request of the gate's own.
#[derive(Debug)]
pub(super) struct OwnReply(pub(super) Box<Taken>);

impl Gate {
    /// Takes in what the gate asked for.
    ///
    /// # Errors
    /// A [`Rejection`] when it is of no use, or cannot be recorded: then it will not come.
    pub(super) async fn absorb<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        message: &Message,
        OwnReply(taken): OwnReply,
        trail: &mut Trail,
    ) -> Result<(), Stop> {
        let Exchange { origin, again, .. } = taken.exchange;
        // The gate still reads a list. Of all else the agent hears, and it may be slow.
        if origin != Origin::Catalogue {
            trail.holds.room = None;
        }
        match origin {
            Origin::Catalogue => self.absorb_page(talk, message, trail).await,
            Origin::Discovery => self.absorb_discovery(talk, message, trail).await,
            Origin::Handshake => {
                self.absorb_handshake(talk, message, taken.waits, trail)
                    .await
            }
            Origin::Trial(opening) => self.absorb_trial(talk, message, opening, trail).await,
            Origin::Consent(ticket) => {
                Box::pin(self.absorb_answer(talk, message, &ticket, trail)).await
            }
            Origin::Peer(_) => match again {
                Some(call) => Box::pin(self.call_again(talk, call, trail)).await,
                None => Ok(()),
            },
        }
    }

    /// What the gate asked for will not come, for this reason.
    pub(super) fn give_up_own<U: Upstream, A>(talk: &Talk<U, A>, origin: &Origin, why: Unanswered) {
        match origin {
            // Silence is a no.
            Origin::Peer(_) | Origin::Consent(_) => {}
            Origin::Catalogue => {
                warn!(
                    "the upstream did not list its tools; calls that wait for it are refused: {why}"
                );
                talk.session.state().lists.tools.fetch_failed(why);
                talk.session.parked_may_go_on();
            }
            Origin::Discovery => {
                warn!(
                    "the upstream did not tell what it speaks; what waits for it is refused: {why}"
                );
                talk.session.state().protocol.probe = Probe::Failed(why);
                talk.session.parked_may_go_on();
            }
            Origin::Trial(_) => {
                talk.session.state().protocol.trial = Some(Trial::Failed(why.into_text()));
            }
            // Of a server that is not spoken to yet, it is repeated when it is.
            Origin::Handshake if talk.session.state().connection.upstream == Readiness::Up => {}
            Origin::Handshake => {
                error!("the upstream did not repeat the session's handshake; it is ended");
                talk.session.state().connection.upstream = Readiness::Down;
                talk.session.arrived();
                talk.upstream.restart();
            }
        }
    }

    /// Repeats the agent's handshake to an upstream that was restarted.
    pub(super) async fn repeat_handshake<U: Upstream, A: Agent>(&self, talk: &Talk<U, A>) {
        let Some(params) = agreed_on(&talk.session) else {
            talk.session.state().connection.upstream = Readiness::Up;
            talk.session.arrived();
            return;
        };
        talk.session.state().connection.upstream = Readiness::Repeating;
        let message = |minted| OwnMessage::initialize(minted, params);
        self.ask(talk, Origin::Handshake, Readiness::Repeating, message)
            .await;
    }

    /// Asks for a page of the list of tools.
    pub(super) async fn fetch<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        cursor: Option<&str>,
    ) {
        // Fetched only when a call waits, and asked in the revision that it speaks.
        let version = talk
            .session
            .state()
            .waiting
            .parked
            .front()
            .and_then(|parked| parked.carried.version.clone());
        let message = |minted| OwnMessage::list_tools(minted, cursor, version.as_deref());
        self.ask(talk, Origin::Catalogue, Readiness::Up, message)
            .await;
    }

    /// Records what the gate is about to say of its own accord; yields its reference.
    ///
    /// # Errors
    /// [`AuditFault`] when it cannot be recorded: then it must not be said.
    pub(super) async fn record_own<U, A>(
        &self,
        talk: &Talk<U, A>,
        occasion: Occasion<'_>,
        to: Side,
    ) -> Result<Arc<str>, AuditFault> {
        let checked = self.check_identity(&talk.session, to);
        let trail = Trail::own(talk, &occasion, self.clock.elapsed());
        self.record_own_as(trail, checked, to).await
    }

    /// The same of a message to this instance of the server, which the session may not speak to yet.
    ///
    /// # Errors
    /// The same.
    pub(super) async fn record_own_to<U, A>(
        &self,
        talk: &Talk<U, A>,
        occasion: Occasion<'_>,
        instance: Instance,
    ) -> Result<Arc<str>, AuditFault> {
        let checked = self.check_identity_to(&talk.session, instance);
        let mut trail = Trail::own(talk, &occasion, self.clock.elapsed());
        trail.take_instance(talk, instance);
        self.record_own_as(trail, checked, Side::Upstream).await
    }

    async fn record_own_as(
        &self,
        trail: Trail,
        checked: Result<(), Rejection>,
        to: Side,
    ) -> Result<Arc<str>, AuditFault> {
        let now = self.clock.elapsed();
        let record = match checked {
            Ok(()) => trail.passed(to, now),
            Err(refusal) => trail.refused(&refusal, now),
        };
        self.recorder.record(record).await?;
        Ok(trail.ids.reference)
    }

    async fn absorb_page<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        message: &Message,
        trail: &mut Trail,
    ) -> Result<(), Stop> {
        let listed = message.result().map(|result| Shape::TOOLS.list(result));
        let listed = listed.ok_or_else(|| Rejection::useless_reply("it is no list of tools"))??;
        let cursor = listing::next_cursor(message)?;
        if cursor.is_some() && !talk.session.state().lists.tools.next_page() {
            return Err(Rejection::useless_reply("its list of tools has too many pages").into());
        }
        let taken_in = trail.taken_in(self.clock.elapsed());
        self.recorder.record(taken_in).await?;
        let snapshot = self.policies_of(&talk.session);
        let reading = Reading::of(
            &talk.session,
            &snapshot,
            self.terms(&snapshot),
            &self.stores.schemas,
            self.settings.over_http,
        );
        let page = {
            let pages = &mut talk.session.state().lists.pages;
            Shape::TOOLS.read(listed, pages, reading)
        };
        let pins = self.pins(&talk.session, &snapshot);
        let words = &self.terms(&snapshot).guards.texts.words;
        let passing = drift::passing(listed, ListKind::Tools, &page, (&snapshot, pins), words);
        let drifts = drift::drifts(listed, ListKind::Tools, page.items.iter(), &snapshot, pins);
        let base = Record::new(Kind::UpstreamState).within(&talk.scope());
        let stores = (&self.recorder, &*self.stores.seen);
        Box::pin(drift::tell_of(stores, &base, (&snapshot, words), &passing)).await?;
        Box::pin(drift::tell_of(stores, &base, (&snapshot, words), &drifts)).await?;
        let is_awaited = {
            let mut state = talk.session.state();
            // It is the list of a server that is not spoken to any more. What waited for it has been
            // seen to.
            if trail.server.run != state.run() {
                return Ok(());
            }
            listing::note_offers(&mut state, message, Some(&page), Traversal::Gate);
            let terms = self.terms(&snapshot);
            self.stores.unlisted.look(&snapshot, terms, &state);
            !state.waiting.parked.is_empty()
        };
        trail.holds.room = None;
        Box::pin(self.tell_agent_of(talk, &drifts)).await?;
        if trail.server.run != talk.session.run() {
            return Ok(());
        }
        match cursor {
            None => {
                talk.session.parked_may_go_on();
                Box::pin(self.tell_of_other_tools(talk)).await?;
            }
            Some(cursor) if is_awaited => self.fetch(talk, Some(&cursor)).await,
            // Every call that waited has run out of time.
            Some(_) => {
                let why = Unanswered::Otherwise("no call waits for it".into());
                Self::give_up_own(talk, &Origin::Catalogue, why);
            }
        }
        Ok(())
    }

    async fn absorb_handshake<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        message: &Message,
        waits: Waits,
        trail: &Trail,
    ) -> Result<(), Stop> {
        let version = message.agreed_revision();
        let agreed = match &talk.session.state().protocol.lifecycle {
            Lifecycle::Ready(handshake) => version.as_deref() == Some(&*handshake.spoken.version),
            Lifecycle::New | Lifecycle::Initializing(_) => false,
        };
        if !agreed {
            return Err(Rejection::useless_reply(
                "it does not agree to what the session agreed on",
            )
            .into());
        }
        let taken_in = trail.taken_in(self.clock.elapsed());
        self.recorder.record(taken_in).await?;
        let greeted = Greeted {
            server_version: message.result().and_then(remember::server_version),
        };
        match waits {
            Waits::Here => {
                self.complete_handshake(talk, trail.server.run, greeted)
                    .await
            }
            Waits::Elsewhere(instance) => {
                let greeted = Some(greeted);
                talk.session
                    .state()
                    .connection
                    .greeted
                    .set(instance, greeted);
                Ok(())
            }
        }
    }

    /// The server of this run has agreed to what the session agreed on.
    pub(super) async fn complete_handshake<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        run: Run,
        Greeted { server_version }: Greeted,
    ) -> Result<(), Stop> {
        if has_left_since(talk, run) {
            return Ok(());
        }
        self.record_own(talk, Occasion::Initialized, Side::Upstream)
            .await?;
        // The next server has a handshake of its own.
        if has_left_since(talk, run) {
            return Ok(());
        }
        {
            let mut state = talk.session.state();
            state.parties.server_version = server_version;
            state.connection.upstream = Readiness::Up;
        }
        talk.upstream.handshake_completed();
        let initialized = OwnMessage::initialized();
        let told = self
            .tell(talk, Side::Upstream, Stream::MAIN, initialized)
            .await;
        if has_left_since(talk, run) {
            return told.map_err(|AgentGone| Stop::AgentGone);
        }
        // Behind it, or a message that waited would come first.
        talk.session.arrived();
        self.look_for_other_tools(talk).await;
        told.map_err(|AgentGone| Stop::AgentGone)
    }

    /// The same of an upstream that is up.
    pub(super) async fn ask_when_up<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        origin: Origin,
        message: impl FnOnce(u64) -> OwnMessage,
    ) {
        self.ask(talk, origin, Readiness::Up, message).await;
    }

    /// Asks the upstream for something of the gate's own, if it is as ready as it must be for that.
    /// What cannot be asked is given up.
    async fn ask<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        origin: Origin,
        ready: Readiness,
        message: impl FnOnce(u64) -> OwnMessage,
    ) {
        if let Err(refusal) = self.try_to_ask(talk, origin.clone(), ready, message).await {
            warn!("the gate could not ask the upstream itself: {refusal}");
            Self::give_up_own(talk, &origin, refusal.why_unanswered());
        }
    }

    async fn try_to_ask<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        origin: Origin,
        ready: Readiness,
        message: impl FnOnce(u64) -> OwnMessage,
    ) -> Result<(), Rejection> {
        let occasion = match origin {
            Origin::Handshake => Occasion::Handshake,
            Origin::Discovery => Occasion::Discovery,
            Origin::Trial(opening) => Occasion::Trial(method_of(opening)),
            Origin::Catalogue | Origin::Peer(_) | Origin::Consent(_) => Occasion::Catalogue,
        };
        let run = talk.session.run();
        let reference = self.record_own(talk, occasion, Side::Upstream).await?;
        if has_left_since(talk, run) {
            return Err(UpstreamFault::Left.into());
        }
        let (started, snapshot) = (self.clock.elapsed(), self.policies_of(&talk.session));
        let timeout = self.terms(&snapshot).request_timeout;
        let exchange = Exchange {
            ids: AuditIds {
                reference,
                ..AuditIds::default()
            },
            ..Exchange::own(
                origin,
                occasion.method(),
                snapshot,
                started,
                started.saturating_add(timeout),
            )
        };
        let minted = {
            let mut state = talk.session.state();
            talk.session.arm(&state, exchange.deadline);
            let admitted = state.waiting.to_upstream.admit(exchange);
            let Admitted(minted) = admitted.map_err(|_| Rejection::reused_id())?;
            minted
        };
        let permit = self.own_permit(&talk.session, Side::Upstream, Stream::MAIN, message(minted));
        // It may have died, or have been restarted, while the record was written.
        let is_ready =
            talk.session.state().connection.upstream == ready && self.due(talk).is_none();
        let sent = match permit {
            Ok(permit) if is_ready => talk.upstream.send(permit).await.map_err(Rejection::from),
            Ok(_) => Err(UpstreamFault::Down.into()),
            Err(refusal) => Err(refusal),
        };
        let Err(refusal) = sent else { return Ok(()) };
        // It is not there when it was given up meanwhile; then it has its outcome.
        let taken = talk
            .session
            .state()
            .waiting
            .to_upstream
            .take(&Id::integer(minted));
        if let Some(taken) = taken {
            self.close(talk, &taken, &refusal).await;
        }
        Err(refusal)
    }
}

/// What the session's handshake was, as it is repeated. None before there was one.
pub(super) fn agreed_on(session: &Session) -> Option<Fragment> {
    match &session.state().protocol.lifecycle {
        Lifecycle::Ready(handshake) => Fragment::decode(&handshake.params).ok(),
        Lifecycle::New | Lifecycle::Initializing(_) => None,
    }
}

impl Identified<'_> {
    /// Separates what the gate asked for itself, and what it asks for once more, from what goes on through
    /// it.
    pub(super) fn asked_by_peer(self) -> Result<Self, OwnReply> {
        let is_ours = again::is_not_taken(&self);
        match self.role {
            Role::Reply(taken) if is_ours || taken.exchange.origin.is_gate() => {
                Err(OwnReply(taken))
            }
            Role::Request { .. } | Role::Notification { .. } | Role::Reply(_) => Ok(self),
        }
    }
}
