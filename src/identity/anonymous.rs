//! All agents are one anonymous principal: for a gate on a loopback address.

use std::net::IpAddr;

use hyper::HeaderMap;

use super::{Authenticate, Authentication, Challenge, Credential, Identity};

/// Needs no credential. Every agent is `anonymous`.
#[derive(Debug, Clone, Copy)]
pub struct Anonymous(pub AnonymousReach);

/// From where one may come without proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnonymousReach {
    ThisMachine,
    Anywhere,
}

impl Authenticate for Anonymous {
    fn identify<'a>(&'a self, _: &'a HeaderMap, peer: IpAddr) -> Authentication<'a> {
        let may_come = match self.0 {
            // A socket for both families shows IPv4 peers as mapped addresses.
            AnonymousReach::ThisMachine => peer.to_canonical().is_loopback(),
            AnonymousReach::Anywhere => true,
        };
        let identified = if may_come {
            Ok(Credential::lasting(Identity::named("anonymous")))
        } else {
            Err(Challenge::Missing)
        };
        Box::pin(std::future::ready(identified))
    }

    fn tells_apart(&self) -> bool {
        false
    }
}
