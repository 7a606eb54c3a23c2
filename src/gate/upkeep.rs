//! What happens to a session without a message: time runs out, the upstream dies and comes back.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tracing::warn;

use crate::audit::{self, AuditFault, Kind, Record};
use crate::session::{Origin, Readiness, Taken};
use crate::wire::{KnownMethod, Limits, Side};

use super::Gate;
use super::forward::{Agent, AgentGone, Upstream, UpstreamFault};
use super::own::OwnMessage;
use super::record::Trail;
use super::refuse::Refusal;
use super::talk::Talk;

impl Gate {
    /// Time since the clock was made; deadlines are counted in it.
    pub fn elapsed(&self) -> Duration {
        self.clock.elapsed()
    }

    /// Ends the requests whose time has run out: the other side is told to stop, the asker gets its
    /// one answer.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn expire<U: Upstream, A: Agent>(&self, talk: &Talk<U, A>) -> Result<(), AgentGone> {
        let _in_hand = talk.session.take_in_hand();
        let now = self.clock.elapsed();
        let due = {
            let mut state = talk.session.state();
            let agents = state.to_upstream.take_expired(now).into_iter();
            let servers = state.to_agent.take_expired(now).into_iter();
            let agents = agents.map(|taken| (Side::Agent, taken));
            agents
                .chain(servers.map(|taken| (Side::Upstream, taken)))
                .collect::<Vec<_>>()
        };
        for (asker, taken) in due {
            self.expired(talk, asker, taken).await?;
        }
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
        let (waiting, asked) = {
            let mut state = talk.session.state();
            state.upstream = Readiness::Down;
            state.tools.start_over();
            (state.to_upstream.take_all(), state.to_agent.take_all())
        };
        // Every request gets its outcome, also when there is nobody left to be told.
        let mut told = Ok(());
        for taken in waiting {
            let origin = taken.exchange.origin.clone();
            if origin.is_gate() {
                Self::give_up_own(talk, &origin);
            } else {
                let refusal = UpstreamFault::Died.into();
                told = told.and(self.give_up(talk, Side::Agent, taken, refusal).await);
            }
        }
        for taken in asked {
            self.close(talk, &taken, &UpstreamFault::Died.into()).await;
            let cancel = OwnMessage::cancel(taken.minted, "the server has ended");
            told = told.and(self.tell(talk, Side::Agent, cancel).await);
        }
        told
    }

    /// The upstream runs again.
    pub async fn upstream_restarted<U: Upstream, A: Agent>(&self, talk: &Talk<U, A>) {
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
            reference = &*taken.exchange.reference,
            method = method.name(),
            "timed out"
        );
        let minted = taken.minted;
        // Whoever waits comes first: the other side may have ceased to read.
        if taken.exchange.origin.is_gate() {
            let origin: Origin = taken.exchange.origin.clone();
            Self::give_up_own(talk, &origin);
        } else {
            let deadline = taken.exchange.deadline.unwrap_or(taken.exchange.started);
            let allowed = deadline.saturating_sub(taken.exchange.started);
            let refusal: Refusal = UpstreamFault::TimedOut(allowed).into();
            self.give_up(talk, asker, taken, refusal).await?;
        }
        // MCP, basic/utilities/cancellation: `initialize` is never cancelled.
        if method == KnownMethod::Initialize {
            return Ok(());
        }
        let other = match asker {
            Side::Agent => Side::Upstream,
            Side::Upstream => Side::Agent,
        };
        let cancel = OwnMessage::cancel(minted, "timed out");
        // A side that has no room for a line need not be told; no clock may wait for it.
        at_once(self.tell(talk, other, cancel))
            .await
            .unwrap_or(Ok(()))
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

/// What is told about sessions rather than messages.
impl Gate {
    /// Records that a session begins.
    ///
    /// # Errors
    /// [`AuditFault`] when it cannot be recorded: then the session must not begin.
    pub async fn session_started<U, A>(&self, talk: &Talk<U, A>) -> Result<(), AuditFault> {
        self.audit
            .record(self.about(talk, Kind::SessionStart))
            .await
    }

    /// Records that a session has ended.
    ///
    /// # Errors
    /// [`AuditFault`] when it cannot be recorded.
    pub async fn session_ended<U, A>(&self, talk: &Talk<U, A>) -> Result<(), AuditFault> {
        self.audit.record(self.about(talk, Kind::SessionEnd)).await
    }

    /// The record of something that happened to the upstream.
    pub fn upstream_event<U, A>(&self, talk: &Talk<U, A>, event: audit::Event) -> Record {
        self.about(talk, Kind::UpstreamEvent).event(event)
    }

    /// The limits of a frame from this side.
    pub fn limits(&self, from: Side) -> &Limits {
        match from {
            Side::Agent => &self.settings.from_agent,
            Side::Upstream => &self.settings.from_upstream,
        }
    }

    /// A frame was longer than its limit, and was thrown away unread.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn handle_too_long<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        from: Side,
    ) -> Result<(), AgentGone> {
        let trail = Trail::begin(talk, from, self.clock.elapsed());
        self.refuse(talk, &trail, Refusal::TooLong(self.limits(from).max_bytes))
            .await
    }

    fn about<U, A>(&self, talk: &Talk<U, A>, kind: Kind) -> Record {
        Record::new(kind)
            .within(&talk.scope())
            .revision(&*self.revision())
    }

    /// The revision of the policy that judges new messages.
    pub fn revision(&self) -> Arc<str> {
        self.policy.current().revision().as_str().into()
    }
}
