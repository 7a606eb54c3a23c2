//! A socket of whose peer hyper sees whole heads only, each after it was read strictly, and one
//! request after the other.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use super::head::{Rest, Scanned, Scanner};
use super::misframed::Misframed;
use super::patient::Patient;
use super::places::{Displaced, Place};
use super::progress::Progress;
use super::protocol::Protocol;
use super::socket::Socket;
use super::tls::TlsSocket;

/// What is no request is given to hyper as one that is, so that it is answered, in its turn, by
/// whoever answers requests; [`Progress::take`] tells which it is.
#[derive(Debug)]
pub struct Checked {
    socket: Socket,
    protocol: Protocol,
    scanner: Scanner,
    at: At,
    /// What was read and is for hyper to take next: of a head that came in pieces.
    judged: Bytes,
    /// What was read and nobody has judged: the part of a head, or what follows a request.
    held: BytesMut,
    progress: Arc<Progress>,
    lingering: Option<Lingering>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Head,
    /// In a body of which so much is to come.
    Body(Rest),
    /// After a request that is not answered yet.
    End,
    /// What came was no request. Where the next one begins is not known.
    Over,
    /// A body was malformed, and where the next request begins is not known. Reading the body fails.
    Broken,
}

/// What a peer is still sending is thrown away: a socket that is closed over unread bytes takes the
/// answer with it.
#[derive(Debug)]
struct Lingering {
    until: Pin<Box<Sleep>>,
    bytes: usize,
}

const STAND_IN: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// How long and how much is thrown away at most.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 1024 * 1024;

impl Checked {
    pub fn new(socket: TcpStream, place: Place, protocol: Protocol) -> Self {
        let socket = Patient::new(socket, protocol.write_deadline);
        Self::of(Socket::Plain(socket), place, protocol)
    }

    pub fn over_tls(socket: TlsSocket, place: Place, protocol: Protocol) -> Self {
        Self::of(Socket::Tls(socket), place, protocol)
    }

    fn of(socket: Socket, place: Place, protocol: Protocol) -> Self {
        Self {
            socket,
            protocol,
            scanner: Scanner::new(protocol.limits).taking(protocol.targets),
            at: At::Head,
            judged: Bytes::new(),
            held: BytesMut::new(),
            progress: Arc::new(Progress::new(place)),
            lingering: None,
        }
    }

