//! Why a message does not reach a side.

use std::sync::Arc;

use crate::session::Unanswered;
use crate::wire::DiscardReason;

/// The reason of a refusal for want of memory.
pub(super) const NO_MEMORY: &str =
    "the gate has no memory for this message just now (`limits.max_memory`)";

/// Why the upstream could not be reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamFault {
    #[error("the upstream server is not running, or cannot be reached")]
    Down,
    #[error("the upstream server does not read what is sent to it")]
    Stalled,
    #[error("the upstream server ended before it answered")]
    Died,
    #[error("the upstream server did not answer within {} ms", .0.as_millis())]
    TimedOut(std::time::Duration),
    #[error("the upstream server's answer was refused: {0}")]
    BadReply(String),
    /// What it answers with is no message.
    #[error("the upstream server's answer was refused: its status is {0}")]
    Status(u16),
    #[error("the upstream server cannot be reached: {0}")]
    Unreachable(String),
    /// The agent's token could not be exchanged for one of the server.
    #[error("the gate has no token for the upstream server: {0}")]
    NoToken(String),
    #[error("it is not known what the upstream server speaks: {0}")]
    Undiscovered(Arc<str>),
    #[error("the upstream server did not list what it offers")]
    Unlisted,
    #[error("the session has gone on with another instance of the server")]
    Left,
    #[error("the session has ended")]
    SessionOver,
    #[error("the server was removed from this gate, or is configured anew")]
    Removed,
}

impl UpstreamFault {
    /// Something is wrong with the server, and operators have to know it. A timeout has a warning of its own.
    pub(super) fn shows_a_broken_server(&self) -> bool {
        match self {
            Self::Died
            | Self::BadReply(_)
            | Self::Status(_)
            | Self::Stalled
            | Self::Unreachable(_) => true,
            Self::Down
            | Self::TimedOut(_)
            | Self::NoToken(_)
            | Self::Undiscovered(_)
            | Self::Unlisted
            | Self::Left
            | Self::SessionOver
            | Self::Removed => false,
        }
    }

    /// What waited for the list of tools is refused: the gate did not get it.
    pub(super) fn unlisted(why: Option<&Unanswered>) -> Self {
        match why {
            Some(Unanswered::NoToken(why)) => Self::NoToken(why.to_string()),
            Some(Unanswered::Otherwise(_)) | None => Self::Unlisted,
        }
    }

    /// What waited for what the server speaks is refused: the gate did not learn it.
    pub(super) fn undiscovered(why: &Unanswered) -> Self {
        match why {
            Unanswered::NoToken(why) => Self::NoToken(why.to_string()),
            Unanswered::Otherwise(why) => Self::Undiscovered(Arc::clone(why)),
        }
    }

    /// The gate asked for itself, and this came of it.
    pub(super) fn why_unanswered(&self) -> Unanswered {
        match self {
            Self::NoToken(why) => Unanswered::NoToken(why.as_str().into()),
            Self::Down
            | Self::Stalled
            | Self::Died
            | Self::TimedOut(_)
            | Self::BadReply(_)
            | Self::Status(_)
            | Self::Unreachable(_)
            | Self::Undiscovered(_)
            | Self::Unlisted
            | Self::Left
            | Self::SessionOver
            | Self::Removed => Unanswered::Otherwise(self.to_string().into()),
        }
    }

    /// A reply was thrown away.
    pub fn unread(why: DiscardReason) -> Self {
        let why = match why {
            DiscardReason::TooLong => "it is longer than `limits.max_message_bytes_to_agent`",
            DiscardReason::NoMemory => NO_MEMORY,
        };
        Self::BadReply(why.to_owned())
    }
}

/// The agent has closed its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the agent has gone")]
pub struct AgentGone;
