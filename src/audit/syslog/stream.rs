//! Messages one after the other on a connection, each behind its length (RFC 6587, section 3.4.1), with TLS
//! (RFC 5425) or without.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use url::Host;

use super::address::SyslogHost;
use super::message::MessageFormat;

/// How long a server may take nothing, or not answer in the handshake, until the log looks whether it is
/// still there.
const PATIENCE: Duration = Duration::from_secs(1);

/// For one address of the server.
const CONNECT: Duration = Duration::from_secs(1);

pub(super) struct Stream {
    to: SyslogHost,
    tls: Option<Arc<ClientConfig>>,
    connection: Option<Connection>,
    frames: Frames,
}

enum Connection {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

/// Messages that wait to be written.
#[derive(Default)]
struct Frames {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
    written: usize,
}

impl Stream {
    pub(super) fn plain(to: SyslogHost) -> Self {
        Self::new(to, None)
    }

    pub(super) fn tls(to: SyslogHost, tls: Arc<ClientConfig>) -> Self {
        Self::new(to, Some(tls))
    }

    fn new(to: SyslogHost, tls: Option<Arc<ClientConfig>>) -> Self {
        Self {
            to,
            tls,
            connection: None,
            frames: Frames::default(),
        }
    }

    /// Sends lines, of which some may be sent already.
    pub(super) fn send(&mut self, lines: &[u8], format: &MessageFormat) -> io::Result<()> {
        if self.frames.ends.is_empty() {
            for line in lines.split_inclusive(|byte| *byte == b'\n') {
                self.frames.add(&format.message(line));
            }
        }
        let kept = self.connection.take().and_then(Connection::if_open);
        let mut connection = if let Some(connection) = kept {
            connection
        } else {
            self.frames.begin_anew();
            self.connect()?
        };
        match self.frames.write_to(connection.writer()) {
            Ok(()) => {
                self.frames = Frames::default();
                self.connection = Some(connection);
                Ok(())
            }
            // The rest can follow on the same connection.
            Err(error) if is_busy(&error) => {
                self.connection = Some(connection);
                Err(io::Error::new(error.kind(), "it does not read"))
            }
            Err(error) => Err(error),
        }
    }

    fn connect(&self) -> io::Result<Connection> {
        let socket = connect(&self.to.resolve()?)?;
        socket.set_write_timeout(Some(PATIENCE))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_nodelay(true)?;
        let Some(tls) = &self.tls else {
            return Ok(Connection::Plain(socket));
        };
        let name = match &self.to.host {
            Host::Domain(name) => ServerName::try_from(name.clone()).map_err(io::Error::other)?,
            Host::Ipv4(address) => ServerName::from(std::net::IpAddr::from(*address)),
            Host::Ipv6(address) => ServerName::from(std::net::IpAddr::from(*address)),
        };
        let session = ClientConnection::new(Arc::clone(tls), name).map_err(io::Error::other)?;
        Ok(Connection::Tls(Box::new(StreamOwned::new(session, socket))))
    }
}

fn connect(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut failure = io::Error::other("its name has no address");
    for address in addresses {
        match TcpStream::connect_timeout(address, CONNECT) {
            Ok(socket) => return Ok(socket),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

impl Frames {
    fn add(&mut self, message: &[u8]) {
        // A `Vec` takes all that is written.
        let _ = write!(self.bytes, "{} ", message.len());
        self.bytes.extend_from_slice(message);
        self.ends.push(self.bytes.len());
    }

    /// A new connection begins with a whole message: the first that was not written to its end.
    fn begin_anew(&mut self) {
        let ends = self.ends.iter().rev();
        let whole = ends.copied().find(|end| *end <= self.written);
        self.written = whole.unwrap_or(0);
    }

    fn write_to(&mut self, writer: &mut dyn Write) -> io::Result<()> {
        loop {
            match self.bytes.get(self.written..) {
                Some(rest) if !rest.is_empty() => match writer.write(rest) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(written) => self.written += written,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                },
                _ => return writer.flush(),
            }
        }
    }
}

impl Connection {
    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => stream,
        }
    }

    /// Unless the server has closed it. The first message after that would be lost, since the system takes
    /// it.
    fn if_open(mut self) -> Option<Self> {
        self.set_nonblocking(Blocking::No).ok()?;
        let is_open = self.has_no_end();
        self.set_nonblocking(Blocking::Yes).ok()?;
        is_open.then_some(self)
    }

    /// Reads what a server says though it has nothing to say, such as tickets of TLS.
    fn has_no_end(&mut self) -> bool {
        let mut ignored = [0; 1024];
        let reader: &mut dyn Read = match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => stream,
        };
        match reader.read(&mut ignored) {
            Ok(said) => said > 0,
            Err(error) => is_busy(&error) || error.kind() == io::ErrorKind::Interrupted,
        }
    }

    fn set_nonblocking(&self, blocking: Blocking) -> io::Result<()> {
        let socket = match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => &stream.sock,
        };
        socket.set_nonblocking(blocking == Blocking::No)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blocking {
    Yes,
    No,
}

fn is_busy(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

/// RFC 5425, section 4.4: the end is announced, so that it is no cut.
impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(Connection::Tls(stream)) = &mut self.connection {
            stream.conn.send_close_notify();
            // The server may be gone before.
            let _ = stream.flush();
        }
    }
}

/// Where it goes, and not what waits.
impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("to", &self.to)
            .field("tls", &self.tls.is_some())
            .field("connected", &self.connection.is_some())
            .finish_non_exhaustive()
    }
}
