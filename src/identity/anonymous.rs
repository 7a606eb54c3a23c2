//! All agents are one anonymous principal: for a gate on a loopback address.

use std::net::IpAddr;

use hyper::HeaderMap;

use super::{Authenticate, Challenge, Identified, Identity, Proof};

/// Needs no credential. Every agent is `anonymous`.
#[derive(Debug, Clone, Copy)]
pub struct Anonymous(pub Reach);

/// From where one may come without proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    ThisMachine,
    Anywhere,
}

impl Authenticate for Anonymous {
    fn identify<'a>(&'a self, _: &'a HeaderMap, peer: IpAddr) -> Identified<'a> {
        let may_come = match self.0 {
            // A socket for both families shows IPv4 peers as mapped addresses.
            Reach::ThisMachine => peer.to_canonical().is_loopback(),
            Reach::Anywhere => true,
        };
        let identified = if may_come {
            Ok(Proof::lasting(Identity::named("anonymous")))
        } else {
            Err(Challenge::Missing)
        };
        Box::pin(std::future::ready(identified))
    }

    fn tells_apart(&self) -> bool {
        false
    }
}
