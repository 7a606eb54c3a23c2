//! Names to addresses, and only to those that may be meant.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::url_trust::{LOCALHOST, UrlTrust};

/// The addresses of a name.
pub type AddressLookup = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Who knows the addresses of names.
pub trait AddressSource: fmt::Debug + Send + Sync {
    fn look_up(&self, name: String) -> AddressLookup;
}

/// The system's resolver.
#[derive(Debug)]
pub struct System;

impl AddressSource for System {
    fn look_up(&self, name: String) -> AddressLookup {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|found| found.ip()).collect())
        })
    }
}

/// Removes the addresses to which the URL must not lead. The connection is made to what
/// this returns, and the name is not looked up again for it: what a name means a moment later (DNS
/// rebinding) changes nothing. Addresses in the URL itself are not looked up.
pub(super) struct Resolver {
    pub(super) whence: UrlTrust,
    pub(super) lookup: Arc<dyn AddressSource>,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (whence, lookup) = (self.whence, Arc::clone(&self.lookup));
        let name = name.as_str().to_owned();
        Box::pin(async move {
            let found = if name == LOCALHOST {
                // That it may be asked was said before.
                vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
            } else {
                let mut found = lookup.look_up(name).await?;
                found.retain(|address| whence.may_lead_to(*address));
                found
            };
            if found.is_empty() {
                let refused = match whence {
                    UrlTrust::Configured => {
                        "the name leads to this machine or to a link-local address alone"
                    }
                    UrlTrust::Found(_) => "the name leads to no address that may be asked",
                };
                return Err(io::Error::other(refused).into());
            }
            let found = found.into_iter();
            // The port is that of the URL.
            let found: Addrs = Box::new(found.map(|address| SocketAddr::new(address, 0)));
            Ok(found)
        })
    }
}
