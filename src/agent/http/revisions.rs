//! The revisions that agents speak, by what a message and its headers say.

use crate::mcp::{
    meta,
    revisions::{FIRST_STATELESS, WITH_SESSIONS},
};
use crate::wire::{Message, Value};

use super::refusal::Refused;
use super::respond::Names;

/// From this revision on a stream begins with an event that has nothing but an id, to come back
/// with (MCP 2025-11-25, basic/transports). Earlier agents take it for an empty message.
const PRIMED_SINCE: &str = "2025-11-25";

/// Whether `MCP-Protocol-Version` names a revision without sessions.
pub(super) fn is_named(version: Option<&str>) -> bool {
    let is_date = |text: &str| {
        text.len() == FIRST_STATELESS.len()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-')
    };
    version.is_some_and(|version| is_date(version) && version >= FIRST_STATELESS)
}

/// Whether a message is of the stateless era: it says so itself, or its header does. One that names a
/// revision with sessions says that it is of the other.
pub(super) fn is_stateless(message: &Message, version: Option<&str>) -> bool {
    let meta = message.params().and_then(|params| params.get("_meta"));
    let said = meta.and_then(|meta| meta.get(meta::VERSION));
    let has_sessions = |said: Value<'_>| {
        let said = said.as_str();
        said.is_some_and(|said| WITH_SESSIONS.contains(&&*said))
    };
    is_named(version) || said.is_some_and(|said| !has_sessions(said))
}

/// How the events of a stream are named, by the revision that the agent says it speaks; without a
/// word, 2025-03-26.
pub(super) fn names(version: Option<&str>) -> Result<Names, Refused> {
    match version {
        Some(version) if !WITH_SESSIONS.contains(&version) => Err(Refused::ProtocolVersion),
        Some(version) if version >= PRIMED_SINCE => Ok(Names::Primed),
        Some(_) | None => Ok(Names::Told),
    }
}
