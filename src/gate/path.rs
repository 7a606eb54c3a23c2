//! The path itself: from bytes to what leaves.

use std::sync::Arc;

use crate::policy::{PolicySnapshot, SessionSensitivity};
use crate::session::{Asker, Kept, Page, Place, Session};
use crate::wire::{Message, Side};

use super::arrival::Arrival;
use super::asking::lending;
use super::classified::Identified;
use super::decide::{Permit, Stop};
use super::drift::Drift;
use super::forward::{Agent, Upstream};
use super::isolate::{has_left_since, leads_nowhere};
use super::listing::Listing;
use super::oblige::Wanted;
use super::pin::Pins;
use super::query::{Circumstances, Understood};
use super::record::Trail;
use super::rejection::Rejection;
use super::route::{Route, Undone};
use super::sent::Sent;
use super::talk::Talk;
use super::{
    Gate, consent, cursors, decide, granted, identify, kept, listening, listing, oblige, pin,
    ratchet, remember, repeated, route, text, understand,
};

/// A message that is judged, and what its leaving changes.
struct Leaving<'l, 'm> {
    from: Side,
    begun: Option<Place>,
    understood: &'l Understood<'m>,
    snapshot: &'l Arc<PolicySnapshot>,
    page: Option<&'l Page>,
    drifts: &'l [Drift<'m>],
    brings: &'l SessionSensitivity,
    permit: Permit,
}

