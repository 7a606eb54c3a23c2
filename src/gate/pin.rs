//! Whether a tool is what the host has approved, and what is flagged in its definition: `resource.pin` and
//! `resource.flags` of policies.
//!
//! The lock of the snapshot that judges says what was approved; the upstream's own lists say what
//! there is.

use crate::guard::text::Flags;
use crate::policy::{Fingerprint, Pin, PolicySnapshot, Tool};
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
    if snapshot.lock().is_empty() && !snapshot.looks_for().flags {
        return Ok(());
    }
    if let Some(name) = asked_tool(understood) {
        // The lock is given back before any arm takes it again.
        let offer = session.state().tools.offers(name);
        match offer {
            Offer::Unknown => return Err(Stop::Park),
            Offer::Unlisted => return Err(UpstreamFault::Unlisted.into()),
            Offer::NotOffered => {}
            Offer::Offered => is_read(name, snapshot, session)?,
        }
    }
    for question in &mut understood.questions {
        if let About::Tool(tool) = &mut question.about {
            tool.pin = of(&tool.name, snapshot, session);
            tool.flags = flags(&tool.name, snapshot, session);
        }
    }
    Ok(())
}

/// The list may have come before any policy looked at flags: then it is asked for again.
fn is_read(name: &str, snapshot: &PolicySnapshot, session: &Session) -> Result<(), Stop> {
    let mut state = session.state();
    if !snapshot.looks_for().flags || state.tools.flags(name).is_some() {
        return Ok(());
    }
    state.tools.forget();
    Err(Stop::Park)
}

/// The tool as policies see it.
pub(super) fn tool(name: &str, snapshot: &PolicySnapshot, session: &Session) -> Tool {
    Tool {
        pin: of(name, snapshot, session),
        flags: flags(name, snapshot, session),
        ..Tool::named(name)
    }
}

/// What is flagged in a tool as the upstream's lists define it.
pub(super) fn flags(name: &str, snapshot: &PolicySnapshot, session: &Session) -> Vec<String> {
    if snapshot.looks_for().flags {
        names_of(session.state().tools.flags(name))
    } else {
        Vec::new()
    }
}

/// What has not been looked at is not without flags.
pub(super) fn names_of(flags: Option<Flags>) -> Vec<String> {
    flags.map_or_else(|| vec![UNREAD.to_owned()], Flags::names)
}

/// What policies are told where nobody has looked.
const UNREAD: &str = "unread";

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
