//! Whether a tool is what the host has approved: `resource.pin` of policies.
//!
//! The lock of the snapshot that judges says what was approved; the upstream's own lists say what
//! there is.

use crate::policy::{Fingerprint, Pin, PolicySnapshot};
use crate::session::{Offer, Session};
use crate::wire::{Definition, Value};

use super::decide::{Stop, asked_tool};
use super::forward::UpstreamFault;
use super::understand::{About, Understood};

/// Says of each tool that is asked about whether it is the approved one.
///
/// # Errors
/// [`Stop::Park`] for a call while it is not known what the upstream offers, whatever tool is called:
/// what is approved must not show in how a call is answered.
pub(super) fn pin(
    understood: &mut Understood<'_>,
    snapshot: &PolicySnapshot,
    session: &Session,
) -> Result<(), Stop> {
    if snapshot.lock().is_empty() {
        return Ok(());
    }
    if let Some(name) = asked_tool(understood) {
        match session.state().tools.offers(name) {
            Offer::Unknown => return Err(Stop::Park),
            Offer::Unlisted => return Err(UpstreamFault::Unlisted.into()),
            Offer::Offered | Offer::NotOffered => {}
        }
    }
    for question in &mut understood.questions {
        if let About::Tool(tool) = &mut question.about {
            tool.pin = of(&tool.name, snapshot, session);
        }
    }
    Ok(())
}

/// The pin of a tool as the upstream's lists define it.
pub(super) fn of(name: &str, snapshot: &PolicySnapshot, session: &Session) -> Pin {
    if snapshot.lock().is_empty() {
        return Pin::default();
    }
    let state = session.state();
    snapshot.lock().pin(name, state.tools.definitions(name))
}

pub(super) fn fingerprint(definition: Value<'_>) -> Fingerprint {
    let Definition { schema, words } = Definition::of(definition);
    Fingerprint::of(&schema, &words)
}
