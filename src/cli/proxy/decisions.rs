//! Decisions in the log, for operators who follow a gate by it: the log says what records say.

use tracing::debug;

use crate::audit::{AuditEventSummary, AuditFault, AuditObserver, Decision, Event, Redactor, Text};

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

impl AuditObserver for Decisions {
    fn observe(&self, sighting: &AuditEventSummary, fault: Option<&AuditFault>) {
        debug!(
            session_id = self.shown(sighting.session.as_ref()),
            kind = sighting.kind.as_str(),
            event = sighting.event.map(Event::as_str),
            method = self.shown(sighting.method.as_ref()),
            target = self.shown(sighting.target.as_ref()),
            decision = sighting.decision.map(Decision::as_str),
            reason = self.shown(sighting.code.as_ref()),
            record = self.shown(sighting.reference.as_ref()),
            fault = fault.map(ToString::to_string),
            "recorded"
        );
    }
}
