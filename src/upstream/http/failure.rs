//! What can go wrong between a message and its answer, in words that quote no peer.

use std::error::Error;

use hyper::StatusCode;

use crate::gate::UpstreamFault;
use crate::outward::innermost;
use crate::wire::DiscardReason;

/// Why a session is over, or cannot begin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    #[error("the server no longer knows the session")]
    SessionGone,
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
    #[error("the session was of no use")]
    Unfit,
    #[error("the gate failed over an answer of the server")]
    Panicked,
}

impl Loss {
    /// What the gate tells whoever waits for an answer in the session.
    pub fn fault(&self) -> UpstreamFault {
        match self {
            Self::Unreachable(cause) => UpstreamFault::Unreachable(cause.clone()),
            Self::SessionGone | Self::Unfit | Self::Panicked => UpstreamFault::Died,
        }
    }
}

/// Why a message was not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// No connection came about: name, address or TLS.
    Unreachable(String),
    /// There is no token for this agent; nothing was asked.
    NoToken(String),
    /// The answer broke off, or its stream ended without one.
    Broken,
    /// The answer is none.
    Bad(String),
    /// The answer has this status, and is no message.
    Status(u16),
    /// The answer was thrown away.
    Unread(DiscardReason),
    SessionGone,
}

impl Failure {
    pub(super) fn bad(what: impl Into<String>) -> Self {
        Self::Bad(what.into())
    }

    /// An answer with a status that is no success.
    pub(super) fn status(status: StatusCode) -> Self {
        let code = status.as_u16();
        match code {
            // What it asks for is not repeated: it would send agents to the server's own login.
            401 => Self::bad("it does not accept the gate's credentials (401)"),
            403 => Self::bad("it forbids what the gate asks (403)"),
            300..=399 => Self::bad(format!(
                "it redirects to where the gate does not follow ({code})"
            )),
            _ => Self::Status(code),
        }
    }

    /// No connection came about.
    pub(super) fn unreachable(error: &dyn Error) -> Self {
        Self::Unreachable(cause(error))
    }

    /// There was one.
    pub(super) fn broken(error: &dyn Error) -> Self {
        tracing::debug!(cause = %cause(error), "an answer broke off");
        Self::Broken
    }

    /// What the gate tells whoever asked.
    pub(super) fn fault(self) -> UpstreamFault {
        match self {
            Self::Unreachable(cause) => UpstreamFault::Unreachable(cause),
            Self::NoToken(cause) => UpstreamFault::NoToken(cause),
            Self::Broken | Self::SessionGone => UpstreamFault::Died,
            Self::Bad(what) => UpstreamFault::BadReply(what),
            Self::Status(status) => UpstreamFault::Status(status),
            Self::Unread(why) => UpstreamFault::unread(why),
        }
    }
}

/// The innermost cause, with what to do about it.
fn cause(error: &dyn Error) -> String {
    let shown = innermost(error);
    match ADVICE.iter().find(|(word, _)| shown.contains(word)) {
        Some((_, advice)) => format!("{shown}; {advice}"),
        None => shown,
    }
}

/// What to do about certificates that are not believed, by the word that rustls has for it.
const ADVICE: [(&str, &str); 2] = [
    (
        "UnknownIssuer",
        "if its authority is your own, name that in `upstream.ca_file`",
    ),
    (
        "CaUsedAsEndEntity",
        "the server shows the certificate of an authority (`CA:TRUE`), which stands for a server only \
         if `upstream.ca_file` has that very certificate",
    ),
];
