//! Which kinds of sockets a server can have.
//!
//! Landlock's ports are those of TCP alone. UDP, raw sockets, SCTP, MPTCP (which is TCP on the wire)
//! and the sockets of daemons in the file system pass it by, the latter until its ABI 9. So the calls
//! that make such sockets fail; no other way to them is left open.

use std::collections::BTreeMap;
use std::thread;

use nix::libc;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, apply_filter,
};

use super::{LocalSockets, Network, Sandbox};

/// From here on calls fail that would make a socket which `sandbox` does not grant.
///
/// # Errors
/// In words for whoever runs the gate.
pub(super) fn filter(sandbox: &Sandbox) -> Result<(), String> {
    let program = program(sandbox).map_err(|error| format!("no filter of sockets: {error}"))?;
    apply_filter(&program).map_err(|error| format!("no filter of sockets: {error}"))
}

/// Whether [`filter`] can do that, found out on a thread that ends with it: the others stay as they are.
///
/// # Errors
/// In words for whoever runs the gate.
pub(super) fn try_out(sandbox: &Sandbox) -> Result<(), String> {
    thread::scope(|scope| {
        let tried = thread::Builder::new().spawn_scoped(scope, || filter(sandbox));
        let tried = tried.map_err(|error| format!("no filter of sockets: {error}"))?;
        let ended = |_| Err("no filter of sockets: trying one failed".to_owned());
        tried.join().unwrap_or_else(ended)
    })
}

fn program(sandbox: &Sandbox) -> Result<BpfProgram, BackendError> {
    let mut rules = BTreeMap::new();
    // Its requests make sockets and send without a call that could be looked at.
    refuse(&mut rules, libc::SYS_io_uring_setup, Vec::new());
    let refused = socket(sandbox)?;
    // A list without rules would refuse all of them.
    if !refused.is_empty() {
        refuse(&mut rules, libc::SYS_socket, refused);
    }
    if sandbox.local_sockets != LocalSockets::Granted {
        // One end of a pair of datagrams can send to any address, and be connected to it.
        let is_datagram = masked(1, TYPES, DATAGRAM)?;
        let rule = vec![SeccompRule::new(vec![is_datagram])?];
        refuse(&mut rules, libc::SYS_socketpair, rule);
    }
    if matches!(sandbox.network, Network::Ports(_)) {
        // Without `bind` the kernel takes a port for it, and Landlock is not asked.
        refuse(&mut rules, libc::SYS_listen, Vec::new());
        // It connects while it sends, where older kernels ask Landlock nothing.
        let fast_open = u64::from(libc::MSG_FASTOPEN.unsigned_abs());
        for (call, argument) in [
            (libc::SYS_sendto, 3),
            (libc::SYS_sendmsg, 2),
            (libc::SYS_sendmmsg, 3),
        ] {
            let is_set = masked(argument, fast_open, fast_open)?;
            refuse(&mut rules, call, vec![SeccompRule::new(vec![is_set])?]);
        }
    }
    let arch = std::env::consts::ARCH.try_into()?;
    // Calls of another architecture end the process.
    let refused = SeccompAction::Errno(libc::EACCES.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?.try_into()
}

/// What is refused of `socket(domain, type, protocol)`: any of these.
fn socket(sandbox: &Sandbox) -> Result<Vec<SeccompRule>, BackendError> {
    let local = (sandbox.local_sockets == LocalSockets::Granted).then_some(libc::AF_UNIX);
    let internet = [libc::AF_INET, libc::AF_INET6];
    let of_network: &[i32] = match sandbox.network {
        Network::Absent => &[],
        // Resolvers ask by it which addresses this machine has.
        Network::Ports(_) => &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
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
    if matches!(sandbox.network, Network::Ports(_)) {
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

fn refuse(rules: &mut BTreeMap<i64, Vec<SeccompRule>>, call: i64, when: Vec<SeccompRule>) {
    // The same call under the numbers of x32, which count as this architecture.
    #[cfg(target_arch = "x86_64")]
    rules.insert(call | 0x4000_0000, when.clone());
    rules.insert(call, when);
}

fn equal(argument: u8, value: i32) -> Result<SeccompCondition, BackendError> {
    let value = u64::from(value.unsigned_abs());
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn unequal(argument: u8, value: i32) -> Result<SeccompCondition, BackendError> {
    let value = u64::from(value.unsigned_abs());
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
}

fn masked(argument: u8, mask: u64, value: u64) -> Result<SeccompCondition, BackendError> {
    let is_so = SeccompCmpOp::MaskedEq(mask);
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, is_so, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::sandbox::{SandboxError, Strength, check};

    /// On a thread of its own, which and whose threads get no filter from now on.
    fn without_filters<T: Send>(then: impl FnOnce() -> T + Send) -> T {
        let mut rules = BTreeMap::new();
        rules.insert(libc::SYS_seccomp, Vec::new());
        let set = u64::from(libc::PR_SET_SECCOMP.unsigned_abs());
        let set = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, set);
        let set = SeccompRule::new(vec![set.unwrap()]).unwrap();
        rules.insert(libc::SYS_prctl, vec![set]);
        let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
        let arch = std::env::consts::ARCH.try_into().unwrap();
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch).unwrap();
        let program: BpfProgram = filter.try_into().unwrap();
        thread::scope(|scope| {
            let there = scope.spawn(|| {
                apply_filter(&program).unwrap();
                then()
            });
            there.join().unwrap()
        })
    }

    #[test]
    fn a_filter_of_sockets_that_cannot_be_had_is_told_before_the_server_starts() {
        let sandbox = |strength| Sandbox {
            strength,
            ..Sandbox::default()
        };
        let told = |text: &str| text.contains("no filter of sockets");
        let less = without_filters(|| check(&sandbox(Strength::BestEffort)));
        assert!(
            less.clone().unwrap().is_some_and(|it| told(&it)),
            "{less:?}"
        );
        let all = without_filters(|| check(&sandbox(Strength::Required))).unwrap_err();
        let kernel = |it: &SandboxError| matches!(it, SandboxError::Kernel(it) if told(it));
        assert!(all.iter().any(kernel), "{all:?}");
    }

    #[test]
    fn to_try_a_filter_out_leaves_everybody_else_without_it() {
        let sandbox = Sandbox::default();
        try_out(&sandbox).unwrap();
        std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        std::os::unix::net::UnixDatagram::pair().unwrap();
    }
}
