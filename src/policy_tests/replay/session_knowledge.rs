//! What records tell of their sessions.

use super::known_targets::may_oblige_to_raise;
use super::log_entry::RecordedDecision;
use crate::policy::PolicySnapshot;

/// How sensitive sessions are taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum SessionLevels {
    /// As they were recorded, as if what raises levels were the same now.
    AsRecorded,
    /// Unknown, where policies may raise levels now or did so then.
    IfCertain,
}

impl RecordedDecision {
    /// How sensitive the session was, if that is known.
    pub(super) fn level(&self, snapshot: &PolicySnapshot, levels: SessionLevels) -> Option<i64> {
        // What was sensitive then need not be so now, nor what is now have been so then.
        let is_certain = || {
            self.level == 0
                && !self.is_raising
                && !snapshot.labels().raise_levels()
                && !may_oblige_to_raise(snapshot)
        };
        (levels == SessionLevels::AsRecorded || is_certain()).then_some(self.level)
    }

    /// Which data sets the session had read, if that is known.
    pub(super) fn datasets(
        &self,
        snapshot: &PolicySnapshot,
        levels: SessionLevels,
    ) -> Option<&[String]> {
        let datasets = self.datasets.as_deref()?;
        // As of levels.
        let is_certain =
            || datasets.is_empty() && !self.is_adding && snapshot.labels().datasets().is_empty();
        (levels == SessionLevels::AsRecorded || is_certain()).then_some(datasets)
    }
}
