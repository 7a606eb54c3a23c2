//! A network in which there is nothing but the egress proxy.
//!
//! The namespace has one interface, `lo`, and no route. The process that made a listener may hand it to a
//! process outside: what is accepted there comes from inside.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};

use nix::libc;
use nix::sched::CloneFlags;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::process::{DumpableBehavior, getegid, geteuid, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capability_is_in_bounding_set,
    remove_capability_from_bounding_set, set_capabilities,
};

use crate::egress;

/// Moves the calling process, which must have one thread, into a network of its own, and takes from it
/// all that it could do there as its owner. Yields the listener of the egress proxy.
///
/// # Errors
/// In words for the operator. The process must not become a server then.
pub fn enter() -> io::Result<TcpListener> {
    // Its own files in `/proc` belong to root otherwise. The server's memory, which this will be, can
    // be looked at by its user as well.
    set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    // A user namespace, for root as well: no capability counts outside of it, so that no process in it
    // can go back.
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    nix::sched::unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)
        .map_err(|cause| refused("no user namespace with a network of its own", &cause.into()))?;
    be(user, group).map_err(|cause| refused("no user in a user namespace", &cause))?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    loopback_up()
        .map_err(|cause| refused("no loopback interface in a network namespace", &cause))?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, egress::PORT))?;
    give_up_capabilities()?;
    Ok(listener)
}

fn refused(lacks: &str, cause: &io::Error) -> io::Error {
    let help = "the kernel must let this user make user namespaces \
                (`user.max_user_namespaces`, `kernel.unprivileged_userns_clone`, \
                `kernel.apparmor_restrict_unprivileged_userns`, the profile of a container)";
    io::Error::other(format!(
        "the network cannot be proxied: {lacks}: {cause}; {help}"
    ))
}

/// The same user and group as outside.
fn be(user: u32, group: u32) -> io::Result<()> {
    // Who has no rights outside may map a group only if groups cannot be left any more.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))
}

/// The loopback interface is the first one of every network.
const LOOPBACK: i32 = 1;

/// Bytes of the answer: its head, the error, and the head of the request.
const ANSWER: usize = 64;

/// rtnetlink(7): one request of two fixed structures, and its answer. A library for all of it would be
/// a large one.
fn loopback_up() -> io::Result<()> {
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        // NETLINK_ROUTE, which is 0.
        None,
    )?;
    let up = u32::try_from(libc::IFF_UP).unwrap_or_default();
    let flags = u16::try_from(libc::NLM_F_REQUEST | libc::NLM_F_ACK).unwrap_or_default();
    let unspecified = [0; 4];
    let interface = [
        unspecified,
        LOOPBACK.to_ne_bytes(),
        up.to_ne_bytes(),
        up.to_ne_bytes(),
    ]
    .concat();
    let (sequence, port) = ([0; 4], [0; 4]);
    let length = u32::try_from(16 + interface.len()).unwrap_or_default();
    let mut request = length.to_ne_bytes().to_vec();
    request.extend(libc::RTM_NEWLINK.to_ne_bytes());
    request.extend(flags.to_ne_bytes());
    request.extend([sequence, port].concat());
    request.extend(interface);
    rustix::net::send(&socket, &request, SendFlags::empty())?;
    let mut answer = [0; ANSWER];
    rustix::net::recv(&socket, &mut answer, RecvFlags::empty())?;
    // The head has 16 bytes, with the type behind the length.
    let kind = answer.get(4..6).and_then(|it| it.try_into().ok());
    let error = answer.get(16..20).and_then(|it| it.try_into().ok());
    match (kind.map(u16::from_ne_bytes), error.map(i32::from_ne_bytes)) {
        (Some(kind), Some(0)) if i32::from(kind) == libc::NLMSG_ERROR => Ok(()),
        (_, Some(error)) => Err(io::Error::from_raw_os_error(error.saturating_neg())),
        (_, None) => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// The owner of a namespace has all of them in it: it could change the network, and mount.
fn give_up_capabilities() -> io::Result<()> {
    for one in CapabilitySet::all().iter() {
        // A kernel does not know all of them.
        if capability_is_in_bounding_set(one).unwrap_or(false) {
            remove_capability_from_bounding_set(one)?;
        }
    }
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, none)?)
}
