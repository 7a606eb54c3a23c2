//! Agents known by JSON Web Tokens (RFC 7519, RFC 9068).
//!
//! What a token may claim is decided by configuration and by the keys, never by the token: its
//! algorithm must be one of those that were allowed, and only a key of that very type is asked, so
//! that neither `none` nor a public key taken for a secret gets anywhere. Keys that a token brings
//! along are not looked at. Parts are read by the strict decoder that reads messages.

mod claims;
mod compact;
mod key_url;
mod keys;
mod keyset;
#[cfg(test)]
mod oracle;
mod settings;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::HeaderMap;
use secrecy::SecretString;

use crate::clock::Clock;
use crate::wire::AgentToken;

use super::{
    Authenticate, Authentication, Challenge, Credential, ProtectedResource, RefreshTask, bearer,
};

pub use key_url::KeyUrl;
pub use keys::{KeyFault, KeyFetch, KeyFile, KeySource};
pub use keyset::Algorithm;
pub use settings::{ClaimPath, JwtSettings, KeptTokens, NamedClaim};

use compact::CompactToken;
use keys::Keys;

/// Why tokens cannot be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JwtError {
    #[error("no algorithm is allowed")]
    NoAlgorithm,
    #[error("the issuer is empty")]
    NoIssuer,
    #[error("the audience is empty")]
    NoAudience,
    #[error("clocks may differ by at most {} s", MAX_SKEW.as_secs())]
    Skew,
}

/// The most that clocks may differ.
const MAX_SKEW: Duration = Duration::from_mins(1);

/// Knows agents by tokens of one issuer.
#[derive(Debug)]
pub struct Jwt {
    settings: JwtSettings,
    keys: Arc<Keys>,
    clock: Arc<dyn Clock>,
    resource: Option<ProtectedResource>,
}

impl Jwt {
    pub fn new(
        settings: JwtSettings,
        source: Arc<dyn KeySource>,
        clock: Arc<dyn Clock>,
        resource: Option<ProtectedResource>,
    ) -> Result<Self, JwtError> {
        if settings.algorithms.is_empty() {
            return Err(JwtError::NoAlgorithm);
        }
        if settings.issuer.is_empty() {
            return Err(JwtError::NoIssuer);
        }
        if settings.audience.is_empty() {
            return Err(JwtError::NoAudience);
        }
        if settings.skew > MAX_SKEW {
            return Err(JwtError::Skew);
        }
        Ok(Self {
            keys: Arc::new(Keys::new(source, Arc::clone(&clock))),
            settings,
            clock,
            resource,
        })
    }

    async fn check(&self, token: &str) -> Result<Credential, Challenge> {
        let compact = CompactToken::read(token).map_err(Challenge::Invalid)?;
        let algorithm = Algorithm::named(compact.algorithm())
            .filter(|algorithm| self.settings.algorithms.contains(algorithm))
            .ok_or(Challenge::Invalid("its algorithm is not allowed"))?;
        let keys = self.keys.holding(algorithm, compact.key_id()).await?;
        if !keys.verify(algorithm, compact.key_id(), &compact) {
            return Err(Challenge::Invalid("its signature is wrong"));
        }
        let now = self.clock.now().as_second();
        let (identity, until) = claims::check(compact.claims(), &self.settings, now)?;
        let credential = Credential::until(identity, until, Arc::clone(&self.clock));
        let work = claims::work(compact.claims(), &self.settings);
        let servers = claims::servers(compact.claims(), &self.settings);
        let is_kept = !servers.is_empty() || self.settings.kept == KeptTokens::All;
        let kept = is_kept.then(|| AgentToken::new(SecretString::from(token), servers, until));
        Ok(credential.of_work(work).with_token(kept))
    }
}

impl Authenticate for Jwt {
    fn identify<'a>(&'a self, headers: &'a HeaderMap, _: IpAddr) -> Authentication<'a> {
        Box::pin(async move { self.check(bearer::token(headers)?).await })
    }

    fn is_able(&self) -> bool {
        self.keys.are_at_hand()
    }

    fn keep_ready(&self) -> RefreshTask<'_> {
        Box::pin(self.keys.keep())
    }

    fn resource(&self) -> Option<&ProtectedResource> {
        self.resource.as_ref()
    }
}

#[cfg(test)]
mod tests;
