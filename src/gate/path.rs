//! The path itself: from bytes to what leaves.

use crate::gate::context::RequestContext;
use std::sync::Arc;

use crate::policy::{PolicySnapshot, SessionSensitivity};
use crate::session::{Asker, Kept, Page, Place, Session};
use crate::wire::{Message, Side};

use super::arrival::Arrival;
use super::asking::lending;
use super::classified::Identified;
use super::drift::Drift;
use super::edits::{EditPlan, Removal};
use super::filter::{Leaving, Permitted, Placement};
use super::forward::{Agent, Upstream};
use super::isolate::has_left_since;
use super::leaks::Look;
use super::listing::Listing;
use super::oblige::Wanted;
use super::permit::Permit;
use super::pin::Pins;
use super::query::{Circumstances, Understood};
use super::record::Trail;
use super::rejection::Rejection;
use super::route::{Route, Undone};
use super::sent::Sent;
use super::shortening::Shortening;
use super::stop::Stop;
use super::talk::Talk;
use super::{
    Gate, consent, granted, identify, kept, listing, oblige, permit, remember, repeated, route,
    understand,
};

/// A judged message, with the state that the gate updates when it is sent.
struct Judged<'l, 'm> {
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
        let at = self.clock.elapsed();
        lending::heard(&identified, session, at);
        let snapshot = permit::revision(&identified.role, current);
        trail.judged_under(&snapshot);
        let (terms, pins) = (self.terms(&snapshot), self.pins(session, &snapshot));

        let recalled = self.tasks.recall(&identified, session, at);
        if let Some(asked) = kept::asked(&identified) {
            let read = self.read_on(talk, identified, &asked, &snapshot, trail);
            return Box::pin(read).await;
        }
        let look = Look::under(&snapshot, terms);
        let understood = understand::understand(identified, &recalled, look)?;
        trail.understood(&understood, session, &snapshot, &self.settings);
        let mut cx = self.context(understood, session, &snapshot, trail);
        let authorized = self.chain.authorize(&mut cx).await;
        if let Err(Stop::Park) = authorized {
            self.give_back(&cx.understood, cx.trail);
        }
        let allowed = authorized?;
        let RequestContext {
            understood,
            plan,
            brings: contained,
            trail,
            ..
        } = cx;
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
        removals.extend(standing.unasked.into_iter().chain(plan.removals));
        let permitted = Permitted {
            understood: &understood,
            session,
            snapshot: &snapshot,
            terms,
            now,
            at: self.clock.elapsed(),
            page: page.as_deref(),
        };
        let wanted = self.edits(&permitted, removals, trail)?;
        self.may_come_again(&understood.identified, session, frame, trail);
        let exchange = |asker: &Asker, method| {
            self.exchange(asker, method, standing.turn, &understood, &snapshot, trail)
        };
        let mut route = route::route(&understood, session, exchange)?;
        let secrets = (&self.settings.secrets, terms.guards.secrets.as_ref());
        let passage = route.passage(&understood, trail.onward());
        let obliged = oblige::oblige(&message, allowed, wanted, &mut route, passage, secrets)
            .and_then(|obliged| self.still_fits(&understood, &snapshot, obliged));
        let mut obliged = obliged.inspect_err(|_| {
            let _ = route.undo(from, &mut session.state());
        })?;
        trail.obliged(self, from, &snapshot, &mut obliged);

        let judged = Judged {
            from,
            begun,
            understood: &understood,
            snapshot: &snapshot,
            page: page.as_deref(),
            drifts: &drifts,
            brings: &obliged.brings.join(&contained),
            permit: obliged.permit,
        };
        self.leave(talk, judged, &mut route, trail).await
    }

    /// The edits of a permitted message: `removals`, and those that filters add.
    fn edits<'c>(
        &'c self,
        permitted: &Permitted<'c>,
        removals: Vec<Removal<'c>>,
        trail: &mut Trail,
    ) -> Result<Wanted<'c>, Rejection> {
        let shortening = self.shortening(permitted.understood, permitted.snapshot);
        let mut plan = EditPlan {
            removals,
            shortened_over: shortening.map(Shortening::over),
            ..EditPlan::default()
        };
        self.chain.on_permitted(permitted, &mut plan)?;
        trail.found(std::mem::take(&mut plan.findings));
        let identified = &permitted.understood.identified;
        Ok(Wanted {
            plan,
            shortening,
            ..Wanted::of(identified, permitted.snapshot)
        })
    }

    /// Records a message that may leave, and sends it. If it does not leave, its ids are free again.
    async fn leave<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        judged: Judged<'_, '_>,
        route: &mut Route<'_>,
        trail: &mut Trail,
    ) -> Result<(), Stop> {
        let from = judged.from;
        let left = self.record_and_send(talk, judged, route, trail).await;
        left.map_err(|stop| match route.undo(from, &mut talk.session.state()) {
            Undone::Yes => stop,
            // While it waited to be sent its time ran out, or the upstream died: it has been
            // answered.
            Undone::Settled => Stop::Settled,
        })
    }

    async fn record_and_send<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        judged: Judged<'_, '_>,
        route: &mut Route<'_>,
        trail: &mut Trail,
    ) -> Result<(), Stop> {
        let Judged {
            from,
            begun,
            understood,
            snapshot,
            page,
            drifts,
            brings,
            permit,
        } = judged;
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
        self.recorder.record(record).await?;
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
        consent::keep_for_the_session(understood, snapshot, session, trail);
        self.chain.on_sent(&Leaving {
            understood,
            session,
            snapshot,
            terms: self.terms(snapshot),
            at: self.clock.elapsed(),
            page,
            placement: if has_left_since(talk, trail.run) {
                Placement::Left
            } else {
                Placement::Current
            },
        });
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
        Pins::of_session(session, &self.seen, self.terms(snapshot))
    }

    pub(super) fn circumstances(&self, session: &Session) -> Circumstances {
        Circumstances {
            transport: session.transport,
            now_ms: self.clock.now().as_millisecond(),
        }
    }
}
