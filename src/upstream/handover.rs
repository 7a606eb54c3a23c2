//! Descriptors that the gate and its launcher hand to each other, one at a time.
//!
//! Where a server's network is proxied, the executor's standard input is a socket to the gate. It sends
//! the listener of its new network, and gets the server's real standard input. So no descriptor has to
//! be inherited by a number.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Nothing but a descriptor is said, and a stream carries none without a byte.
const BYTE: [u8; 1] = [0];

/// Sends one descriptor.
///
/// # Errors
/// The system's refusal.
pub fn send(socket: impl AsFd, descriptor: impl AsFd) -> io::Result<()> {
    let descriptors = [descriptor.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let bytes = [IoSlice::new(&BYTE)];
    sendmsg(socket, &bytes, &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Takes one descriptor.
///
/// # Errors
/// The system's refusal; `UnexpectedEof` when the other end is closed.
pub fn receive(socket: impl AsFd) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = BYTE;
    let mut bytes = [IoSliceMut::new(&mut byte)];
    let received = recvmsg(socket, &mut bytes, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    if received.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let descriptor = control.drain().find_map(|message| {
        if let RecvAncillaryMessage::ScmRights(mut descriptors) = message {
            descriptors.next()
        } else {
            None
        }
    });
    descriptor.ok_or_else(|| io::ErrorKind::InvalidData.into())
}
