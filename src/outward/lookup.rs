//! Names to addresses, and only to those that may be meant.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use hyper_util::client::legacy::connect::dns::GaiResolver;
use tower_service::Service as _;

use super::url_trust::{LOCALHOST, UrlTrust};

/// The addresses of a name. Their ports say nothing.
pub type AddressLookup = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// Who knows the addresses of names.
pub trait AddressSource: fmt::Debug + Send + Sync {
    fn look_up(&self, name: String) -> AddressLookup;
}

/// The system's resolver.
#[derive(Debug)]
pub struct System;

impl AddressSource for System {
    fn look_up(&self, name: String) -> AddressLookup {
        // This look-up leaves the queue for a thread when its caller goes; tokio's does not.
        let name = name.parse().map_err(io::Error::other);
        Box::pin(async move { Ok(GaiResolver::new().call(name?).await?.collect()) })
    }
}

/// Removes the addresses to which the URL must not lead. The connection is made to what
/// this returns, and the name is not looked up again for it: what a name means a moment later (DNS
/// rebinding) changes nothing. Addresses in the URL itself are not looked up.
#[derive(Debug, Clone)]
pub struct Resolver {
    /// `None`: a name may lead anywhere.
    trust: Option<UrlTrust>,
    lookup: Arc<dyn AddressSource>,
}

impl Resolver {
    /// All addresses that the system knows.
    pub fn system() -> Self {
        let lookup = Arc::new(System);
        Self {
            trust: None,
            lookup,
        }
    }

    pub(super) fn trusting(trust: UrlTrust, lookup: Arc<dyn AddressSource>) -> Self {
        let trust = Some(trust);
        Self { trust, lookup }
    }

    /// `localhost` is this machine, whatever the system says. [`UrlTrust::check`] has refused it before
    /// where it is not permitted.
    pub(super) async fn resolve(self, name: String) -> io::Result<Vec<SocketAddr>> {
        if name == LOCALHOST {
            let own = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
            return Ok(own.map(|address| SocketAddr::new(address, 0)).into());
        }
        let mut found = self.lookup.look_up(name).await?;
        let Some(trust) = self.trust else {
            return Ok(found);
        };
        found.retain(|address| trust.may_lead_to(address.ip()));
        if found.is_empty() {
            return Err(io::Error::other(match trust {
                UrlTrust::Configured => {
                    "the name leads to this machine or to a link-local address alone"
                }
                UrlTrust::Found(_) => "the name leads to no address that may be asked",
            }));
        }
        Ok(found)
    }
}
