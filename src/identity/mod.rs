//! Who sends a request over HTTP.
//!
//! A bearer token is read here and checked here. What leaves is an [`Identity`] with its [`Validity`], or
//! a [`Challenge`], and neither holds a byte of the token. Only a [`Credential`] may: where the token was
//! issued for a server too that the configuration names, or is exchanged for a server's.

mod anonymous;
mod bearer;
mod challenge;
mod jwt;
mod resource;
mod tokens;
mod validity;

#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::Pin;

use hyper::HeaderMap;

use crate::policy::Claims;

pub use anonymous::{Anonymous, AnonymousReach};
pub use challenge::Challenge;
pub use jwt::{
    Algorithm, ClaimPath, Jwt, JwtError, JwtSettings, KeptTokens, KeyFault, KeyFetch, KeyFile,
    KeySource, KeyUrl, NamedClaim,
};
pub use resource::{ProtectedResource, ResourceError};
pub use tokens::{StaticToken, StaticTokens, StaticTokensError};
pub use validity::{Credential, Validity};

/// Who a request comes from, as the gate may rely on it. Two requests of one conversation have
/// equal identities, roles, groups and claims included: one whose rights changed begins anew.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The stable name of the agent, unique at its issuer.
    pub subject: String,
    /// The human behind it, if the token names one.
    pub user: Option<String>,
    /// Who acts for it, the present one first (RFC 8693, section 4.1).
    pub actors: Vec<String>,
    pub roles: Vec<String>,
    pub groups: Vec<String>,
    /// Those that the token grants.
    pub capabilities: Vec<String>,
    /// Those that the configuration names.
    pub claims: Claims,
    /// The session that the token was issued for (claim `session_id`).
    pub session: Option<String>,
}

/// The result of authentication: an identity and its lifetime, or the reason of a failure.
pub type Authentication<'a> =
    Pin<Box<dyn Future<Output = Result<Credential, Challenge>> + Send + 'a>>;

/// Never ends.
pub type RefreshTask<'a> = Pin<Box<dyn Future<Output = Infallible> + Send + 'a>>;

/// Finds out who sends a request, from its headers and its address alone. Asked for every request;
/// a session id is never proof of anything.
pub trait Authenticate: Send + Sync + std::fmt::Debug {
    fn identify<'a>(&'a self, headers: &'a HeaderMap, peer: IpAddr) -> Authentication<'a>;

    /// Whether two agents have two names.
    fn tells_apart(&self) -> bool {
        true
    }

    /// Whether authentication is possible now.
    fn is_able(&self) -> bool {
        true
    }

    /// Keeps at hand what it takes, for as long as this is waited for.
    fn keep_ready(&self) -> RefreshTask<'_> {
        Box::pin(std::future::pending())
    }

    /// Metadata for agents about the source of tokens (RFC 9728), if there is one.
    fn resource(&self) -> Option<&ProtectedResource> {
        None
    }
}

impl Identity {
    /// An identity without roles, groups, capabilities, claims or session.
    pub fn named(subject: impl Into<String>) -> Self {
        Self {
            subject: subject.into(),
            user: None,
            actors: Vec::new(),
            roles: Vec::new(),
            groups: Vec::new(),
            capabilities: Vec::new(),
            claims: Claims::default(),
            session: None,
        }
    }
}
