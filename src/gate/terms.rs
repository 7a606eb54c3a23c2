//! Which terms hold for a message: those that came into force with the policies that judge it.

use crate::policy::PolicySnapshot;

use super::Gate;
use super::settings::Terms;

impl Gate {
    /// The terms that these policies are in force with; if the snapshot has none, those of the start.
    pub(super) fn terms<'s>(&'s self, snapshot: &'s PolicySnapshot) -> &'s Terms {
        snapshot.terms().unwrap_or(&self.settings.terms)
    }
}
