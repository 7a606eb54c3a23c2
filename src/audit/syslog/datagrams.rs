//! One message in each datagram: to a socket of this machine, or by UDP (RFC 5426).

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
#[cfg(unix)]
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::time::Duration;

use super::address::SyslogHost;
use super::message::MessageFormat;

/// How long one message waits for a server that does not read.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Datagrams {
    to: DatagramAddress,
    socket: Option<Socket>,
    /// Bytes of the lines that were sent.
    sent: usize,
    too_long: TooLong,
}

#[derive(Debug)]
enum DatagramAddress {
    Unix(PathBuf),
    Udp(SyslogHost),
}

#[derive(Debug)]
enum Socket {
    #[cfg(unix)]
    Unix(UnixDatagram),
    Udp(UdpSocket),
}

/// Whether it was told that this system does not send a message of a usual length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TooLong {
    Untold,
    Told,
}

impl Datagrams {
    pub(super) fn unix(path: PathBuf) -> Self {
        Self::to(DatagramAddress::Unix(path))
    }

    pub(super) fn udp(host: SyslogHost) -> Self {
        Self::to(DatagramAddress::Udp(host))
    }

    fn to(to: DatagramAddress) -> Self {
        Self {
            to,
            socket: None,
            sent: 0,
            too_long: TooLong::Untold,
        }
    }

    /// Sends lines, of which some may be sent already.
    pub(super) fn send(&mut self, lines: &[u8], format: &MessageFormat) -> io::Result<()> {
        let rest = lines.get(self.sent..).unwrap_or_default();
        for line in rest.split_inclusive(|byte| *byte == b'\n') {
            self.send_one(&format.message(line))?;
            self.sent += line.len();
        }
        self.sent = 0;
        Ok(())
    }

    fn send_one(&mut self, message: &[u8]) -> io::Result<()> {
        let socket = match self.socket.take() {
            Some(socket) => socket,
            None => self.to.connect()?,
        };
        match socket.send(message) {
            Ok(()) => {}
            Err(error) if is_too_long(&error) => {
                // Some systems take less than the protocol. Waiting changes nothing.
                if self.too_long == TooLong::Untold {
                    tracing::error!(
                        "a message of {} bytes is too long for syslog here: {error}; `tcp` and `tls` \
                         take any",
                        message.len()
                    );
                }
                self.too_long = TooLong::Told;
            }
            Err(error) if is_busy(&error) => {
                self.socket = Some(socket);
                return Err(io::Error::new(error.kind(), "it does not read"));
            }
            // The next one is sent by another socket: the server may have begun anew.
            Err(error) => return Err(error),
        }
        self.socket = Some(socket);
        Ok(())
    }
}

impl DatagramAddress {
    fn connect(&self) -> io::Result<Socket> {
        match self {
            #[cfg(unix)]
            Self::Unix(path) => {
                let socket = UnixDatagram::unbound()?;
                socket.set_write_timeout(Some(PATIENCE))?;
                socket.connect(path).map_err(of_another_type)?;
                Ok(Socket::Unix(socket))
            }
            #[cfg(not(unix))]
            Self::Unix(path) => Err(io::Error::other(format!(
                "`{}`: this system has no such sockets",
                path.display()
            ))),
            Self::Udp(host) => connect(&host.resolve()?).map(Socket::Udp),
        }
    }
}

/// The first address that this machine can send to.
fn connect(addresses: &[SocketAddr]) -> io::Result<UdpSocket> {
    let mut failure = io::Error::other("its name has no address");
    for address in addresses {
        let ours: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(ours).and_then(|socket| {
            socket.connect(address)?;
            socket.set_write_timeout(Some(PATIENCE))?;
            Ok(socket)
        });
        match socket {
            Ok(socket) => return Ok(socket),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

impl Socket {
    fn send(&self, message: &[u8]) -> io::Result<()> {
        match self {
            #[cfg(unix)]
            Self::Unix(socket) => socket.send(message).map(drop),
            Self::Udp(socket) => socket.send(message).map(drop),
        }
    }
}

fn is_busy(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

#[cfg(unix)]
fn is_too_long(error: &io::Error) -> bool {
    rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::MSGSIZE)
}

#[cfg(not(unix))]
fn is_too_long(error: &io::Error) -> bool {
    // WSAEMSGSIZE
    error.raw_os_error() == Some(10_040)
}

#[cfg(unix)]
fn of_another_type(error: io::Error) -> io::Error {
    if rustix::io::Errno::from_io_error(&error) == Some(rustix::io::Errno::PROTOTYPE) {
        io::Error::other("it is no datagram socket")
    } else {
        error
    }
}
