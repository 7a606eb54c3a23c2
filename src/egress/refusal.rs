//! Why the proxy makes no connection.

use hyper::StatusCode;

use super::destination::DestinationError;
use crate::inward::Misframed;

/// Why the proxy makes no connection. What others chose is not quoted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EgressRefusal {
    #[error(transparent)]
    Head(Misframed),
    #[error("this is a proxy: it takes `CONNECT host:port`, and whole `http` URLs")]
    Form,
    #[error("the target: {0}")]
    Target(DestinationError),
    #[error("the field `Host` does not name the target")]
    Host,
    #[error("`egress` does not list this host with this port")]
    NotListed,
    /// Why is in the record.
    #[error("it is not permitted")]
    Denied,
    #[error("the gate could not decide, or not record it")]
    NotJudged,
    #[error("the name leads to no public address, and `egress` lists none of its addresses")]
    Address,
    /// The innermost cause.
    #[error("the name was not found: {0}")]
    Lookup(String),
    #[error("no connection: {0}")]
    Unreachable(String),
    #[error("no answer: {0}")]
    Broken(String),
}

impl EgressRefusal {
    /// A stable word, for the record.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Head(misframed) => misframed.code(),
            Self::Form | Self::Target(_) => "egress_target_malformed",
            Self::Host => "egress_host_mismatch",
            Self::NotListed => "egress_not_listed",
            Self::Denied => "not_permitted",
            Self::NotJudged => "egress_not_judged",
            Self::Address => "egress_address_not_allowed",
            Self::Lookup(_) => "egress_name_not_found",
            Self::Unreachable(_) => "egress_unreachable",
            Self::Broken(_) => "egress_no_answer",
        }
    }

    /// Whether the other end, or the network, failed, and nothing was refused.
    pub fn is_failure(&self) -> bool {
        self.status() == StatusCode::BAD_GATEWAY
    }

    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Head(misframed) => {
                StatusCode::from_u16(misframed.status()).unwrap_or(StatusCode::BAD_REQUEST)
            }
            Self::Form | Self::Target(_) | Self::Host => StatusCode::BAD_REQUEST,
            Self::NotListed | Self::Denied | Self::Address => StatusCode::FORBIDDEN,
            Self::NotJudged | Self::Lookup(_) | Self::Unreachable(_) | Self::Broken(_) => {
                StatusCode::BAD_GATEWAY
            }
        }
    }
}
