//! A connection that ends when nothing has moved on it for a while.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// Long enough for an answer that takes minutes.
const MAX_IDLE: Duration = Duration::from_mins(5);

/// A connection to outside.
#[derive(Debug)]
pub(super) struct IdleLimited {
    stream: TcpStream,
    until: Pin<Box<Sleep>>,
    moved: Arc<AtomicBool>,
}

impl IdleLimited {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            until: Box::pin(sleep(MAX_IDLE)),
            moved: Arc::default(),
        }
    }

    /// Ends when nothing has moved for a while, whichever direction is still read: a connection that has
    /// ended on one side is not polled there any more.
    pub(super) fn idle(&self) -> impl Future<Output = ()> + use<> {
        let moved = Arc::clone(&self.moved);
        async move {
            loop {
                sleep(MAX_IDLE).await;
                if !moved.swap(false, Ordering::Relaxed) {
                    return;
                }
            }
        }
    }

    fn bounded<T>(
        &mut self,
        cx: &mut Context<'_>,
        moved: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if moved.is_ready() {
            self.until.as_mut().set(sleep(MAX_IDLE));
            self.moved.store(true, Ordering::Relaxed);
            return moved;
        }
        ready!(self.until.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for IdleLimited {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        self.bounded(cx, read)
    }
}

impl AsyncWrite for IdleLimited {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.bounded(cx, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
