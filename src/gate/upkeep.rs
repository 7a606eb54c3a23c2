//! What happens to a session without a message: time runs out, the upstream dies and comes back.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tracing::warn;

use crate::session::{Instance, Origin, OverHttp, Parked, Readiness, Taken, Waits};
use crate::wire::{Id, KnownMethod, Side, Stream};

use super::asking::lending;
use super::eras::Found;
use super::faults::{AgentGone, UpstreamFault};
use super::forward::{Abandoned, Agent, TakenOver, Upstream};
use super::isolate::leave_for_good;
use super::own::{Occasion, OwnMessage};
use super::parked::Over;
use super::rejection::Rejection;
use super::talk::Talk;
use super::{Gate, runs};

impl Gate {
    /// Time since the clock was made; deadlines are counted in it.
    pub fn elapsed(&self) -> Duration {
        self.clock.elapsed()
    }

    /// Wall-clock time, in milliseconds since the Unix epoch.
    pub fn now_ms(&self) -> i64 {
        self.clock.now().as_millisecond()
    }

    /// How servers are reached.
    pub fn over_http(&self) -> OverHttp {
        self.settings.over_http
    }

    /// Ends the requests whose time has run out: the other side is told to stop, the asker gets its
    /// one answer.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn expire<U: Upstream, A: Agent>(&self, talk: &Talk<U, A>) -> Result<(), AgentGone> {
        let _in_hand = talk.session.take_in_hand();
        let now = self.clock.elapsed();
        // Before the forms that people were shown: those are withdrawn with their questions.
        Box::pin(self.unanswered(talk)).await?;
        Box::pin(self.tell_who_waits(talk)).await?;
        let (parked, due, run) = {
            let mut state = talk.session.state();
            let run = state.run();
            let parked = state.take_expired_parked(now);
            let agents = state.waiting.to_upstream.take_expired(now);
            for taken in &agents {
                state.connection.forsaken.note(&taken.exchange);
            }
            let agents = agents.into_iter();
            let servers = state.waiting.to_agent.take_expired(now);
            for taken in &servers {
                lending::given_up(taken, &mut state, lending::after_time(taken));
            }
            let servers = servers.into_iter();
            let agents = agents.map(|taken| (Side::Agent, taken));
            let due = agents.chain(servers.map(|taken| (Side::Upstream, taken)));
            (parked, due.collect::<Vec<_>>(), run)
        };
        for parked in parked {
            self.end_parked(talk, &parked, Over::Time).await?;
        }
        for (asker, taken) in due {
            // What another server asked before is to be recorded, and nobody waits for it.
            if asker == Side::Upstream && runs::gone(&talk.session, run).is_some() {
                self.close(talk, &taken, &UpstreamFault::Left.into()).await;
                continue;
            }
            self.expired(talk, asker, taken).await?;
        }
        leave_for_good(talk);
        self.let_go_on(talk);
        Ok(())
    }

    /// The upstream has ended: every request that waits for it is answered, once.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn upstream_died<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
    ) -> Result<(), AgentGone> {
        self.upstream_lost(talk, UpstreamFault::Died).await
    }

    /// The same where more is known of what became of it.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn upstream_lost<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        fault: UpstreamFault,
    ) -> Result<(), AgentGone> {
        {
            let mut state = talk.session.state();
            // Before anything is awaited: what it said or asked counts no more.
            state.connection.ended = state.connection.ended.saturating_add(1);
        }
        let mut told = Box::pin(self.end_questions(talk, &fault)).await;
        let (waiting, asked) = {
            let mut state = talk.session.state();
            state.connection.upstream = Readiness::Down;
            state.lists.tools.start_over();
            state.lists.prompts.start_over();
            let asked = state.waiting.to_agent.take_all();
            for taken in &asked {
                lending::given_up(taken, &mut state, lending::in_time(taken));
            }
            (state.waiting.to_upstream.take_here(), asked)
        };
        talk.session.arrived();
        // Every request gets its outcome, also when there is nobody left to be told.
        for taken in waiting {
            let refusal: Rejection = fault.clone().into();
            let origin = taken.exchange.origin.clone();
            if origin.is_gate() {
                self.close(talk, &taken, &refusal).await;
            } else {
                let refusal = fault.clone().into();
                told = told.and(self.give_up(talk, Side::Agent, &taken, refusal).await);
            }
            // A handshake with the dead is nothing to be given up: the next one has its own.
            if matches!(
                origin,
                Origin::Catalogue | Origin::Discovery | Origin::Trial(_)
            ) {
                Self::give_up_own(talk, &origin, refusal.why_unanswered());
            }
        }
        for taken in asked {
            self.close(talk, &taken, &fault.clone().into()).await;
            if self.may_cancel(talk, &taken, Side::Agent).await {
                let cancel = OwnMessage::cancel(taken.minted, "the server has ended");
                let stream = taken.exchange.sent_on;
                told = told.and(self.tell(talk, Side::Agent, stream, cancel).await);
            }
        }
        told
    }

    /// The conversation is over: whatever waits for either server, or for a list of tools, is
    /// answered, once, and told why.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn conversation_ends<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        why: &UpstreamFault,
    ) -> Result<(), AgentGone> {
        let told = self.end_travelling(talk, why).await;
        let told = told.and(self.upstream_lost(talk, why.clone()).await);
        let mut told = told.and(self.end_all_parked(talk, why).await);
        for instance in Instance::ALL {
            told = told.and(self.lost_elsewhere(talk, instance, why).await);
        }
        if talk.agent.is_bridged() {
            self.end_questions_of(&talk.session).await;
        }
        told
    }

    /// The upstream runs again.
    pub async fn upstream_restarted<U: Upstream, A: Agent>(&self, talk: &Talk<U, A>) {
        self.stores.eras.forget(talk.session.run().instance);
        self.repeat_handshake(talk).await;
    }

    async fn expired<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        asker: Side,
        taken: Taken,
    ) -> Result<(), AgentGone> {
        let method = taken.exchange.method;
        warn!(
            reference = &*taken.exchange.ids.reference,
            method = method.name(),
            "timed out"
        );
        let deadline = taken
            .exchange
            .deadline
            .unwrap_or(taken.exchange.received.started);
        let allowed = deadline.saturating_sub(taken.exchange.received.started);
        let refusal = match asker {
            Side::Agent => UpstreamFault::TimedOut(allowed).into(),
            Side::Upstream => Rejection::unanswered(allowed),
        };
        // Whoever waits comes first: the other side may have ceased to read.
        if taken.exchange.origin.is_gate() {
            self.close(talk, &taken, &refusal).await;
            if taken.waits == Waits::Here {
                Self::give_up_own(talk, &taken.exchange.origin, refusal.why_unanswered());
            }
        } else {
            self.give_up(talk, asker, &taken, refusal).await?;
        }
        // MCP, basic/utilities/cancellation: `initialize` is never cancelled.
        if method == KnownMethod::Initialize {
            return Ok(());
        }
        // Nor is anything said to a server that may speak of nothing but sessions.
        if matches!(taken.exchange.origin, Origin::Discovery | Origin::Trial(_)) {
            let _ = talk.upstream.abandon(taken.minted);
            return Ok(());
        }
        let other = match asker {
            Side::Agent => Side::Upstream,
            Side::Upstream => Side::Agent,
        };
        if !self.may_cancel(talk, &taken, other).await {
            // To close a stream of our own says nothing to anybody.
            if other == Side::Upstream {
                let _ = talk.upstream.abandon(taken.minted);
            }
            return Ok(());
        }
        let (minted, stream) = (taken.minted, taken.exchange.sent_on);
        self.withdraw(talk, (minted, stream), other, "timed out")
            .await
    }

    /// Cancels the request that a side has under this id, on this stream.
    async fn withdraw<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        (minted, stream): (u64, Stream),
        told: Side,
        why: &str,
    ) -> Result<(), AgentGone> {
        if told == Side::Upstream && talk.upstream.abandon(minted) == Abandoned::Closed {
            return Ok(());
        }
        let cancel = OwnMessage::cancel(minted, why);
        // A side that has no room for a line need not be told; no clock may wait for it.
        at_once(self.tell(talk, told, stream, cancel))
            .await
            .unwrap_or(Ok(()))
    }

    /// Cancels each request that the server works on, before the conversation ends. The agent gets its
    /// answers later. If the future is dropped, some requests are cancelled and others not.
    pub async fn call_off<U: Upstream, A: Agent>(&self, talk: &Talk<U, A>) {
        let mut open: Vec<_> = {
            let state = talk.session.state();
            let open = state.waiting.to_upstream.worked_on();
            open.map(|(minted, exchange)| {
                let known_as = (
                    Arc::clone(&exchange.ids.reference),
                    Arc::clone(&exchange.ids.correlation),
                );
                (minted, exchange.sent_on, known_as)
            })
            .collect()
        };
        open.sort_unstable_by_key(|(minted, ..)| *minted);
        for (minted, stream, (reference, work)) in open {
            let occasion = Occasion::GivenUp(&reference, &work);
            if self.may_call_off(talk, occasion, Side::Upstream).await {
                let at = (minted, stream);
                // INVARIANT: a message to the server never fails because the agent has gone.
                let _ = self
                    .withdraw(talk, at, Side::Upstream, "the session has ended")
                    .await;
            }
        }
    }

    /// The upstream will not reply to this one request, by the id that the gate minted.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn upstream_failed<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        minted: u64,
        fault: UpstreamFault,
    ) -> Result<(), AgentGone> {
        let _in_hand = talk.session.take_in_hand();
        let taken = talk
            .session
            .state()
            .waiting
            .to_upstream
            .take(&Id::integer(minted));
        // It has been answered, or was cancelled.
        match taken {
            Some(taken) => self.fails(talk, &taken, fault).await,
            None => Ok(()),
        }
    }

    /// The same of a request that was spent.
    pub(super) async fn fails<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        taken: &Taken,
        fault: UpstreamFault,
    ) -> Result<(), AgentGone> {
        if taken.exchange.origin.is_gate() {
            let (why, found) = (
                fault.why_unanswered(),
                self.undiscovered(talk, taken, &fault),
            );
            self.close(talk, taken, &fault.into()).await;
            if found == Found::Nothing && taken.waits == Waits::Here {
                Self::give_up_own(talk, &taken.exchange.origin, why);
            }
            return Ok(());
        }
        let refusal = self
            .stores
            .eras
            .without_message(&talk.session, taken, fault);
        if Self::give_over_discovery(talk, taken, &refusal) == TakenOver::Yes {
            self.close(talk, taken, &refusal).await;
            return Ok(());
        }
        self.give_up(talk, Side::Agent, taken, refusal).await
    }

    /// The agent no longer reads one of its streams. Whatever it waited for there is cancelled: to
    /// be called only where closing a stream says so (from `2026-07-28` on, over HTTP).
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn hung_up<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        stream: Stream,
    ) -> Result<(), AgentGone> {
        let _in_hand = talk.session.take_in_hand();
        let taken = {
            let mut state = talk.session.state();
            for parked in &mut state.waiting.parked {
                parked.cancelled |= parked.received.stream == stream;
            }
            let on_it = |waiting: &Parked| waiting.received.stream == stream;
            if state.waiting.asking.cancel(Side::Agent, on_it) {
                talk.session.bell().notify_one();
            }
            let taken = state.waiting.to_upstream.take_on(stream);
            for taken in &taken {
                state.connection.forsaken.note(&taken.exchange);
            }
            taken
        };
        for taken in taken {
            self.close(talk, &taken, &Rejection::cancelled()).await;
            if self.may_cancel(talk, &taken, Side::Upstream).await {
                let at = (taken.minted, taken.exchange.sent_on);
                self.withdraw(talk, at, Side::Upstream, "the agent has hung up")
                    .await?;
            }
        }
        Ok(())
    }

    /// Records that a side is about to be told that nobody waits for its answer any more. What
    /// cannot be recorded is not said.
    pub(super) async fn may_cancel<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        taken: &Taken,
        told: Side,
    ) -> bool {
        // Neither a server that the session has left nor one that has answered gets a cancellation.
        let is_beyond = told == Side::Upstream
            && (matches!(taken.waits, Waits::Elsewhere(_)) || taken.has_replied);
        let ids = &taken.exchange.ids;
        let occasion = Occasion::GivenUp(&ids.reference, &ids.correlation);
        !is_beyond && self.may_call_off(talk, occasion, told).await
    }

    /// The same on this occasion.
    async fn may_call_off<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        occasion: Occasion<'_>,
        told: Side,
    ) -> bool {
        // The open server is not told even that, once the session is too sensitive for it.
        if told == Side::Upstream && self.due(talk).is_some() || talk.reachable(told).is_err() {
            return false;
        }
        match self.record_own(talk, occasion, told).await {
            Ok(_) => true,
            Err(fault) => {
                warn!("a cancellation could not be recorded, and is not sent: {fault}");
                false
            }
        }
    }
}

/// What a future brings if it does not have to wait. A line that is dropped while it waits to be
/// queued has not been sent at all.
async fn at_once<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}
