//! The key that signs assertions, and its public half.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use secrecy::zeroize::Zeroizing;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::clock::Clock;

/// `iss` of every assertion.
const ISSUER: &str = "mcp-protector";

/// `typ` of every assertion, so that it passes for no other token (RFC 8725 §3.11).
const KIND: &str = "mcp-protector-identity+jwt";

/// From `iat` to `exp`. A server looks at an assertion once, when the message arrives.
pub(super) const LIFETIME_SECONDS: i64 = 120;

/// Signs assertions. The key is made at the start and is in no file: a server fetches the public half
/// where the gate publishes it, and again after a restart.
pub struct Issuer {
    key: Ed25519KeyPair,
    key_id: String,
    clock: Arc<dyn Clock>,
}

/// Why nothing can be signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gives no random numbers")]
pub struct SigningError;

/// Whom an assertion is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub principal: String,
    pub roles: Vec<String>,
    /// The session, as audit records name it.
    pub session: Arc<str>,
}

/// All that an assertion says.
#[derive(Serialize)]
struct Claims<'c> {
    iss: &'static str,
    aud: &'c str,
    sub: &'c str,
    roles: &'c [String],
    sid: &'c str,
    iat: i64,
    exp: i64,
    jti: String,
}

impl Issuer {
    /// # Errors
    /// [`SigningError`] without random numbers.
    pub fn new(clock: Arc<dyn Clock>) -> Result<Self, SigningError> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *seed).map_err(|_| SigningError)?;
        let key = Ed25519KeyPair::from_seed_unchecked(&*seed).map_err(|_| SigningError)?;
        let thumbprint = Sha256::digest(format!("{{{}}}", public_members(&key)));
        Ok(Self {
            key,
            key_id: BASE64_URL_SAFE_NO_PAD.encode(thumbprint),
            clock,
        })
    }

    /// The public key, as a JWK Set (RFC 7517 §5).
    pub fn key_set(&self) -> String {
        let members = public_members(&self.key);
        let id = &self.key_id;
        format!(r#"{{"keys":[{{{members},"kid":"{id}","alg":"EdDSA","use":"sig"}}]}}"#)
    }

    /// Seconds since 1970.
    pub(super) fn now(&self) -> i64 {
        self.clock.now().as_second()
    }

    /// An assertion in the compact form (RFC 7515 §7.1).
    pub(super) fn sign(
        &self,
        audience: &str,
        user: &User,
        now: i64,
    ) -> Result<String, SigningError> {
        let mut id = [0; 16];
        getrandom::fill(&mut id).map_err(|_| SigningError)?;
        let header = format!(
            r#"{{"alg":"EdDSA","typ":"{KIND}","kid":"{}"}}"#,
            self.key_id
        );
        let claims = Claims {
            iss: ISSUER,
            aud: audience,
            sub: &user.principal,
            roles: &user.roles,
            sid: &user.session,
            iat: now,
            exp: now.saturating_add(LIFETIME_SECONDS),
            jti: BASE64_URL_SAFE_NO_PAD.encode(id),
        };
        // Strings and numbers are always written.
        let claims = serde_json::to_string(&claims).map_err(|_| SigningError)?;
        let mut text = BASE64_URL_SAFE_NO_PAD.encode(header);
        text.push('.');
        BASE64_URL_SAFE_NO_PAD.encode_string(claims, &mut text);
        let signature = self.key.sign(text.as_bytes());
        text.push('.');
        BASE64_URL_SAFE_NO_PAD.encode_string(signature.as_ref(), &mut text);
        Ok(text)
    }
}

/// The members of a JWK that its thumbprint covers, in their order (RFC 7638 §3.2, RFC 8037 §2).
fn public_members(key: &Ed25519KeyPair) -> String {
    let x = BASE64_URL_SAFE_NO_PAD.encode(key.public_key());
    format!(r#""crv":"Ed25519","kty":"OKP","x":"{x}""#)
}

impl fmt::Debug for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issuer")
            .field("key_id", &self.key_id)
            .finish_non_exhaustive()
    }
}
