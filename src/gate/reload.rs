//! New policies in the middle of sessions.

use std::sync::Arc;

use crate::audit::{self, AuditFault, Kind, Record};
use crate::policy::{PolicySnapshot, Replaced};
use crate::wire::KnownMethod;

use super::Gate;
use super::decide::sees;
use super::forward::{Agent, AgentGone, Upstream};
use super::hearers::{Hearer, Shown, shown};
use super::own::Occasion;
use super::talk::Talk;

/// The step that records of new policies name.
const STAGE: &str = "reload";

/// What records call a candidate that is asked from now on.
const CANDIDATE: &str = "candidate";

/// What of the policies is new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Published {
    Policies(Replaced),
    /// Only what is asked beside them, or no longer is.
    Candidate,
    Nothing,
}

impl Published {
    fn of(old: &PolicySnapshot, new: &PolicySnapshot) -> Self {
        let candidate = |of: &PolicySnapshot| of.candidate().map(|it| it.revision().clone());
        if old.revision() != new.revision() {
            Self::Policies(Replaced::of(old, new))
        } else if candidate(old) != candidate(new) {
            Self::Candidate
        } else {
            Self::Nothing
        }
    }
}

impl Gate {
    /// Puts new policies in force, in every session, for every message that begins from now on.
    /// Whoever keeps a session going then calls [`Self::renewed`]. `refused` is why a candidate that
    /// should be asked beside them is none. What is the same as before is not recorded.
    ///
    /// # Errors
    /// [`AuditFault`] when it cannot be recorded: then the old ones stay.
    pub async fn publish(
        &self,
        upstream: &str,
        snapshot: PolicySnapshot,
        refused: Option<audit::Reason>,
    ) -> Result<Published, AuditFault> {
        let old = self.policy.current();
        let published = Published::of(&old, &snapshot);
        let reason = match &published {
            Published::Policies(replaced) => {
                let text = format!("in place of {}: {replaced}", old.revision().as_str());
                Some(audit::Reason::text(text))
            }
            Published::Candidate => snapshot.candidate().map(|candidate| {
                let text = format!("asked from now on: {}", candidate.revision().as_str());
                audit::Reason::code(CANDIDATE).with_text(text)
            }),
            Published::Nothing => None,
        };
        if let Some(reason) = reason {
            let record = of_policies(upstream, audit::Event::Published)
                .decision(audit::Decision::Allow, STAGE)
                .revision(snapshot.revision().as_str())
                .reason(reason);
            self.audit.record(record).await?;
        }
        if let Some(reason) = refused {
            let record = of_policies(upstream, audit::Event::Rejected)
                .decision(audit::Decision::Block, STAGE)
                .revision(snapshot.revision().as_str())
                .reason(reason);
            self.audit.record(record).await?;
        }
        self.policy.publish(snapshot);
        // After the new ones are in force: whoever asks looks behind itself for them.
        if let (Published::Policies(_), Some(desk)) = (&published, &self.desk) {
            desk.retire(old.revision().as_str());
        }
        Ok(published)
    }

    /// The policies in force.
    pub fn policies(&self) -> Arc<PolicySnapshot> {
        self.policy.current()
    }

    /// The policies of a session are others than those that it was last told of: tells the agent
    /// which of its lists may have changed with them, as far as the upstream has said that such
    /// things are told.
    ///
    /// # Errors
    /// [`AgentGone`] when it can no longer be told anything.
    pub async fn renewed<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        old: &PolicySnapshot,
    ) -> Result<(), AgentGone> {
        talk.session.described_by(self.policy.current().labels());
        talk.introduce();
        let (held, _) = self.ratchet.held(&talk.session).await;
        let Shown { names, hearers } = shown(talk, &held);
        for hearer in hearers {
            let lists = self.changed_lists(talk, old, &names, &hearer);
            let telling = self.tell_of_lists(talk, &hearer, lists, Occasion::NewPolicies);
            telling.await?;
        }
        Ok(())
    }

    fn changed_lists<U, A>(
        &self,
        talk: &Talk<U, A>,
        old: &PolicySnapshot,
        names: &[String],
        hearer: &Hearer,
    ) -> Vec<KnownMethod> {
        let now = self.circumstances(&talk.session);
        let (scene, mut lists) = (&hearer.scene, hearer.lists.clone());
        // Only the names of tools are kept: of other lists it is not known what they showed.
        let new = self.policy.current();
        let pins = self.pins(&talk.session);
        let seen = |name: &String, under: &PolicySnapshot| {
            !under.labels().closes(name, scene.held.level)
                && sees(&pins.tool(name, under), scene, under, now)
        };
        let differs = |name: &String| seen(name, old) != seen(name, &new);
        if !names.is_empty() && !names.iter().any(differs) {
            lists.retain(|changed| *changed != KnownMethod::ToolsListChanged);
        }
        lists
    }

    /// Records that new policies were refused, and why; those in force stay.
    ///
    /// # Errors
    /// [`AuditFault`] when it cannot be recorded.
    pub async fn keep(&self, upstream: &str, reason: audit::Reason) -> Result<(), AuditFault> {
        let record = of_policies(upstream, audit::Event::Rejected)
            .decision(audit::Decision::Block, STAGE)
            .revision(&*self.revision())
            .reason(reason);
        self.audit.record(record).await
    }
}

/// Policies are the gate's, not a session's.
fn of_policies(upstream: &str, event: audit::Event) -> Record {
    Record::new(Kind::PolicyReload)
        .upstream(upstream)
        .event(event)
}
