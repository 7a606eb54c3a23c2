//! The server that a session speaks to: whether a message is of it, what has become of an earlier one, and the level
//! that the choice goes by.

use crate::session::{Run, Session};
use crate::wire::Side;

use super::arrival::AnswerTo;
use super::faults::UpstreamFault;
use super::record::Trail;
use super::talk::Talk;

/// The session has been found at a level.
pub(super) fn found(session: &Session, level: i64) {
    let mut state = session.state();
    state.found_at = state.found_at.max(level);
}

/// What has become of the server that a session spoke to then; nothing if it still does.
pub(super) fn gone(session: &Session, then: Run) -> Option<UpstreamFault> {
    let now = session.run();
    if then.has_left != now.has_left {
        Some(UpstreamFault::Left)
    } else if then.ended != now.ended {
        Some(UpstreamFault::Died)
    } else {
        None
    }
}

/// The same of a server that asks; then nobody is answered.
pub(super) fn asker_gone(session: &Session, trail: &mut Trail) -> Option<UpstreamFault> {
    let (side, _) = trail.asked_by()?;
    let fault = gone(session, trail.run).filter(|_| side == Side::Upstream)?;
    trail.answer_to = AnswerTo::None;
    Some(fault)
}

/// Whether the session has left the open server since it spoke to this one.
pub(super) fn has_left_since<U, A>(talk: &Talk<U, A>, then: Run) -> bool {
    then.has_left != talk.session.run().has_left
}
