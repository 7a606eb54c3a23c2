//! Why there is no access token, in words that quote no peer.

use std::path::PathBuf;

use crate::outward::HttpError;

use super::super::conceal::TooShort;
use super::super::secret_file::SecretFault;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum TokenFault {
    #[error("the client secret's file `{}` {cause}", .path.display())]
    Secret { path: PathBuf, cause: SecretFault },
    #[error("{of} cannot be asked: {cause}")]
    Unasked { of: Of, cause: HttpError },
    #[error("{of} answers with the status {status}")]
    Status { of: Of, status: u16 },
    #[error("what {of} answers {what}")]
    Unfit { of: Of, what: &'static str },
    #[error("the server names no authorization server")]
    Unnamed,
    #[error("the server names another authorization server than before")]
    Changed,
    #[error("the authorization server has no metadata where it should be")]
    NoMetadata,
    #[error("the authorization server refuses the gate as its client ({0})")]
    Refused(&'static str),
    #[error("the authorization server does not exchange the agent's token ({0})")]
    NotExchanged(&'static str),
    #[error("there is no agent whose token could be exchanged")]
    NoAgent,
    #[error("the agent's token has expired, or is about to")]
    Expiring,
    #[error("the access token cannot be kept secret: {0}")]
    Short(#[from] TooShort),
    #[error("no client can be set up: {0}")]
    Setup(String),
    #[error("the authorization server gives a token whose time was over when it came")]
    Over,
    #[error("no access token came in time")]
    Late,
}

/// Whom something is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Server,
    Authority,
    Endpoint,
}

impl std::fmt::Display for Of {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Server => "the server's own metadata",
            Self::Authority => "the authorization server's metadata",
            Self::Endpoint => "the authorization server",
        })
    }
}

impl TokenFault {
    /// Whether asking again soon would be of no use, and may lock the client out.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Refused(_) | Self::Changed | Self::NotExchanged(_)
        )
    }
}
