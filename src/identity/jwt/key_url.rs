//! An issuer's keys by URL.

use std::fmt;

use rustls::ClientConfig;
use url::Url;

use crate::outward::{HttpClient, HttpError, UrlTrust};

use super::keys::{KeyFault, KeyFetch, KeySource};

/// A URL that gives a JWK Set: `https`, or `http` on this machine. What is asked there says nothing of
/// the gate or its agents.
pub struct KeyUrl {
    url: Url,
    asker: HttpClient,
}

/// Bytes of a key set that are taken.
const MAX_BYTES: usize = 1024 * 1024;

impl KeyUrl {
    /// Connects to nothing yet. `tls` says which authorities are believed.
    pub fn new(url: Url, tls: ClientConfig) -> Self {
        let asker = HttpClient::new(tls, UrlTrust::Configured);
        Self { url, asker }
    }

    async fn get(&self) -> Result<Vec<u8>, KeyFault> {
        let accept = "application/jwk-set+json, application/json";
        let answer = self.asker.get(&self.url, accept, MAX_BYTES).await?;
        match answer.status {
            200 if answer.is_json() => Ok(answer.body),
            200 => Err(KeyFault("its type is not JSON".to_owned())),
            code @ 300..=399 => Err(KeyFault(format!(
                "it redirects to where the gate does not follow ({code})"
            ))),
            code => Err(KeyFault(format!("its status is {code}"))),
        }
    }
}

impl KeySource for KeyUrl {
    fn fetch(&self) -> KeyFetch<'_> {
        Box::pin(self.get())
    }
}

impl From<HttpError> for KeyFault {
    fn from(fault: HttpError) -> Self {
        Self(fault.to_string())
    }
}

/// Where it is, without its path and query, which may hold a key.
impl fmt::Debug for KeyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = self.url.origin().ascii_serialization();
        f.debug_tuple("KeyUrl").field(&origin).finish()
    }
}
