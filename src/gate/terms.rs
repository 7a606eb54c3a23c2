//! Which terms hold for a message: those that came into force with the policies that judge it.

use std::time::Duration;

use crate::policy::PolicySnapshot;
use crate::session::Target;

use super::Gate;
use super::settings::Terms;

impl Gate {
    /// The terms that these policies are in force with; if the snapshot has none, those of the start.
    pub(super) fn terms<'s>(&'s self, snapshot: &'s PolicySnapshot) -> &'s Terms {
        snapshot.terms().unwrap_or(&self.settings.terms)
    }
}

impl Terms {
    /// How long a request may take without a sign of progress.
    pub(super) fn timeout(&self, target: &Target) -> Duration {
        let of_its_own = match target {
            Target::Tool(name) => self.tool_timeouts.get(name),
            Target::Resource(_) | Target::Prompt(_) | Target::Method(_) | Target::Server => None,
        };
        of_its_own.copied().unwrap_or(self.request_timeout)
    }
}
