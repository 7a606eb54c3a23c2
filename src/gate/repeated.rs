//! Whether headers say of a call what its body says.
//!
//! Whoever stands between the agent and the gate may have decided by a header what the body denies
//! (MCP 2026-07-28, basic/transports, server validation).

use crate::session::Session;
use crate::wire::{Fragment, Limits, Message, MirrorMismatch, MirroredHeaders};

use super::query::Understood;
use super::rejection::{HEADER_MISMATCH, Rejection};
use super::schemas::Unfit;
use super::stage::Stage;

/// Compares them, of a call that is permitted: of a tool that an agent may not see it learns nothing.
///
/// # Errors
/// When they differ, or when that cannot be told.
pub(super) fn check(
    understood: &Understood<'_>,
    session: &Session,
    repeated: Option<&MirroredHeaders>,
    frame: &[u8],
    limits: &Limits,
) -> Result<(), Rejection> {
    let (Some(name), Some(repeated)) = (understood.called_tool(), repeated) else {
        return Ok(());
    };
    let offered = session.state().lists.tools.defined(name);
    // It was offered a moment ago, or the call would not be permitted.
    let offered = offered.ok_or(Unfit::NotKept)?;
    // Of a definition that breaks the rules nobody knows what is wanted; its own client hides the tool.
    let Some(mirrors) = offered.mirrors.as_ref().ok().filter(|it| !it.is_empty()) else {
        return Ok(());
    };
    // As the agent wrote it: the gate may know its paths by other names.
    let call = Message::decode(frame, limits)?;
    let mut mirrors = mirrors.iter();
    mirrors
        .try_for_each(|mirror| repeated.repeats(mirror, &call))
        .map_err(|it| mismatch(&it))
}

/// A header does not say what the body says.
fn mismatch(mismatch: &MirrorMismatch) -> Rejection {
    let (reason, text) = (mismatch.how.code(), mismatch.to_string());
    let header = Fragment::string(&mismatch.header);
    Rejection::new(Stage::Guard, reason, HEADER_MISMATCH, text).with_data([("header", header)])
}
