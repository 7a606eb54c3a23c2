//! What is checked beside policy: what a message holds, and whether it may come now.

use crate::policy::PolicySnapshot;
use crate::session::Session;

use super::classified::Identified;
use super::oblige::Obliged;
use super::query::Understood;
use super::record::Trail;
use super::rejection::Rejection;
use super::{Gate, schemas};

impl Gate {
    /// Checks what edits have made of a result: a placeholder is not what every schema allows.
    pub(super) fn still_fits(
        &self,
        understood: &Understood<'_>,
        snapshot: &PolicySnapshot,
        mut obliged: Obliged,
    ) -> Result<Obliged, Rejection> {
        let (line, guards) = (obliged.permit.line(), &self.terms(snapshot).guards);
        if !(obliged.redactions.is_empty() && obliged.edits.is_empty()) {
            let limits = self.limits(understood.identified.from);
            let findings = schemas::check_edited(understood, line, limits, guards)?;
            obliged.findings.extend(findings);
        }
        Ok(obliged)
    }

    /// Whether a request may come now, before it is judged.
    pub(super) fn may_come(
        &self,
        identified: &Identified<'_>,
        session: &Session,
        trail: &mut Trail,
    ) -> Result<(), Rejection> {
        Self::goes_on(identified, session)?;
        self.look_at_rates(identified, trail)
    }
}
