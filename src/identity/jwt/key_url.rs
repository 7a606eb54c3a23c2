//! An issuer's keys by URL.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use hyper::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, Response, StatusCode};
use rustls::ClientConfig;
use url::Url;

use super::keys::{Fetched, KeyFault, KeySource};

/// A URL that gives a JWK Set: `https`, or `http` on this machine. What is asked there says nothing of
/// the gate or its agents.
pub struct KeyUrl {
    url: Url,
    http: Client,
}

/// For name, connection and TLS together.
const CONNECT: Duration = Duration::from_secs(5);

/// Bytes of a key set that are taken.
const MAX_BYTES: usize = 1024 * 1024;

/// Redirects that are followed, all of them within the origin.
const MAX_REDIRECTS: usize = 3;

/// The name that is not looked up.
const LOCALHOST: &str = "localhost";

impl KeyUrl {
    /// Connects to nothing yet. `tls` says which authorities are believed.
    pub fn new(url: Url, tls: ClientConfig) -> Result<Self, KeyFault> {
        // No proxy, cookie, `Referer` or compression, as to the server: nothing that the
        // configuration did not name decides whose keys are believed.
        let http = Client::builder()
            .tls_backend_preconfigured(tls)
            .https_only(url.scheme() == "https")
            .no_proxy()
            .referer(false)
            .redirect(Policy::custom(redirected))
            .user_agent(concat!("mcp-protector/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .dns_resolver(Outward)
            .build()
            .map_err(|error| told(&error))?;
        Ok(Self { url, http })
    }

    async fn get(&self) -> Result<Vec<u8>, KeyFault> {
        let asked = self
            .http
            .get(self.url.clone())
            .header(ACCEPT, "application/jwk-set+json, application/json")
            .header(ACCEPT_ENCODING, "identity");
        let mut response = asked.send().await.map_err(|error| told(&error))?;
        check(&response)?;
        let too_long = || KeyFault(format!("it is longer than {MAX_BYTES} bytes"));
        let said = response.content_length().unwrap_or_default();
        if usize::try_from(said).is_ok_and(|said| said > MAX_BYTES) {
            return Err(too_long());
        }
        let mut text = Vec::new();
        while let Some(part) = response.chunk().await.map_err(|error| told(&error))? {
            if text.len() + part.len() > MAX_BYTES {
                return Err(too_long());
            }
            text.extend_from_slice(&part);
        }
        Ok(text)
    }
}

impl KeySource for KeyUrl {
    fn fetch(&self) -> Fetched<'_> {
        Box::pin(self.get())
    }
}

/// Where it is, without its path and query, which may hold a key.
impl fmt::Debug for KeyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = self.url.origin().ascii_serialization();
        f.debug_tuple("KeyUrl").field(&origin).finish()
    }
}

/// A page of a login or of an error is not taken for keys, whatever stands in it.
fn check(response: &Response) -> Result<(), KeyFault> {
    let status = response.status();
    if status != StatusCode::OK {
        return Err(KeyFault(match status.as_u16() {
            code @ 300..=399 => format!("it redirects to where the gate does not follow ({code})"),
            code => format!("its status is {code}"),
        }));
    }
    let Some(named) = response.headers().get(CONTENT_TYPE) else {
        return Ok(());
    };
    let named = named.to_str().unwrap_or_default();
    let named = named.split(';').next().unwrap_or_default().trim();
    let named = named.to_ascii_lowercase();
    if named == "application/json" || named.ends_with("+json") {
        Ok(())
    } else {
        Err(KeyFault("its type is not JSON".to_owned()))
    }
}

fn redirected(attempt: Attempt<'_>) -> Action {
    let asked = attempt.previous().first();
    let near = asked.is_some_and(|asked| asked.origin() == attempt.url().origin())
        && attempt.url().username().is_empty();
    if near && attempt.previous().len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

/// Looks up names, and leaves out addresses at which no issuer of that name can be: whoever can change
/// what a name means would have the gate ask its own machine, or the cloud that it runs in. A private
/// network may well be where the issuer is. Addresses in the URL itself are not looked up.
struct Outward;

impl Resolve for Outward {
    fn resolve(&self, name: Name) -> Resolving {
        let name = name.as_str().to_owned();
        Box::pin(async move {
            let addresses: Vec<SocketAddr> = if name == LOCALHOST {
                let here = [
                    IpAddr::V4(Ipv4Addr::LOCALHOST),
                    IpAddr::V6(Ipv6Addr::LOCALHOST),
                ];
                here.map(|address| SocketAddr::new(address, 0)).into()
            } else {
                let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
                found.filter(|found| may_be_meant(found.ip())).collect()
            };
            if addresses.is_empty() {
                let refused = "the name leads to this machine or to a link-local address alone";
                return Err(io::Error::other(refused).into());
            }
            let addresses: Addrs = Box::new(addresses.into_iter());
            Ok(addresses)
        })
    }
}

fn may_be_meant(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(it) => {
            let is_this_network = it.octets().first() == Some(&0);
            !(it.is_loopback()
                || it.is_link_local()
                || it.is_multicast()
                || it.is_broadcast()
                || is_this_network)
        }
        IpAddr::V6(it) => {
            !(it.is_loopback()
                || it.is_unicast_link_local()
                || it.is_multicast()
                || it.is_unspecified())
        }
    }
}

/// The innermost cause: those round it say where it was. Bounded and escaped, since a certificate's
/// names may be in it.
fn told(error: &reqwest::Error) -> KeyFault {
    let mut innermost: &dyn Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    let text = innermost.to_string();
    KeyFault(text.escape_debug().take(MAX_CAUSE).collect())
}

/// Characters of a cause that are told.
const MAX_CAUSE: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_outward() {
        let check = |address: &str, expected: bool| {
            assert_eq!(
                may_be_meant(address.parse().unwrap()),
                expected,
                "{address}"
            );
        };
        for address in [
            "192.0.2.1",
            "10.0.0.7",
            "192.168.1.1",
            "2001:db8::1",
            "fd00::1",
        ] {
            check(address, true);
        }
        for address in [
            "127.0.0.1",
            "127.8.8.8",
            "169.254.169.254",
            "0.0.0.0",
            "0.1.2.3",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "ff02::1",
            "::ffff:169.254.169.254",
            "::ffff:127.0.0.1",
        ] {
            check(address, false);
        }
    }
}
