//! What happens to a session without a message: time runs out, the upstream dies and comes back.

use std::sync::Arc;
use std::time::Duration;

use tracing::warn;

use crate::audit::{self, AuditFault, Kind, Record};
use crate::session::{Origin, Readiness, Taken};
use crate::wire::{KnownMethod, Limits, Side};

use super::Gate;
use super::decide::{Permit, Stop};
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
        let now = self.clock.elapsed();
        let (from_agent, from_upstream) = {
            let mut state = talk.session.state();
            (
                state.to_upstream.take_expired(now),
                state.to_agent.take_expired(now),
            )
        };
        let asked = [(Side::Agent, from_agent), (Side::Upstream, from_upstream)];
        let mut cancels = Vec::new();
        for (asker, expired) in asked {
            for taken in expired {
                // MCP, basic/utilities/cancellation: `initialize` is never cancelled.
                if taken.exchange.method != KnownMethod::Initialize {
                    cancels.push((asker, taken.minted));
                }
                self.expired(talk, asker, taken).await?;
            }
        }
        // Last: a peer that did not answer may not read either, and nobody is to wait for it twice.
        let mut deaf = None;
        for (asker, minted) in cancels {
            let to = match asker {
                Side::Agent => Side::Upstream,
                Side::Upstream => Side::Agent,
            };
            let cancel = Permit::own(to, OwnMessage::cancel(minted, "timed out"));
            if deaf != Some(to) {
                match self.send(talk, cancel).await {
                    Ok(()) => {}
                    Err(Stop::AgentGone) => return Err(AgentGone),
                    Err(Stop::Refused(_) | Stop::Park) => deaf = Some(to),
                }
            }
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
            state.tools.forget();
            (state.to_upstream.take_all(), state.to_agent.take_all())
        };
        for taken in waiting {
            if taken.exchange.origin.is_gate() {
                let origin = taken.exchange.origin.clone();
                self.give_up_own(talk, &origin).await?;
            } else {
                self.give_up(talk, Side::Agent, taken, UpstreamFault::Died.into())
                    .await?;
            }
        }
        for taken in asked {
            self.close(talk, &taken, &UpstreamFault::Died.into()).await;
            let cancel = OwnMessage::cancel(taken.minted, "the server has ended");
            self.tell(talk, Side::Agent, cancel).await?;
        }
        Ok(())
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
        if taken.exchange.origin.is_gate() {
            let origin: Origin = taken.exchange.origin.clone();
            return self.give_up_own(talk, &origin).await;
        }
        let deadline = taken.exchange.deadline.unwrap_or(taken.exchange.started);
        let allowed = deadline.saturating_sub(taken.exchange.started);
        let refusal: Refusal = UpstreamFault::TimedOut(allowed).into();
        self.give_up(talk, asker, taken, refusal).await
    }
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
