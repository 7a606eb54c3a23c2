//! What is answered to whom we do not know (RFC 6750 §3, RFC 9728 §5.1).

use super::resource::ProtectedResource;

use crate::policy::ClaimType;
use crate::wire::ActorsError;

/// Why a request is not let in. Nothing in it comes from the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Challenge {
    #[error("a bearer token is needed")]
    Missing,
    #[error("the `Authorization` header cannot be read: {0}")]
    Malformed(&'static str),
    #[error("the token is not valid: {0}")]
    Invalid(&'static str),
    /// A claim that the configuration names is not of its type there.
    #[error("the token is not valid: its claim `{name}` is not {}", .expected.expected())]
    Claim { name: String, expected: ClaimType },
    /// Its chain of actors (RFC 8693, section 4.1).
    #[error("the token is not valid: {0}")]
    Actors(ActorsError),
    #[error("the token lacks a scope: {}", .0.join(" "))]
    Insufficient(Vec<String>),
    #[error("tokens cannot be checked at the moment: {0}")]
    Unavailable(&'static str),
}

impl Challenge {
    /// The HTTP status (RFC 6750 §3.1).
    pub fn status(&self) -> u16 {
        match self {
            Self::Missing | Self::Invalid(_) | Self::Claim { .. } | Self::Actors(_) => 401,
            Self::Malformed(_) => 400,
            Self::Insufficient(_) => 403,
            Self::Unavailable(_) => 503,
        }
    }

    /// A stable word for audit records and tests.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missing => "token_missing",
            Self::Malformed(_) => "token_malformed",
            Self::Invalid(_) | Self::Claim { .. } => "token_invalid",
            Self::Actors(_) => "token_actors_invalid",
            Self::Insufficient(_) => "insufficient_scope",
            Self::Unavailable(_) => "jwks_unavailable",
        }
    }

    /// The value of `WWW-Authenticate`; none where a token would not help. All scopes that are
    /// needed stand in one challenge, so that one round is enough.
    pub fn header(&self, resource: Option<&ProtectedResource>) -> Option<String> {
        let (error, scopes) = match self {
            // RFC 6750 §3.1: no error for a request that did not try.
            Self::Missing => (None, resource.map(ProtectedResource::scopes)),
            Self::Malformed(_) => (Some("invalid_request"), None),
            Self::Invalid(_) | Self::Claim { .. } | Self::Actors(_) => {
                (Some("invalid_token"), None)
            }
            Self::Insufficient(scopes) => (Some("insufficient_scope"), Some(scopes.as_slice())),
            Self::Unavailable(_) => return None,
        };
        let error = error.map(|error| format!("error=\"{error}\""));
        let scope = scopes
            .filter(|scopes| !scopes.is_empty())
            .map(|scopes| format!("scope=\"{}\"", scopes.join(" ")));
        let metadata = resource.map(|it| format!("resource_metadata=\"{}\"", it.metadata_url()));
        let parts: Vec<String> = [error, scope, metadata].into_iter().flatten().collect();
        Some(if parts.is_empty() {
            "Bearer".to_owned()
        } else {
            format!("Bearer {}", parts.join(", "))
        })
    }
}