impl Gate {
    /// The path itself: each step consumes what only the one before can make. Requests, replies,
    /// notifications and what a server asks for take the same one, in both directions.
    pub(super) async fn pass<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        arrival: Arrival,
        frame: &[u8],
        trail: &mut Trail,
    ) -> Result<(), Stop> {
        let from = arrival.from;
        let session = &talk.session;
        let now = self.circumstances(session);
        let begun = self.place(talk, from);

        let current = self.policy.current();
        let message = self.decode(talk, from, frame, trail)?;
        let message = self.inward(message, from, &current, trail)?;
        let (kept, fault) = self.held_by(talk, from, &message, trail).await?;
        let identified = self.identify(&message, arrival, session, kept, &current)?;
        trail.identified(talk, &identified, from);
        let identified = match identified.asked_by_peer() {
            Ok(identified) => identified,
            Err(own) => return self.absorb(talk, &message, own, trail).await,
        };
        self.may_come(&identified, session, trail)?;
        if let Some(fault) = fault {
            return Err(fault.into());
        }
        lending::heard(&identified, session, self.clock.elapsed());
        let snapshot = decide::revision(&identified.role, current);
        trail.judged_under(&snapshot);
        let (terms, pins) = (self.terms(&snapshot), self.pins(session, &snapshot));

        let recalled = self
            .tasks
            .recall(&identified, session, self.clock.elapsed());
        if let Some(asked) = kept::asked(&identified) {
            let read = self.read_on(talk, identified, &asked, &snapshot, trail);
            return Box::pin(read).await;
        }
        let mut understood = understand::understand(identified, &recalled, self.look(&snapshot))?;
        trail.understood(&understood, session, &snapshot, &self.settings);
        self.classify(&understood, session, &snapshot, trail)
            .await?;
        pin::pin(&mut understood, &snapshot, pins)?;
        // Before anybody is asked about it.
        self.leads_on(&understood, session)?;
        let contained = ratchet::contained(&mut understood, &snapshot);
        let unheard = listening::unheard(&mut understood, session, &snapshot, now, trail)?;
        Box::pin(self.follow(&mut understood, session, &snapshot, trail)).await?;
        let admitting = self.admit(&mut understood, &snapshot, pins, now, trail);
        let admitted = admitting.await;
        if let Err(Stop::Park) = admitted {
            self.give_back(&understood, trail);
        }
        let allowed = admitted?;
        self.stays(talk, begun, &understood, trail)?;
        let repeated = trail.carrier.repeated.as_ref();
        repeated::check(&understood, session, repeated, frame, self.limits(from))?;
        let standing = self.standing(&understood)?;
        lending::answered_within(session, standing.answers);
        self.may_begin(talk, &understood, standing.turn, &snapshot, trail)?;
        if let Some(reply) = &standing.reply {
            return Box::pin(self.answer_with(talk, &understood, reply, trail)).await;
        }
        let reading = self.reading(session, &snapshot);
        let Listing {
            mut removals,
            page,
            drifts,
        } = listing::listing(&understood, &snapshot, pins, now, reading).await?;
        removals.extend(standing.unasked.into_iter().chain(unheard));
        removals.extend(self.tasks_removals(&understood, &snapshot, pins, now)?);
        let found = text::cleaned(&understood.identified, page.as_deref(), &terms.guards.texts);
        trail.found(found.findings);
        let wanted = Wanted {
            removals,
            texts: found.strings,
            rewrites: self.hints(&understood, &snapshot),
            shortening: self.shortening(&understood, &snapshot),
            ..Wanted::of(&understood.identified, &snapshot)
        };
        self.may_come_again(&understood.identified, session, frame, trail);
        let exchange = |asker: &Asker, method| {
            self.exchange(asker, method, standing.turn, &understood, &snapshot, trail)
        };
        let mut route = route::route(&understood, session, exchange)?;
        let secrets = (&self.settings.secrets, terms.guards.secrets.as_ref());
        let passage = route.passage(&understood, trail.onward());
        let mut obliged = oblige::oblige(&message, allowed, wanted, &mut route, passage, secrets)
            .and_then(|obliged| self.still_fits(&understood, &snapshot, obliged))
            .inspect_err(|_| {
                let _ = route.undo(from, &mut session.state());
            })?;
        trail.obliged(self, from, &snapshot, &mut obliged);

        let leaving = Leaving {
            from,
            begun,
            understood: &understood,
            snapshot: &snapshot,
            page: page.as_deref(),
            drifts: &drifts,
            brings: &obliged.brings.join(&contained),
            permit: obliged.permit,
        };
        let left = self.leave(talk, leaving, &mut route, trail).await;
        left.map_err(|stop| match route.undo(from, &mut session.state()) {
            Undone::Yes => stop,
            // While it waited to be sent its time ran out, or the upstream died: it has been
            // answered.
            Undone::Settled => Stop::Settled,
        })
    }

    /// Whether an agent can go on with a reply that is not the end of its request, and whether what it goes
    /// on with was given to it.
    fn leads_on(&self, understood: &Understood<'_>, session: &Session) -> Result<(), Stop> {
        leads_nowhere(understood)?;
        cursors::check(understood, session)?;
        let (over_http, at) = (self.settings.over_http, self.clock.elapsed());
        Ok(self.tasks.are_apart(understood, session, over_http, at)?)
    }

    /// Records a message that may leave, and sends it.
    async fn leave<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        leaving: Leaving<'_, '_>,
        route: &mut Route<'_>,
        trail: &mut Trail,
    ) -> Result<(), Stop> {
        let Leaving {
            from,
            begun,
            understood,
            snapshot,
            page,
            drifts,
            brings,
            permit,
        } = leaving;
        let session = &talk.session;
        let sent = Sent::new(permit.line(), self.limits(from));
        granted::note_asked(&understood.identified, route.opened, sent, session);
        self.learn(understood, session, brings, trail).await?;
        talk.reachable(permit.to())?;
        self.pay(understood, trail).await?;
        if route.counted {
            self.count_call(understood, session, trail).await?;
        }
        if !drifts.is_empty() {
            // Seldom, so that its room is not that of every message.
            Box::pin(self.tell_of(talk, snapshot, drifts)).await?;
        }
        let record = trail.passed(permit.to(), self.clock.elapsed());
        self.audit.record(self.concealed(record)).await?;
        trail.departed();
        let ended = route.end(&mut session.state());
        let was_answered = ended.as_ref().is_some_and(|taken| taken.has_replied);
        self.settle(talk, from, ended).await;
        // Whoever has answered need not be told that nobody waits.
        if was_answered {
            return Err(Stop::Settled);
        }
        // While it was recorded, its time may have run out, or it was cancelled.
        if !route.still_waits(from, &mut session.state()) {
            return Err(Stop::Settled);
        }
        remember::remember(talk, understood, sent, page, drifts, trail.run);
        if page.is_some() {
            self.tell_of_unlisted(snapshot, &session.state().tools);
        }
        let at = self.clock.elapsed();
        consent::keep_for_the_session(understood, snapshot, session, trail);
        // While it was recorded, the session may have left the server that says it.
        if !has_left_since(talk, trail.run) {
            if let Some(round) = self.rounds.note(understood, at) {
                let timeout = self.terms(snapshot).request_timeout;
                lending::asked_within(understood, session, round, at, timeout);
            }
            let over_http = self.settings.over_http;
            self.tasks.note(understood, session, over_http, at);
        }
        self.extend(understood, session);
        Self::is_still_there(talk, begun, &permit, trail)?;
        // Gives the room back: the receiver may be slow.
        trail.room = None;
        self.send(talk, permit).await
    }

    fn identify<'m>(
        &self,
        message: &'m Message,
        arrival: Arrival,
        session: &Session,
        kept: Kept,
        current: &PolicySnapshot,
    ) -> Result<Identified<'m>, Rejection> {
        let most = self.terms(current).max_in_flight;
        identify::identify(
            message,
            arrival,
            session,
            kept,
            (&self.settings.extensions, most),
        )
    }

    /// Bytes to one strict message.
    pub(super) fn decode<U, A>(
        &self,
        talk: &Talk<U, A>,
        from: Side,
        frame: &[u8],
        trail: &mut Trail,
    ) -> Result<Message, Rejection> {
        let message = Message::decode(frame, self.limits(from))
            .inspect_err(|error| trail.undecodable(talk, from, error))?;
        trail.decoded(talk, &message, from);
        if message.method().is_some() {
            trail.take_place(&self.settings, message.meta());
            if from == Side::Agent && message.id().is_some() {
                trail.take_trace_id(&message);
            }
        }
        // An id is repeated in the answer, where nothing can stand for it.
        let id = message.id().filter(|_| message.method().is_some());
        if id.is_some_and(|id| oblige::shows(id.json(), &self.settings.secrets)) {
            trail.cannot_repeat_its_id(from);
            return Err(Rejection::secret());
        }
        Ok(message)
    }

    pub(super) fn pins<'p>(&'p self, session: &'p Session, snapshot: &PolicySnapshot) -> Pins<'p> {
        let guards = &self.terms(snapshot).guards;
        Pins {
            session,
            seen: &self.seen,
            names: guards.tool_names,
            uris: guards.uris,
        }
    }

    pub(super) fn circumstances(&self, session: &Session) -> Circumstances {
        Circumstances {
            transport: session.transport,
            now_ms: self.clock.now().as_millisecond(),
        }
    }
}
