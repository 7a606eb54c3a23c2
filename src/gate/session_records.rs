//! What is recorded of sessions and of the servers that they speak to, rather than of messages.

use std::sync::Arc;

use crate::audit::{self, AuditFault, Kind, Record};
use crate::session::Instance;
use crate::wire::{ArrivalForm, DiscardReason, Limits, Side, Stream};

use super::Gate;
use super::arrival::{Arrival, Waited};
use super::faults::AgentGone;
use super::forward::{Agent, Upstream};
use super::record::Trail;
use super::rejection::Rejection;
use super::talk::Talk;

impl Gate {
    /// Records that a session begins.
    ///
    /// # Errors
    /// [`AuditFault`] when it cannot be recorded: then the session must not begin.
    pub async fn session_started<U, A>(&self, talk: &Talk<U, A>) -> Result<(), AuditFault> {
        self.recorder
            .record(self.about(talk, Kind::SessionStart))
            .await
    }

    /// Records that a session has ended.
    ///
    /// # Errors
    /// [`AuditFault`] when it cannot be recorded.
    pub async fn session_ended<U, A>(&self, talk: &Talk<U, A>) -> Result<(), AuditFault> {
        self.stores.tasks.forget(&talk.session);
        self.recorder
            .record(self.about(talk, Kind::SessionEnd))
            .await
    }

    /// The record of something that happened to the upstream.
    pub fn upstream_state<U, A>(&self, talk: &Talk<U, A>, event: audit::Event) -> Record {
        self.upstream_state_of(talk, talk.session.run().instance, event)
    }

    /// The same of one instance, wherever the session is.
    pub fn upstream_state_of<U, A>(
        &self,
        talk: &Talk<U, A>,
        instance: Instance,
        event: audit::Event,
    ) -> Record {
        let name = instance.name_of(&talk.session.state().parties.server.name);
        let record = self.about(talk, Kind::UpstreamState).upstream(name);
        let record = record.event(event);
        let unconfined = &self.settings.unconfined;
        let starts = matches!(
            event,
            audit::Event::Started | audit::Event::Restarted | audit::Event::SwitchedToIsolated
        );
        let lacks = unconfined.of(instance);
        match lacks {
            // An operator who reads of a start must not take the server for confined.
            Some(lacks) if starts => {
                record.reason(audit::Reason::code("unconfined").with_text(&**lacks))
            }
            Some(_) | None => record,
        }
    }

    /// The limits of a frame from this side.
    pub fn limits(&self, from: Side) -> &Limits {
        match from {
            Side::Agent => &self.settings.from_agent,
            Side::Upstream => &self.settings.from_upstream,
        }
    }

    /// A frame was thrown away unread.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn handle_unread<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        from: Side,
        stream: Stream,
        why: DiscardReason,
    ) -> Result<(), AgentGone> {
        let at = self.clock.elapsed();
        let trail = Trail::begin(
            talk,
            Arrival {
                from,
                stream,
                form: ArrivalForm::Whole,
                peer: None,
                trace: None,
                at,
                waited: Waited::No,
            },
        );
        let refusal = match why {
            DiscardReason::TooLong => Rejection::too_long(self.limits(from).max_bytes),
            DiscardReason::NoMemory => Rejection::no_memory(),
        };
        self.refuse(talk, &trail, refusal).await
    }

    pub(super) fn about<U, A>(&self, talk: &Talk<U, A>, kind: Kind) -> Record {
        let record = Record::new(kind)
            .within(&talk.scope())
            .revision(&*self.revision());
        self.recorder.concealed(record)
    }

    /// The revision of the policy that judges new messages.
    pub fn revision(&self) -> Arc<str> {
        self.policy.current().revision().as_str().into()
    }
}
