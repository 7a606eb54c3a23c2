//! Whether a session still speaks to the server that it spoke to when a message came.

use crate::session::{Run, Session};
use crate::wire::Side;

use super::arrival::AnswerTo;
use super::faults::UpstreamFault;
use super::record::Trail;
use super::talk::Talk;

/// Why the session no longer speaks to the server that it spoke to in this run; `None` while it does.
pub(super) fn gone(session: &Session, then: Run) -> Option<UpstreamFault> {
    let now = session.run();
    if then.instance != now.instance {
        Some(UpstreamFault::Left)
    } else if then.ended != now.ended {
        Some(UpstreamFault::Died)
    } else {
        None
    }
}

/// Why the server that sent this request cannot get an answer. The request is not answered then.
pub(super) fn asker_gone(session: &Session, trail: &mut Trail) -> Option<UpstreamFault> {
    let (side, _) = trail.asked_by()?;
    let fault = gone(session, trail.server.run).filter(|_| side == Side::Upstream)?;
    trail.envelope.answer_to = AnswerTo::None;
    Some(fault)
}

/// Whether the session has left the instance of the server that it spoke to then.
pub(super) fn has_left_since<U, A>(talk: &Talk<U, A>, then: Run) -> bool {
    then.instance != talk.session.run().instance
}
