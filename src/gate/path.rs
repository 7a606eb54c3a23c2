//! The path itself: from bytes to what leaves.

use crate::gate::context::RequestContext;
use crate::gate::permit::Allowed;

use crate::policy::PolicySnapshot;
use crate::session::{Asker, Kept, Session};
use crate::wire::{Message, Side};

use super::arrival::Arrival;
use super::asking::lending;
use super::classified::Identified;
use super::filter::{Leaving, Placement};
use super::forward::{Agent, Upstream};
use super::isolate::has_left_since;
use super::leaks::Look;
use super::oblige::Wanted;
use super::permit::Permit;
use super::pin::Pins;
use super::record::Trail;
use super::rejection::Rejection;
use super::route::{Route, Undone};
use super::sent::Sent;
use super::stop::Stop;
use super::talk::Talk;
use super::{Gate, identify, kept, oblige, permit, remember, route, understand};

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
        trail.begun = self.place(talk, from);

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
        let terms = self.terms(&snapshot);

        let recalled = self.tasks.recall(&identified, session, at);
        if let Some(asked) = kept::asked(&identified) {
            let read = self.read_on(talk, identified, (&asked, frame), &snapshot, trail);
            return Box::pin(read).await;
        }
        let look = Look::under(&snapshot, terms);
        let understood = understand::understand(identified, &recalled, look)?;
        trail.understood(&understood, session, &snapshot, &self.settings);
        let mut cx = self.context(talk, understood, frame, &snapshot, trail);
        let left = self.exchange(talk, &mut cx).await;
        if let Err(stop) = &left {
            self.chain.on_stopped(&mut cx, stop);
        }
        left
    }

    /// From what is asked of policy to what leaves.
    async fn exchange<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        cx: &mut RequestContext<'_>,
    ) -> Result<(), Stop> {
        let allowed = self.chain.authorize(cx).await?;
        self.chain.on_permitted(cx).await?;
        if let Some(reply) = cx.trail.kept_reply.take() {
            return Box::pin(self.answer_with(talk, cx, &reply)).await;
        }
        let (permit, mut route) = self.seal(cx, allowed)?;
        let left = self.leave(talk, cx, permit, &mut route).await;
        let from = cx.understood.identified.from;
        left.map_err(|stop| match route.undo(from, &mut talk.session.state()) {
            Undone::Yes => stop,
            // While it waited to be sent its time ran out, or the upstream died: it has been
            // answered.
            Undone::Settled => Stop::Settled,
        })
    }

    /// Applies all edits of a permitted message, once, and enters it among those that wait for a reply.
    fn seal<'m>(
        &self,
        cx: &mut RequestContext<'m>,
        allowed: Allowed,
    ) -> Result<(Permit, Route<'m>), Stop> {
        cx.trail.found(std::mem::take(&mut cx.plan.findings));
        let (understood, session) = (&cx.understood, cx.session);
        let (message, from) = (understood.identified.message, understood.identified.from);
        let wanted = Wanted {
            plan: std::mem::take(&mut cx.plan),
            shortening: super::shortening::shortening(cx, &self.kept),
            ..Wanted::of(&understood.identified, cx.snapshot)
        };
        let exchange = |asker: &Asker, method| {
            self.exchange_of(asker, method, understood, cx.snapshot, cx.trail)
        };
        let mut route = route::route(understood, session, exchange)?;
        let secrets = (&self.settings.secrets, cx.terms.guards.secrets.as_ref());
        let passage = route.passage(understood, cx.trail.onward());
        let ids = std::mem::take(&mut route.ids);
        let obliged = oblige::oblige(message, allowed, wanted, ids, passage, secrets)
            .and_then(|obliged| self.still_fits(understood, cx.snapshot, obliged));
        let mut obliged = obliged.inspect_err(|_| {
            let _ = route.undo(from, &mut session.state());
        })?;
        cx.trail.obliged(self, from, cx.snapshot, &mut obliged);
        cx.brings = obliged.brings.join(&cx.brings);
        Ok((obliged.permit, route))
    }

    /// Records a message that may leave, and sends it.
    async fn leave<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        cx: &mut RequestContext<'_>,
        permit: Permit,
        route: &mut Route<'_>,
    ) -> Result<(), Stop> {
        let (session, from) = (cx.session, cx.understood.identified.from);
        let sent = Sent::new(permit.line(), cx.limits);
        talk.reachable(permit.to())?;
        let leaving = Leaving {
            sent,
            opened: route.opened,
            counted: route.counted,
        };
        self.chain.on_leaving(cx, &leaving).await?;
        let record = cx.trail.passed(permit.to(), self.clock.elapsed());
        self.recorder.record(record).await?;
        cx.trail.departed();
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
        let page = cx.page.as_deref();
        remember::remember(
            talk,
            &cx.understood,
            sent,
            page,
            &cx.trail.drifted,
            cx.trail.run,
        );
        cx.now.at = self.clock.elapsed();
        let placement = if has_left_since(talk, cx.trail.run) {
            Placement::Left
        } else {
            Placement::Current
        };
        self.chain.on_sent(cx, placement);
        Self::is_still_there(talk, cx.trail.begun, &permit, cx.trail)?;
        // Gives the room back: the receiver may be slow.
        cx.trail.room = None;
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
}
