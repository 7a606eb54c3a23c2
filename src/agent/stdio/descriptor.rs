//! Our own stdin and stdout as non-blocking streams, where they are pipes or sockets.
//!
//! `O_NONBLOCK` belongs to the open file description, which other processes and our own stderr may
//! share; a non-blocking stderr loses log lines, a non-blocking stdin breaks whoever reads it after
//! us. So a pipe is opened a second time where the system can do that (Linux), and elsewhere the
//! flag is taken back at the end and not set at all if stderr would get it too.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::stdio::{dup2_stdin, dup2_stdout};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

use super::byte_streams::{Input, Output};

/// Our stdin; `None` if only a thread can read it.
pub(super) fn input() -> Option<Input> {
    let stdin = io::stdin();
    let taken = Taken::new(stdin.as_fd(), "/proc/self/fd/0", OFlags::RDONLY)?;
    let input: Input = match taken.kind {
        Kind::Pipe => Box::new(Restoring {
            stream: pipe::Receiver::from_owned_fd(taken.descriptor).ok()?,
            _flags: taken.flags,
            _watched: None,
        }),
        Kind::Socket => Box::new(Restoring {
            stream: socket(taken.descriptor)?,
            _flags: taken.flags,
            _watched: None,
        }),
    };
    if let Ok(null) = File::open("/dev/null") {
        // Failing leaves a second descriptor of the same pipe, which nobody reads.
        let _ = dup2_stdin(null);
    }
    Some(input)
}

/// Our stdout, and who is at its other end; `None` if only a thread can write to it.
pub(super) fn output() -> Option<(Output, Reader)> {
    let stdout = io::stdout();
    let taken = Taken::new(stdout.as_fd(), "/proc/self/fd/1", OFlags::WRONLY)?;
    let watched = Arc::new(taken.descriptor.try_clone().ok()?);
    let reader = Reader(Some(Arc::downgrade(&watched)));
    let output: Output = match taken.kind {
        Kind::Pipe => Box::new(Restoring {
            stream: pipe::Sender::from_owned_fd(taken.descriptor).ok()?,
            _flags: taken.flags,
            _watched: Some(watched),
        }),
        Kind::Socket => Box::new(Restoring {
            stream: socket(taken.descriptor)?,
            _flags: taken.flags,
            _watched: Some(watched),
        }),
    };
    // Failing leaves stdout open to stray prints, as it is in every program.
    let _ = dup2_stdout(io::stderr());
    Some((output, reader))
}

/// A socket in place of both.
pub(super) fn of_socket(socket: UnixStream) -> io::Result<(Input, Output, Reader)> {
    let watched = Arc::new(socket.as_fd().try_clone_to_owned()?);
    let reader = Reader(Some(Arc::downgrade(&watched)));
    let (input, output) = socket.into_split();
    let output = Restoring {
        stream: output,
        _flags: None,
        _watched: Some(watched),
    };
    Ok((Box::new(input), Box::new(output), reader))
}

/// Who is at the other end of our stdout. Nothing is known of a file or a terminal.
#[derive(Debug, Clone, Default)]
pub(super) struct Reader(Option<Weak<OwnedFd>>);

impl Reader {
    /// Whether the other end is closed, or ours.
    pub(super) fn has_gone(&self) -> bool {
        let Some(watched) = &self.0 else {
            return false;
        };
        watched.upgrade().is_none_or(|watched| is_unread(&watched))
    }
}

/// Asked for nothing, the system tells of a pipe without a reader, and of a socket that both sides have
/// closed.
fn is_unread(output: &OwnedFd) -> bool {
    let mut asked = [PollFd::new(output, PollFlags::empty())];
    let told = poll(&mut asked, Some(&Timespec::default()));
    let ends = PollFlags::ERR | PollFlags::HUP;
    told.is_ok() && asked.iter().any(|it| it.revents().intersects(ends))
}

/// What an event loop can wait for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Pipe,
    Socket,
}

/// A non-blocking descriptor of ours for one of the standard streams.
struct Taken {
    descriptor: OwnedFd,
    kind: Kind,
    flags: Option<Flags>,
}

impl Taken {
    fn new(stream: BorrowedFd<'_>, name: &str, access: OFlags) -> Option<Self> {
        let kind = match FileType::from_raw_mode(fstat(stream).ok()?.st_mode) {
            FileType::Fifo => Kind::Pipe,
            FileType::Socket => Kind::Socket,
            FileType::RegularFile
            | FileType::Directory
            | FileType::Symlink
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => return None,
        };
        if kind == Kind::Pipe
            && let Some(descriptor) = open_again(name, access)
        {
            return Some(Self {
                descriptor,
                kind,
                flags: None,
            });
        }
        let descriptor = stream.try_clone_to_owned().ok()?;
        let flags = Flags::set_nonblocking(&descriptor)?;
        Some(Self {
            descriptor,
            kind,
            flags: Some(flags),
        })
    }
}

/// Fails where another user made the pipe, or nobody is at its other end.
#[cfg(target_os = "linux")]
fn open_again(name: &str, access: OFlags) -> Option<OwnedFd> {
    let flags = access | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open(name, flags, rustix::fs::Mode::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn open_again(_name: &str, _access: OFlags) -> Option<OwnedFd> {
    None
}

fn socket(descriptor: OwnedFd) -> Option<UnixStream> {
    // Of whatever family: it is only read from and written to.
    UnixStream::from_std(StdUnixStream::from(descriptor)).ok()
}

/// Takes `O_NONBLOCK` back when dropped.
struct Flags {
    descriptor: OwnedFd,
    before: OFlags,
}

impl Flags {
    /// `None` if the descriptor cannot be changed, or not without changing stderr.
    fn set_nonblocking(descriptor: &OwnedFd) -> Option<Self> {
        let stderr = io::stderr();
        let stderr_before = fcntl_getfl(&stderr).ok();
        let before = fcntl_getfl(descriptor).ok()?;
        let flags = Self {
            descriptor: descriptor.try_clone().ok()?,
            before,
        };
        fcntl_setfl(descriptor, before | OFlags::NONBLOCK).ok()?;
        // The only question whose answer tells one shared description from two.
        (fcntl_getfl(&stderr).ok() == stderr_before).then_some(flags)
    }
}

impl Drop for Flags {
    fn drop(&mut self) {
        // There is nobody left to tell.
        let _ = fcntl_setfl(&self.descriptor, self.before);
    }
}

/// A stream whose flags are restored when it is dropped.
struct Restoring<S> {
    stream: S,
    _flags: Option<Flags>,
    /// A second descriptor, for [`Reader`].
    _watched: Option<Arc<OwnedFd>>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Restoring<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Restoring<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    /// Does not shut a socket down: whoever shares it may go on. Dropping closes our end.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}
