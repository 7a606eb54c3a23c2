//! Whole lines to a byte stream.
//!
//! Lines are copied into one buffer that a task of its own writes out. So a caller whose future is
//! dropped can neither tear a line nor interleave two, and lines that arrive while a write is under
//! way leave together in the next one. Measured against writing from the caller: the hop costs
//! under a microsecond on the same thread, and 16 lines in flight become one system call.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::AbortHandle;

/// Buffers that grew beyond this for a large line are given back after it.
const KEPT_CAPACITY: usize = 256 * 1024;

/// The stream takes no more lines: it was closed, or the other side is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WriterClosed;

/// How the writing ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Every accepted line was written and the stream was shut down.
    Flushed,
    /// The other side is gone, or the writer was dropped in the middle; lines may be lost.
    Broken(io::ErrorKind),
}

/// A handle to the queue of one stream; clones share it. Dropping the last one closes the stream
/// as [`LineWriter::close`] does.
#[derive(Clone)]
pub(crate) struct LineWriter(Arc<WriterHandle>);

impl LineWriter {
    /// Starts the writing task. At most `budget` bytes wait in memory, or one line if it is longer.
    pub(crate) fn spawn<W>(out: W, budget: usize) -> Self
    where
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let budget = u32::try_from(budget)
            .unwrap_or(u32::MAX)
            .clamp(1, MAX_BUDGET);
        let shared = Arc::new(WriterShared {
            queue: Mutex::default(),
            ready: Notify::new(),
            room: Semaphore::new(usize::try_from(budget).unwrap_or(usize::MAX)),
            budget,
            end: watch::Sender::new(None),
        });
        let task = tokio::spawn(write_out(Arc::clone(&shared), out)).abort_handle();
        Self(Arc::new(WriterHandle { shared, task }))
    }

    /// Queues `line` and its LF; waits while the queue is full.
    ///
    /// INVARIANT: `line` is one frame without CR or LF; `wire` makes no other text.
    pub(crate) async fn send(&self, line: &str) -> Result<(), WriterClosed> {
        debug_assert!(!line.contains(['\n', '\r']), "a frame is one line");
        let length = u32::try_from(line.len())
            .unwrap_or(u32::MAX)
            .saturating_add(1);
        let shared = &self.0.shared;
        let cost = length.min(shared.budget);
        let permit = shared
            .room
            .acquire_many(cost)
            .await
            .map_err(|_closed| WriterClosed)?;
        let mut queue = shared.lock();
        if queue.closing {
            return Err(WriterClosed);
        }
        // From here nothing awaits: the line is queued whole, or not at all.
        permit.forget();
        queue.bytes.reserve(line.len() + 1);
        queue.bytes.extend_from_slice(line.as_bytes());
        queue.bytes.push(b'\n');
        queue.cost += u64::from(cost);
        drop(queue);
        shared.ready.notify_one();
        Ok(())
    }

    /// Takes no more lines; what is queued is still written, then the stream is closed.
    pub(crate) fn close(&self) {
        self.0.close();
    }

    /// Closes the stream at once; what is queued is lost.
    pub(crate) fn abort(&self) {
        self.0.close();
        self.0.task.abort();
    }

    /// Waits until the stream is closed, for whatever cause.
    pub(crate) async fn ended(&self) -> End {
        let mut end = self.0.shared.end.subscribe();
        let end = end.wait_for(Option::is_some).await;
        end.ok()
            .and_then(|end| *end)
            .unwrap_or(End::Broken(io::ErrorKind::Other))
    }
}

impl fmt::Debug for LineWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineWriter")
            .field("budget", &self.0.shared.budget)
            .finish_non_exhaustive()
    }
}

struct WriterHandle {
    shared: Arc<WriterShared>,
    task: AbortHandle,
}

impl WriterHandle {
    fn close(&self) {
        self.shared.lock().closing = true;
        self.shared.ready.notify_one();
    }
}

impl Drop for WriterHandle {
    fn drop(&mut self) {
        self.close();
    }
}

/// What one semaphore can hold on a 32-bit machine.
const MAX_BUDGET: u32 = u32::MAX >> 4;

struct WriterShared {
    queue: Mutex<LineQueue>,
    /// There is something to write, or the queue is closing.
    ready: Notify,
    /// One permit per byte that may still be queued.
    room: Semaphore,
    budget: u32,
    end: watch::Sender<Option<End>>,
}

#[derive(Default)]
struct LineQueue {
    bytes: Vec<u8>,
    cost: u64,
    closing: bool,
}

impl WriterShared {
    fn lock(&self) -> MutexGuard<'_, LineQueue> {
        // No code panics while it holds the lock; a poisoned queue is still a whole one.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells everyone that waits, even when the task is aborted.
struct EndNotice {
    shared: Arc<WriterShared>,
    end: End,
}

impl Drop for EndNotice {
    fn drop(&mut self) {
        self.shared.lock().closing = true;
        self.shared.room.close();
        self.shared.end.send_replace(Some(self.end));
    }
}

async fn write_out<W: AsyncWrite + Unpin>(shared: Arc<WriterShared>, out: W) {
    // Declared in this order so that the stream is closed before anyone hears of the end.
    let mut ending = EndNotice {
        shared,
        end: End::Broken(io::ErrorKind::Interrupted),
    };
    let mut out = out;
    ending.end = match write_batches(&ending.shared, &mut out).await {
        Ok(()) => End::Flushed,
        Err(error) => End::Broken(error.kind()),
    };
}

async fn write_batches<W: AsyncWrite + Unpin>(
    shared: &WriterShared,
    out: &mut W,
) -> io::Result<()> {
    let mut batch = Vec::new();
    loop {
        let (cost, closing) = {
            let mut queue = shared.lock();
            std::mem::swap(&mut queue.bytes, &mut batch);
            (std::mem::take(&mut queue.cost), queue.closing)
        };
        if batch.is_empty() {
            if closing {
                return out.shutdown().await;
            }
            shared.ready.notified().await;
            continue;
        }
        out.write_all(&batch).await?;
        out.flush().await?;
        batch.clear();
        batch.shrink_to(KEPT_CAPACITY);
        shared
            .room
            .add_permits(usize::try_from(cost).unwrap_or(usize::MAX));
    }
}
