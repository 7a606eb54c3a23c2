//! Whether a tool is what the host has approved: `resource.pin` of policies.
//!
//! The lock of the snapshot that judges says what was approved, or else what was seen first; the
//! upstream's own lists say what there is.

use crate::policy::{Fingerprint, LockMode, Pin, PolicySnapshot};
use crate::session::{Offer, PageItem, Session};
use crate::wire::{Definition, Value};

use super::decide::{Stop, asked_tool};
use super::forward::UpstreamFault;
use super::seen::Seen;
use super::settings::ToolNames;
use super::understand::{About, Understood};

/// What tells how the tools of one session are defined, how they were when they were first seen, and
/// how they may be called.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pins<'p> {
    pub(super) session: &'p Session,
    pub(super) seen: &'p Seen,
    pub(super) names: ToolNames,
}

impl Pins<'_> {
    /// Of a tool as the upstream's lists define it.
    pub(super) fn of(&self, name: &str, snapshot: &PolicySnapshot) -> Pin {
        if !snapshot.lock().pins() {
            return Pin::default();
        }
        let state = self.session.state();
        self.held(name, state.tools.definitions(name), snapshot)
    }

    /// Of a tool as an item of a list defines it.
    pub(super) fn of_item(&self, item: &PageItem, snapshot: &PolicySnapshot) -> Pin {
        if !snapshot.lock().pins() {
            return Pin::default();
        }
        let defined = item.definition.as_ref().map(|it| it.print);
        self.held(&item.name, defined, snapshot)
    }

    fn held(
        &self,
        name: &str,
        defined: impl IntoIterator<Item = Fingerprint>,
        snapshot: &PolicySnapshot,
    ) -> Pin {
        let lock = snapshot.lock();
        if lock.mode() == LockMode::FirstUse && lock.tool(name).is_none() {
            return self.seen.pin(name, defined);
        }
        lock.pin(name, defined)
    }
}

/// Says of each tool that is asked about whether it is the approved one.
///
/// # Errors
/// [`Stop::Park`] for a call while it is not known what the upstream offers, whatever tool is called:
/// what is approved must not show in how a call is answered.
pub(super) fn pin(
    understood: &mut Understood<'_>,
    snapshot: &PolicySnapshot,
    pins: Pins<'_>,
) -> Result<(), Stop> {
    if !snapshot.lock().pins() {
        return Ok(());
    }
    if let Some(name) = asked_tool(understood) {
        match pins.session.state().tools.offers(name) {
            Offer::Unknown => return Err(Stop::Park),
            Offer::Unlisted => return Err(UpstreamFault::Unlisted.into()),
            Offer::Offered | Offer::NotOffered => {}
        }
    }
    for question in &mut understood.questions {
        if let About::Tool(tool) = &mut question.about {
            tool.pin = pins.of(&tool.name, snapshot);
        }
    }
    Ok(())
}

pub(super) fn fingerprint(definition: Value<'_>) -> Fingerprint {
    let Definition { schema, words } = Definition::of(definition);
    Fingerprint::of(&schema, &words)
}
