//! Whose tokens are accepted.

use std::sync::Arc;
use std::time::Duration;

use super::keyset::Algorithm;
use crate::policy::ClaimType;

/// Whose tokens are accepted.
#[derive(Debug, Clone)]
pub struct JwtSettings {
    /// `iss`, byte for byte.
    pub issuer: String,
    /// One of `aud`, byte for byte: the gate's canonical URL.
    pub audience: String,
    pub algorithms: Vec<Algorithm>,
    /// How far clocks may differ; at most 60 seconds.
    pub skew: Duration,
    /// The claim that names a session.
    pub session_claim: String,
    /// The claim that names groups.
    pub groups_claim: String,
    /// The claims that policies may look at, each under one name.
    pub claims: Vec<NamedClaim>,
    /// The claim that names capabilities.
    pub capabilities_claim: Option<ClaimPath>,
    /// Scopes that a token needs, all of them.
    pub scopes: Vec<String>,
    /// Servers that may have a token which one of its `aud` names, byte for byte.
    pub servers: Vec<Arc<str>>,
    pub kept: KeptTokens,
}

/// The tokens that go on with their message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptTokens {
    /// Those of which a server may have them.
    ForServers,
    /// All: the gate exchanges them for others (RFC 8693).
    All,
}

/// A claim that policies may look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedClaim {
    /// As policies write it.
    pub name: String,
    pub path: ClaimPath,
    /// A token whose claim has another type is refused.
    pub claim_type: ClaimType,
}

/// Where a claim is in a token: the names of the members that lead to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimPath(Vec<String>);

impl ClaimPath {
    /// A JSON pointer if it begins with a slash, and otherwise the name of a claim. `None` for a text
    /// that is neither.
    pub fn read(text: &str) -> Option<Self> {
        let Some(pointer) = text.strip_prefix('/') else {
            return (!text.is_empty()).then(|| Self(vec![text.to_owned()]));
        };
        let names = pointer.split('/').map(unescaped);
        names.collect::<Option<_>>().map(Self)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// The claim of the token that it leads to, or into.
    pub fn claim(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }
}

/// The name that stands in a JSON pointer (RFC 6901, section 3).
fn unescaped(part: &str) -> Option<String> {
    let rest = part.replace("~0", "").replace("~1", "");
    let is_name = !part.is_empty() && !rest.contains('~');
    is_name.then(|| part.replace("~1", "/").replace("~0", "~"))
}
