//! Whose tokens are accepted.

use std::time::Duration;

use super::keyset::Algorithm;

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
    /// Scopes that a token needs, all of them.
    pub scopes: Vec<String>,
}
