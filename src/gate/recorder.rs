//! Writes records of the gate to the audit, without the credentials in them.

use std::sync::Arc;

use crate::audit::{Audit, AuditFault, Record};
use crate::policy::PolicyStore;

use super::look::concealed;
use super::settings::{Secrets, Terms};

#[derive(Debug, Clone)]
pub(super) struct Recorder {
    audit: Audit,
    policy: Arc<PolicyStore>,
    /// How credentials are found while no policies bring settings for that.
    secrets: Option<Secrets>,
}

impl Recorder {
    pub(super) fn new(audit: Audit, policy: Arc<PolicyStore>, terms: &Terms) -> Self {
        Self {
            audit,
            policy,
            secrets: terms.guards.secrets.clone(),
        }
    }

    /// # Errors
    /// [`AuditFault`] if the audit could not take the record.
    pub(super) fn record(
        &self,
        record: Record,
    ) -> impl Future<Output = Result<(), AuditFault>> + Send + '_ {
        // Not `async`: what waits for the audit would hold the record three times.
        self.audit.record(self.concealed(record))
    }

    /// The same record without credentials.
    pub(super) fn concealed(&self, record: Record) -> Record {
        let current = self.policy.current();
        let in_force = current.terms().map(|terms: &Terms| &terms.guards.secrets);
        concealed(record, in_force.unwrap_or(&self.secrets).as_ref())
    }
}
