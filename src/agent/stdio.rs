//! The agent's side of a gate that is itself a stdio server: our own stdin and stdout, or a socket that
//! stands for them.
//!
//! Pipes and sockets are driven by the event loop; a blocking thread, as `tokio::io::stdin` uses,
//! costs two thread switches per message. It is still what terminals and files get.

mod byte_streams;
#[cfg(unix)]
mod descriptor;

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::wire::{End, LineWriter, WriterClosed};

/// The agent reads no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the agent is gone")]
pub struct AgentGone;

/// Takes stdin and stdout for the protocol. At most `queue_bytes` wait for an agent that does not
/// read, or one line if it is longer. Must be called inside a tokio runtime, and once.
///
/// Where the descriptors could be taken over, stdin is empty afterwards for everyone else in this
/// process, and whatever else is printed to stdout goes to stderr.
pub fn open(queue_bytes: usize) -> (AgentInput, AgentWriter) {
    let (input, output, reader) = streams();
    let lines = LineWriter::spawn(output, queue_bytes);
    (AgentInput(input), AgentWriter { lines, reader })
}

/// The same over a socket.
///
/// # Errors
/// When the system gives no second descriptor of it.
#[cfg(unix)]
pub fn over(
    socket: tokio::net::UnixStream,
    queue_bytes: usize,
) -> io::Result<(AgentInput, AgentWriter)> {
    let (input, output, reader) = descriptor::of_socket(socket)?;
    let lines = LineWriter::spawn(output, queue_bytes);
    Ok((AgentInput(input), AgentWriter { lines, reader }))
}

/// Takes stdin and stdout as [`open`] does, for a program that passes bytes on as they are.
pub fn bytes() -> (AgentInput, impl AsyncWrite + Send + Unpin) {
    let (input, output, _) = streams();
    (AgentInput(input), output)
}

/// What the agent sends.
pub struct AgentInput(Box<dyn AsyncRead + Send + Unpin>);

impl AsyncRead for AgentInput {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl std::fmt::Debug for AgentInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AgentInput").finish()
    }
}

/// Writes whole lines to the agent; clones share one queue.
#[derive(Debug, Clone)]
pub struct AgentWriter {
    lines: LineWriter,
    reader: Reader,
}

impl AgentWriter {
    /// Queues one frame, without its line end; waits while the queue is full. A future that is
    /// dropped has sent the whole frame or nothing.
    pub async fn send(&self, line: String) -> Result<(), AgentGone> {
        self.lines
            .send(&line)
            .await
            .map_err(|WriterClosed| AgentGone)
    }

    /// Takes no more frames, writes what is queued and closes stdout. What is not written after
    /// `patience` is lost.
    pub async fn close(&self, patience: Duration) -> Result<(), AgentGone> {
        self.lines.close();
        match tokio::time::timeout(patience, self.lines.ended()).await {
            Ok(End::Flushed) => Ok(()),
            Ok(End::Broken(_)) => Err(AgentGone),
            Err(_late) => {
                self.lines.abort();
                Err(AgentGone)
            }
        }
    }

    /// Whether the reader of stdout has gone, as far as the system shows it without a write.
    pub fn has_gone(&self) -> bool {
        self.reader.has_gone()
    }

    /// Resolves when nothing more can be written: the agent is gone, or [`Self::close`] is through.
    pub async fn ended(&self) {
        self.lines.ended().await;
    }
}

use byte_streams::{Input, Output};
#[cfg(unix)]
use descriptor::Reader;

/// The system shows nothing of the reader of stdout.
#[cfg(not(unix))]
#[derive(Debug, Clone, Default)]
struct Reader;

#[cfg(not(unix))]
impl Reader {
    fn has_gone(&self) -> bool {
        false
    }
}

#[cfg(unix)]
fn streams() -> (Input, Output, Reader) {
    let input = match descriptor::input() {
        Some(input) => input,
        None => Box::new(tokio::io::stdin()),
    };
    let (output, reader) = match descriptor::output() {
        Some(taken) => taken,
        None => (Box::new(tokio::io::stdout()) as Output, Reader::default()),
    };
    (input, output, reader)
}

#[cfg(not(unix))]
fn streams() -> (Input, Output, Reader) {
    let output = Box::new(tokio::io::stdout());
    (Box::new(tokio::io::stdin()), output, Reader)
}
