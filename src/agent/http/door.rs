//! Whom the listener is for: requests to a host that is ours, from no foreign web page.
//!
//! A web page can make a browser send requests to a loopback address, under a name that resolves to
//! it (DNS rebinding). What it cannot choose is `Host` and `Origin`.

use std::net::IpAddr;

use hyper::Uri;

use super::refusal::Refused;
use super::settings::Settings;
use crate::inward::named_host;

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Which hosts and origins are let in.
#[derive(Debug)]
pub(super) struct Door {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Door {
    /// `port` is the one that is listened on.
    pub(super) fn new(settings: &Settings, port: u16) -> Self {
        let lower = |all: &[String]| -> Vec<String> {
            all.iter().map(|one| one.to_ascii_lowercase()).collect()
        };
        let mut hosts = lower(&settings.allowed_hosts);
        // A page can choose a name that leads to us, and none that is our address.
        let address = match settings.listen.ip() {
            all if all.is_unspecified() => None,
            IpAddr::V4(address) => Some(address.to_string()),
            IpAddr::V6(address) => Some(format!("[{address}]")),
        };
        let ours: Vec<&str> = LOOPBACK.into_iter().chain(address.as_deref()).collect();
        hosts.extend(ours.iter().map(|name| (*name).to_owned()));
        let mut origins = lower(&settings.allowed_origins);
        for name in ours {
            origins.extend(["http", "https"].map(|scheme| format!("{scheme}://{name}:{port}")));
        }
        Self { hosts, origins }
    }

    /// The `Host` field, and the authority in the request line if there is one (RFC 9112 §3.2).
    pub(super) fn check_host(&self, host: Option<&str>, uri: &Uri) -> Result<(), Refused> {
        let host = host
            .and_then(|host| named_host(host, uri))
            .ok_or(Refused::HostMissing)?;
        let whole = host.as_str().to_ascii_lowercase();
        let name = host.host().to_ascii_lowercase();
        if self.hosts.contains(&whole) || self.hosts.contains(&name) {
            Ok(())
        } else {
            Err(Refused::Host)
        }
    }

    /// The `Origin` field, which only browsers send.
    pub(super) fn check_origin(&self, origin: Option<&str>) -> Result<(), Refused> {
        match origin {
            None => Ok(()),
            Some(origin) if self.origins.contains(&origin.to_ascii_lowercase()) => Ok(()),
            Some(_) => Err(Refused::Origin),
        }
    }
}
