//! Which kinds of sockets a server can have.
//!
//! Landlock's ports are those of TCP alone. UDP, raw sockets, SCTP, MPTCP (which is TCP on the wire)
//! and the sockets of daemons in the file system pass it by, the latter until its ABI 9. So the calls
//! that make such sockets fail; no other way to them is left open.
//!
//! In a network namespace there are no others' addresses. Sockets to the host of a virtual machine
//! (`AF_VSOCK`) know no namespaces, and fail as well.

use nix::libc;
use seccompiler::{BackendError, SeccompCondition, SeccompRule};

use super::call_rules::{Refused, equal, masked, refuse, unequal};
use super::{LocalSockets, Network, Sandbox};

/// Refuses the calls that would make a socket which `sandbox` does not grant.
pub(super) fn refuse_others(rules: &mut Refused, sandbox: &Sandbox) -> Result<(), BackendError> {
    // Its requests make sockets and send without a call that could be looked at.
    refuse(rules, libc::SYS_io_uring_setup, Vec::new());
    let refused = socket(sandbox)?;
    // A list without rules would refuse all of them.
    if !refused.is_empty() {
        refuse(rules, libc::SYS_socket, refused);
    }
    if sandbox.local_sockets != LocalSockets::Granted {
        // One end of a pair of datagrams can send to any address, and be connected to it. The kernel takes
        // a raw pair for datagrams.
        let mut pairs = vec![SeccompRule::new(vec![unequal(0, libc::AF_UNIX)?])?];
        for kind in (0..=TYPES).filter(|kind| !PAIRS.contains(kind)) {
            pairs.push(SeccompRule::new(vec![masked(1, TYPES, kind)?])?);
        }
        refuse(rules, libc::SYS_socketpair, pairs);
    }
    if matches!(sandbox.network, Network::Ports(_)) {
        // Without `bind` the kernel takes a port for it, and Landlock is not asked.
        refuse(rules, libc::SYS_listen, Vec::new());
        // It connects while it sends, where older kernels ask Landlock nothing.
        let fast_open = u64::from(libc::MSG_FASTOPEN.unsigned_abs());
        for (call, argument) in [
            (libc::SYS_sendto, 3),
            (libc::SYS_sendmsg, 2),
            (libc::SYS_sendmmsg, 3),
        ] {
            let is_set = masked(argument, fast_open, fast_open)?;
            refuse(rules, call, vec![SeccompRule::new(vec![is_set])?]);
        }
    }
    Ok(())
}

/// What is refused of `socket(domain, type, protocol)`: any of these.
fn socket(sandbox: &Sandbox) -> Result<Vec<SeccompRule>, BackendError> {
    let local = (sandbox.local_sockets == LocalSockets::Granted).then_some(libc::AF_UNIX);
    let internet = [libc::AF_INET, libc::AF_INET6];
    let of_network: &[i32] = match sandbox.network {
        Network::Absent => &[],
        // Resolvers ask by it which addresses this machine has.
        Network::Ports(_) | Network::Proxied => &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
        Network::Full if local.is_some() => return Ok(Vec::new()),
        Network::Full => {
            let is_local = equal(0, libc::AF_UNIX)?;
            return Ok(vec![SeccompRule::new(vec![is_local])?]);
        }
    };
    let domains = of_network.iter().copied().chain(local);
    let other = domains.map(|domain| unequal(0, domain));
    let mut refused = Vec::new();
    let other: Vec<SeccompCondition> = other.collect::<Result<_, _>>()?;
    if other.is_empty() {
        // Every one: a condition that always holds, since rules without any are none.
        refused.push(SeccompRule::new(vec![masked(0, 0, 0)?])?);
    } else {
        refused.push(SeccompRule::new(other)?);
    }
    if matches!(sandbox.network, Network::Ports(_) | Network::Proxied) {
        for domain in internet {
            let protocols = [0, libc::IPPROTO_TCP, libc::IPPROTO_UDP];
            let mut other = vec![equal(0, domain)?];
            for protocol in protocols {
                other.push(unequal(2, protocol)?);
            }
            refused.push(SeccompRule::new(other)?);
            // The flags beside the type are left out of the comparison.
            for kind in (0..=TYPES).filter(|kind| !STREAMS_AND_DATAGRAMS.contains(kind)) {
                let is_other = vec![equal(0, domain)?, masked(1, TYPES, kind)?];
                refused.push(SeccompRule::new(is_other)?);
            }
        }
    }
    Ok(refused)
}

/// The bits of the type in `socket`'s second argument.
const TYPES: u64 = 0xf;
const STREAMS_AND_DATAGRAMS: [u64; 2] = [1, DATAGRAM];
const DATAGRAM: u64 = 2;

/// Streams, and packets in order: both ends of such a pair stay what they are.
const PAIRS: [u64; 2] = [1, 5];
