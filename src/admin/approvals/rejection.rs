//! Reasons for rejecting an answer.

use crate::admin::attempts::Pause;
use crate::identity::Challenge;

/// The reason for rejecting an approver's request. It quotes no text of the peer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::admin) enum ApprovalRejection {
    #[error("there is nothing at this path")]
    Path,
    #[error("only {0} can be done here")]
    Method(&'static str),
    #[error("a page elsewhere sent this")]
    Origin,
    #[error("the body is too long, too late, or not what is expected here")]
    Body,
    #[error(transparent)]
    Challenge(Challenge),
    #[error("too many wrong tokens came from this address: try again in {} s", .0.seconds())]
    Paused(Pause),
    #[error("the operating system gives no random numbers")]
    NoRandomness,
    #[error("this is answered already")]
    Answered,
    #[error("this was withdrawn: no request waits for it, or an answer would change nothing")]
    Withdrawn,
    #[error("nothing of this name waits for an answer")]
    Gone,
}

impl ApprovalRejection {
    pub(in crate::admin) fn status(&self) -> u16 {
        match self {
            Self::Path | Self::Gone => 404,
            Self::Method(_) => 405,
            Self::Origin => 403,
            Self::Body => 400,
            Self::Challenge(challenge) => challenge.status(),
            Self::Paused(_) => 429,
            Self::NoRandomness => 500,
            Self::Answered | Self::Withdrawn => 409,
        }
    }

    /// A stable word for metrics and tests.
    pub(in crate::admin) fn code(&self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Method(_) => "http_method",
            Self::Origin => "origin",
            Self::Body => "body",
            Self::Challenge(challenge) => challenge.code(),
            Self::Paused(_) => "too_many_wrong_tokens",
            Self::NoRandomness => "unwritable",
            Self::Answered => "answered",
            Self::Withdrawn => "withdrawn",
            Self::Gone => "gone",
        }
    }
}
