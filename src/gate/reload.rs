//! New policies in the middle of a session.

use std::sync::Arc;

use crate::audit::{self, AuditFault, Kind, Record};
use crate::policy::PolicySnapshot;

use super::Gate;
use super::talk::Talk;

/// The step that records of new policies name.
const STAGE: &str = "reload";

impl Gate {
    /// Puts new policies in force, for every message that begins from now on; yields those that
    /// they replace.
    ///
    /// # Errors
    /// [`AuditFault`] when it cannot be recorded: then the old ones stay.
    pub async fn publish<U, A>(
        &self,
        talk: &Talk<U, A>,
        snapshot: PolicySnapshot,
    ) -> Result<Arc<PolicySnapshot>, AuditFault> {
        let old = self.policy.current();
        let text = format!("in place of {}", old.revision().as_str());
        let record = of_policies(talk, audit::Event::Published)
            .decision(audit::Decision::Allow, STAGE)
            .revision(snapshot.revision().as_str())
            .reason(audit::Reason::text(text));
        self.audit.record(record).await?;
        talk.session.described_by(snapshot.labels());
        self.policy.publish(snapshot);
        talk.introduce();
        Ok(old)
    }

    /// Records that new policies were refused, and why; those in force stay.
    ///
    /// # Errors
    /// [`AuditFault`] when it cannot be recorded.
    pub async fn keep<U, A>(
        &self,
        talk: &Talk<U, A>,
        reason: audit::Reason,
    ) -> Result<(), AuditFault> {
        let record = of_policies(talk, audit::Event::Rejected)
            .decision(audit::Decision::Block, STAGE)
            .revision(&*self.revision())
            .reason(reason);
        self.audit.record(record).await
    }
}

/// Policies are the gate's, not a session's.
fn of_policies<U, A>(talk: &Talk<U, A>, event: audit::Event) -> Record {
    Record::new(Kind::PolicyReload)
        .upstream(talk.scope().upstream)
        .event(event)
}
