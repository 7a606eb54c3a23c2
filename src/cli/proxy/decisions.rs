//! Decisions in the log, for operators who follow a gate by it: the log says what records say.

use tracing::debug;

use crate::audit::{AuditFault, Observe, Redactor, Sighting, Text};

/// Tells every record that is taken. Nothing of arguments is in one.
#[derive(Debug)]
pub(super) struct Decisions {
    /// The secrets of the configuration.
    pub(super) secrets: Redactor,
}

impl Decisions {
    /// Whether somebody follows.
    pub(super) fn are_followed() -> bool {
        tracing::enabled!(tracing::Level::DEBUG)
    }

    fn shown(&self, text: Option<&Text>) -> Option<String> {
        let text = self.secrets.redact(text?.as_str());
        Some(text.escape_debug().collect())
    }
}

impl Observe for Decisions {
    fn observe(&self, sighting: &Sighting, fault: Option<&AuditFault>) {
        debug!(
            session_id = self.shown(sighting.session.as_ref()),
            kind = ?sighting.kind,
            event = sighting.event.map(|event| format!("{event:?}")),
            method = self.shown(sighting.method.as_ref()),
            target = self.shown(sighting.target.as_ref()),
            decision = sighting.decision.map(|decision| format!("{decision:?}")),
            reason = self.shown(sighting.code.as_ref()),
            record = self.shown(sighting.reference.as_ref()),
            fault = fault.map(ToString::to_string),
            "recorded"
        );
    }
}
