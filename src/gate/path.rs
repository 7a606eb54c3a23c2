//! The path itself: from bytes to what leaves.

use std::sync::Arc;

use crate::policy::{PolicySnapshot, SessionSensitivity};
use crate::session::{Asker, Session};
use crate::wire::{Message, Side};

use super::arrival::Arrival;
use super::classified::Identified;
use super::context::RequestContext;
use super::edits::EditPlan;
use super::filter::{Leaving, Placement};
use super::forward::{Agent, Upstream};
use super::local::LocalAnswer;
use super::look::{Look, shows};
use super::oblige::{self, Wanted};
use super::permit::{self, Allowed, Permit};
use super::pin::Pins;
use super::query::{Circumstances, Understood};
use super::record::Trail;
use super::record::content::ContentRecorder;
use super::rejection::Rejection;
use super::route::{self, Route, Undone};
use super::runs::has_left_since;
use super::saver::SavedFile;
use super::sent::Sent;
use super::stop::Stop;
use super::takeover::needs_pages;
use super::talk::Talk;
use super::tasks::Recalled;
use super::{Gate, identify, remember, understand};

impl Gate {
    /// The path of a message: each step consumes what only the one before can make. Requests, replies,
    /// notifications and what a server asks for take the same one, in both directions.
    pub(super) async fn exchange<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        arrival: Arrival,
        frame: &[u8],
        trail: &mut Trail,
    ) -> Result<(), Stop> {
        let message = self.decode(talk, arrival.from, frame, trail)?;
        let current = self.policies_with_roots(&talk.session).await;
        let current = current.map_err(Rejection::from)?;
        let message = self.inward(message, arrival.from, &current, trail)?;
        let identified = self
            .classify(talk, &message, arrival, &current, trail)
            .await?;
        let identified = match identified.asked_by_peer() {
            Ok(identified) => identified,
            Err(own) => return Box::pin(self.absorb(talk, &message, own, trail)).await,
        };
        let snapshot = permit::revision(&identified.role, current);
        let recalled = self.recall(&identified, &talk.session);
        let mut cx = self.context(talk, identified, frame, &snapshot, trail);
        let left = self.pass(talk, &mut cx, &recalled).await;
        left.inspect_err(|stop| self.chains.all.on_stopped(&mut cx, stop))
    }

    /// From what a message asks for to what leaves.
    async fn pass<'m, U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        cx: &mut RequestContext<'m>,
        recalled: &'m Recalled,
    ) -> Result<(), Stop> {
        self.chains.all.on_classified(cx)?;
        if let Some(answer) = cx.trail.effects.local_answer.take() {
            return Box::pin(self.answer_here(talk, cx, answer)).await;
        }
        self.understand(cx, recalled)?;
        let allowed = self.chains.all.authorize(cx).await?;
        self.chains.all.on_permitted(cx).await?;
        if let Some(answer) = cx.trail.effects.local_answer.take() {
            return Box::pin(self.answer_here(talk, cx, answer)).await;
        }
        let (permit, route) = self.seal(cx, allowed)?;
        self.leave(talk, cx, permit, route).await
    }

    /// Answers a request without its server.
    async fn answer_here<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        cx: &mut RequestContext<'_>,
        answer: LocalAnswer,
    ) -> Result<(), Stop> {
        match answer {
            LocalAnswer::Piece(piece) => self.read_on(talk, cx, &piece).await,
            LocalAnswer::Reply(reply) => self.answer_with(talk, cx, &reply).await,
        }
    }

    /// Reads what a message asks for.
    pub(super) fn understand<'m>(
        &self,
        cx: &mut RequestContext<'m>,
        recalled: &'m Recalled,
    ) -> Result<(), Rejection> {
        let look = Look::under(cx.snapshot, cx.terms);
        understand::understand(&mut cx.understood, recalled, look).map_err(|refusal| {
            let message = cx.understood.identified.message;
            needs_pages(refusal, message, &cx.session.state())
        })?;
        let understood = &cx.understood;
        cx.trail
            .understood(understood, cx.session, cx.snapshot, &self.settings);
        Ok(())
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
            shortening: super::shortening::shortening(cx, &self.stores.kept),
            ..Wanted::of(&understood.identified, cx.snapshot)
        };
        let exchange = |asker: &Asker, method| {
            self.exchange_of(asker, method, understood, cx.snapshot, cx.trail)
        };
        let mut route = route::route(understood, session, exchange)?;
        let secrets = (&self.settings.secrets, cx.terms.guards.secrets.as_ref());
        let passage = route.passage(understood, cx.trail.onward());
        let ids = std::mem::take(&mut route.ids);
        let obliged = oblige::oblige(message, allowed, wanted, ids, passage, secrets);
        let mut obliged = obliged.inspect_err(|_| {
            let _ = route.undo(from, &mut session.state());
        })?;
        route.is_edited = !(obliged.redactions.is_empty() && obliged.edits.is_empty());
        let recorder = self.content_recorder(cx.snapshot);
        cx.trail.obliged((cx.limits, recorder), &mut obliged);
        cx.brings = obliged.brings.join(&cx.brings);
        Ok((obliged.permit, route))
    }

    /// Records a message that may leave, and sends it. If it does not leave, its ids are free again.
    async fn leave<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        cx: &mut RequestContext<'_>,
        permit: Permit,
        mut route: Route<'_>,
    ) -> Result<(), Stop> {
        let left = self.record_and_send(talk, cx, permit, &mut route).await;
        let from = cx.understood.identified.from;
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
            is_edited: route.is_edited,
        };
        self.chains.all.on_leaving(cx, &leaving).await?;
        let record = cx.trail.passed(permit.to(), self.clock.elapsed());
        self.recorder.record(record).await?;
        cx.trail.departed();
        let ended = route.end(&mut session.state());
        let was_answered = ended.as_ref().is_some_and(|taken| taken.has_replied);
        if let Some(taken) = ended {
            Box::pin(self.settle(talk, from, taken)).await;
        }
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
            &cx.trail.effects.drifted,
            cx.trail.server.run,
        );
        cx.now.at = self.clock.elapsed();
        let placement = if has_left_since(talk, cx.trail.server.run) {
            Placement::Left
        } else {
            Placement::Current
        };
        self.chains.all.on_sent(cx, placement);
        Self::is_still_there(talk, cx.trail.server.began_at, &permit, cx.trail)?;
        // Gives the room back: the receiver may be slow.
        cx.trail.holds.room = None;
        self.send(talk, permit).await?;
        let files = std::mem::take(&mut cx.trail.effects.files);
        files.into_iter().for_each(SavedFile::stay);
        Ok(())
    }

    /// What a message is, and whose.
    async fn classify<'m, U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        message: &'m Message,
        arrival: Arrival,
        current: &PolicySnapshot,
        trail: &mut Trail,
    ) -> Result<Identified<'m>, Stop> {
        let from = arrival.from;
        trail.server.began_at = self.begins_at(talk, from);
        let (kept, fault) = self.held_by(talk, from, message, trail).await?;
        trail.sensitivity.store_fault = fault;
        let most = self.terms(current).max_in_flight;
        let known = (&self.settings.extensions, most);
        let client = trail.carried.headers.client.as_ref();
        let identified = identify::identify(message, arrival, &talk.session, kept, known, client)?;
        trail.identified(talk, &identified, from);
        Ok(identified)
    }

    /// What the tasks that a message names began with.
    pub(super) fn recall(&self, identified: &Identified<'_>, session: &Session) -> Recalled {
        self.stores
            .tasks
            .recall(identified, session, self.clock.elapsed())
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
        if id.is_some_and(|id| shows(id.json(), &self.settings.secrets)) {
            trail.cannot_repeat_its_id(from);
            return Err(Rejection::secret());
        }
        Ok(message)
    }

    pub(super) fn pins<'p>(&'p self, session: &'p Session, snapshot: &PolicySnapshot) -> Pins<'p> {
        Pins::of_session(session, &self.stores.seen, self.terms(snapshot))
    }

    /// How arguments and results are recorded now.
    pub(in crate::gate) fn content_recorder<'s>(
        &'s self,
        snapshot: &'s PolicySnapshot,
    ) -> ContentRecorder<'s> {
        ContentRecorder::new(&self.settings, snapshot)
    }

    /// What is known of a message when filters first meet it.
    pub(super) fn context<'m, U, A: Agent>(
        &'m self,
        talk: &'m Talk<U, A>,
        identified: Identified<'m>,
        frame: &'m [u8],
        snapshot: &'m Arc<PolicySnapshot>,
        trail: &'m mut Trail,
    ) -> RequestContext<'m> {
        trail.judged_under(snapshot);
        RequestContext {
            session: &talk.session,
            snapshot,
            terms: self.terms(snapshot),
            pins: self.pins(&talk.session, snapshot),
            limits: self.limits(identified.from),
            now: self.circumstances(talk),
            frame,
            page: None,
            plan: EditPlan::default(),
            brings: SessionSensitivity::default(),
            trail,
            understood: Understood::unread(identified),
        }
    }

    pub(super) fn circumstances<U, A: Agent>(&self, talk: &Talk<U, A>) -> Circumstances {
        Circumstances {
            transport: talk.session.transport,
            now_ms: self.clock.now().as_millisecond(),
            at: self.clock.elapsed(),
            lends: talk.agent.lends(),
        }
    }
}
