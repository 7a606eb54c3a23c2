//! Tokens that the operator wrote down: each is one agent.

use std::net::IpAddr;

use hyper::HeaderMap;
use secrecy::SecretString;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::secret;

use super::{Authenticate, Authentication, Challenge, Credential, Identity, bearer};

/// A token, and who has it.
#[derive(Debug)]
pub struct StaticToken {
    pub token: SecretString,
    pub identity: Identity,
}

/// Knows agents by tokens from the configuration. Tokens are kept as digests only, and a token is
/// compared with every one of them in constant time, so that time tells neither how much of a guess
/// was right nor whose token it was.
pub struct StaticTokens {
    known: Vec<(Fingerprint, Identity)>,
}

/// Why tokens cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StaticTokensError {
    #[error("there is no token, so no agent could authenticate")]
    None,
    #[error("the token of `{0}` has fewer than {least} bytes", least = secret::SHORTEST)]
    Short(String),
    #[error("the token of `{0}` has characters that no bearer token has")]
    Malformed(String),
    #[error("`{0}` and `{1}` have the same token")]
    Shared(String, String),
}

type Fingerprint = [u8; 32];

impl StaticTokens {
    pub fn new(tokens: Vec<StaticToken>) -> Result<Self, StaticTokensError> {
        let mut known: Vec<(Fingerprint, Identity)> = Vec::with_capacity(tokens.len());
        for StaticToken { token, identity } in tokens {
            let subject = || identity.subject.clone();
            if secret::length(&token) < secret::SHORTEST {
                return Err(StaticTokensError::Short(subject()));
            }
            if !bearer::can_be(&token) {
                return Err(StaticTokensError::Malformed(subject()));
            }
            let fingerprint = secret::sha256(&token);
            if let Some((_, other)) = known.iter().find(|(known, _)| *known == fingerprint) {
                return Err(StaticTokensError::Shared(other.subject.clone(), subject()));
            }
            known.push((fingerprint, identity));
        }
        if known.is_empty() {
            return Err(StaticTokensError::None);
        }
        Ok(Self { known })
    }

    fn check(&self, headers: &HeaderMap) -> Result<Identity, Challenge> {
        let presented = fingerprint(bearer::token(headers)?);
        let (mut found, mut at) = (Choice::from(0), 0_u64);
        for (index, (known, _)) in (0_u64..).zip(&self.known) {
            let equal = known.ct_eq(&presented);
            at.conditional_assign(&index, equal);
            found |= equal;
        }
        let identity = usize::try_from(at).ok().and_then(|at| self.known.get(at));
        match (bool::from(found), identity) {
            (true, Some((_, identity))) => Ok(identity.clone()),
            (true, None) | (false, _) => Err(Challenge::Invalid("it is not known here")),
        }
    }
}

impl std::fmt::Debug for StaticTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StaticTokens")
            .field("known", &self.known.len())
            .finish()
    }
}

impl Authenticate for StaticTokens {
    fn identify<'a>(&'a self, headers: &'a HeaderMap, _: IpAddr) -> Authentication<'a> {
        Box::pin(std::future::ready(
            self.check(headers).map(Credential::lasting),
        ))
    }
}

fn fingerprint(token: &str) -> Fingerprint {
    Sha256::digest(token.as_bytes()).into()
}