    /// How far what is read of it has come.
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// Reads into the buffer; yields how many bytes, none at the end.
    fn poll_socket(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<usize>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.socket).poll_read(cx, buf))?;
        Poll::Ready(Ok(buf.filled().len() - before))
    }

    /// Takes the last bytes of the buffer back.
    fn hold(&mut self, buf: &mut ReadBuf<'_>, count: usize) {
        let kept = buf.filled().len().saturating_sub(count);
        self.held
            .extend_from_slice(buf.filled().get(kept..).unwrap_or_default());
        buf.set_filled(kept);
    }

    /// Judges the bytes of a head that were just read into the buffer. A head that came at once, and
    /// what came of its body, stays there.
    fn head_came(&mut self, buf: &mut ReadBuf<'_>, count: usize) -> Result<(), Displaced> {
        self.progress.heard();
        if !self.held.is_empty() {
            self.hold(buf, count);
            return self.judge_held();
        }
        let start = buf.filled().len().saturating_sub(count);
        let fresh = buf.filled().get(start..).unwrap_or_default();
        match self.scanner.scan(fresh) {
            Ok(Scanned::Partial) => self.hold(buf, count),
            Ok(Scanned::Whole { head, body }) => {
                let own = self.begin(fresh, head, body)?;
                self.hold(buf, count - own);
            }
            Err(cause) => {
                buf.set_filled(start);
                self.refuse(cause)?;
            }
        }
        Ok(())
    }

    fn judge_held(&mut self) -> Result<(), Displaced> {
        match self.scanner.scan(&self.held) {
            Ok(Scanned::Partial) => Ok(()),
            Ok(Scanned::Whole { head, body }) => {
                let mut held = std::mem::take(&mut self.held);
                let own = self.begin(&held, head, body)?;
                self.judged = held.split_to(own).freeze();
                self.held = held;
                Ok(())
            }
            Err(cause) => self.refuse(cause),
        }
    }

    /// A request begins, of which and behind which these bytes are there; yields how many are its own.
    fn begin(&mut self, there: &[u8], head: usize, mut body: Rest) -> Result<usize, Displaced> {
        self.scanner = Scanner::new(self.protocol.limits).taking(self.protocol.targets);
        let came = body.take(there.get(head..).unwrap_or_default());
        if let Ok(Some(end)) = came {
            self.progress.whole()?;
            self.at = At::End;
            return Ok(head + end);
        }
        match body {
            Rest::Tunnel => self.progress.tunnels()?,
            Rest::Bytes(_) | Rest::Chunks(_) => self.progress.headed(),
        }
        let (at, own) = match came {
            Ok(_) => (At::Body(body), there.len()),
            Err(_) => (At::Broken, head),
        };
        self.at = at;
        Ok(own)
    }

    fn refuse(&mut self, cause: Misframed) -> Result<(), Displaced> {
        self.progress.misframed(cause)?;
        self.at = At::Over;
        self.held = BytesMut::new();
        self.judged = Bytes::from_static(STAND_IN);
        Ok(())
    }

    /// Counts the bytes of a body that were just read into the buffer.
    fn body_came(
        &mut self,
        buf: &mut ReadBuf<'_>,
        count: usize,
        mut body: Rest,
    ) -> Result<(), Displaced> {
        let start = buf.filled().len().saturating_sub(count);
        match body.take(buf.filled().get(start..).unwrap_or_default()) {
            Ok(None) => self.at = At::Body(body),
            Ok(Some(end)) => {
                self.progress.whole()?;
                self.at = At::End;
                self.hold(buf, count.saturating_sub(end));
            }
            Err(_) => {
                buf.set_filled(start);
                self.at = At::Broken;
            }
        }
        Ok(())
    }

    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let lingering = self.lingering.get_or_insert_with(|| Lingering {
            until: Box::pin(sleep(LINGER)),
            bytes: LINGER_BYTES,
        });
        let mut thrown_away = [0; 4096];
        loop {
            if lingering.until.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            let mut buf = ReadBuf::new(&mut thrown_away);
            let read = ready!(Pin::new(&mut self.socket).poll_read(cx, &mut buf));
            let count = buf.filled().len();
            match lingering.bytes.checked_sub(count) {
                Some(left) if read.is_ok() && count > 0 => lingering.bytes = left,
                Some(_) | None => return Poll::Ready(()),
            }
        }
    }
}

impl AsyncRead for Checked {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buf.filled().len();
        loop {
            if !this.judged.is_empty() {
                let count = this.judged.len().min(buf.remaining());
                buf.put_slice(this.judged.get(..count).unwrap_or_default());
                this.judged.advance(count);
            }
            if buf.filled().len() > before || buf.remaining() == 0 {
                return Poll::Ready(Ok(()));
            }
            let came = match this.at {
                At::Head => match ready!(this.poll_socket(cx, buf))? {
                    0 => return Poll::Ready(Ok(())),
                    count => this.head_came(buf, count),
                },
                At::Body(body) => match ready!(this.poll_socket(cx, buf))? {
                    0 => return Poll::Ready(Ok(())),
                    count => this.body_came(buf, count, body),
                },
                At::Broken => return Poll::Ready(Err(io::ErrorKind::InvalidData.into())),
                At::End if this.progress.is_through(None) => {
                    this.at = At::Head;
                    if this.held.is_empty() {
                        continue;
                    }
                    this.progress.heard();
                    this.judge_held()
                }
                // Whoever reads wants to know whether the peer has gone.
                At::End if this.held.is_empty() => match ready!(this.poll_socket(cx, buf))? {
                    0 => return Poll::Ready(Ok(())),
                    count => {
                        this.hold(buf, count);
                        Ok(())
                    }
                },
                At::End if this.progress.is_through(Some(cx.waker())) => Ok(()),
                At::End | At::Over => return Poll::Pending,
            };
            if let Err(Displaced) = came {
                buf.set_filled(before);
                return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
            }
        }
    }
}

impl AsyncWrite for Checked {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = ready!(Pin::new(&mut self.socket).poll_flush(cx));
        self.progress.written();
        Poll::Ready(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.lingering.is_none() {
            ready!(Pin::new(&mut self.socket).poll_shutdown(cx))?;
        }
        if matches!(self.at, At::Over | At::Broken) {
            ready!(self.poll_linger(cx));
        }
        Poll::Ready(Ok(()))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }
}
