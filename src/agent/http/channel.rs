//! What goes to the agent on one stream: a queue that one reader takes from, and that is kept for a
//! reader that comes back.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::wire::ArrivalForm;

/// One message for the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// Counted from 1 on each stream.
    pub(super) index: u64,
    pub(super) piece: Piece,
    pub(super) line: Bytes,
}

/// What a message means to its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    /// The reply to the POST: the stream ends with it.
    Reply {
        error: Option<i64>,
        /// How the server gave it.
        form: ArrivalForm,
    },
    Other,
}

/// Whether a stream outlives its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// What was read is forgotten.
    UntilRead,
    /// What was read is kept, as far as it has room.
    ForReplay,
}

/// One stream.
#[derive(Debug)]
pub(super) struct Channel {
    state: Mutex<State>,
    /// Something to read, or another reader.
    changed: Notify,
    /// Room, or no reader.
    drained: Notify,
    /// Whoever writes: the one who waits for room is not overtaken by a shorter message.
    turn: tokio::sync::Mutex<()>,
    room: usize,
}

#[derive(Debug)]
struct State {
    kept: Kept,
    /// The agent knows an id of an event of this stream, and may come back for the rest.
    promised: bool,
    /// Events from `first` on, without gaps.
    events: VecDeque<Event>,
    first: u64,
    /// The next one that is read.
    next: u64,
    bytes: usize,
    unread_bytes: usize,
    /// Counts readers: only the latest one reads.
    readers: u64,
    attached: bool,
    ended: bool,
}

/// The one who reads a stream.
#[derive(Debug)]
pub(super) struct Reader {
    channel: Arc<Channel>,
    number: u64,
}

impl Channel {
    /// `room`: bytes that may wait, and that are kept; a single longer message fits as well.
    pub(super) fn new(kept: Kept, room: usize) -> Arc<Self> {
        let state = State {
            kept,
            promised: false,
            events: VecDeque::new(),
            first: 1,
            next: 1,
            bytes: 0,
            unread_bytes: 0,
            readers: 0,
            attached: false,
            ended: false,
        };
        Arc::new(Self {
            state: Mutex::new(state),
            changed: Notify::new(),
            drained: Notify::new(),
            turn: tokio::sync::Mutex::new(()),
            room,
        })
    }

    /// Begins to read where the last reader stopped. It reads no more.
    pub(super) fn attach(self: &Arc<Self>) -> Reader {
        let mut state = self.state();
        state.readers += 1;
        state.attached = true;
        let number = state.readers;
        drop(state);
        self.wake();
        Reader {
            channel: Arc::clone(self),
            number,
        }
    }

    /// Begins to read after an event; of those before it nothing is sent again. None if there never
    /// was such an event.
    pub(super) fn resume(self: &Arc<Self>, after: u64) -> Option<Reader> {
        {
            let mut state = self.state();
            let last = state.first + u64::try_from(state.events.len()).unwrap_or(u64::MAX);
            if after >= last {
                return None;
            }
            state.seek(after + 1);
        }
        Some(self.attach())
    }

    /// Takes a message, and waits while too much waits for a reader. One that does not read for
    /// `patience` loses the stream, and what comes is kept for the next reader.
    pub(super) async fn push(&self, piece: Piece, line: Bytes, patience: Duration) {
        let _turn = self.turn.lock().await;
        loop {
            let mut drained = pin!(self.drained.notified());
            drained.as_mut().enable();
            {
                let mut state = self.state();
                if state.ended {
                    return;
                }
                let fits = state.unread_bytes == 0 || state.unread_bytes + line.len() <= self.room;
                if fits || !state.attached {
                    state.append(piece, line, self.room);
                    break;
                }
            }
            if timeout(patience, drained).await.is_err() {
                self.detach();
            }
        }
        self.changed.notify_waiters();
    }

    /// Nothing more comes.
    pub(super) fn end(&self) {
        self.state().ended = true;
        self.wake();
    }

    /// Whoever reads, reads no more.
    pub(super) fn detach(&self) {
        let mut state = self.state();
        state.readers += 1;
        state.attached = false;
        drop(state);
        self.wake();
    }

    /// The agent is about to be told an event id.
    pub(super) fn promise(&self) {
        self.state().promised = true;
    }

    pub(super) fn is_promised(&self) -> bool {
        self.state().promised
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state().ended
    }

    pub(super) fn is_read(&self) -> bool {
        self.state().attached
    }

    /// How many bytes are kept, if nobody reads it.
    pub(super) fn unread_by_anybody(&self) -> Option<usize> {
        let state = self.state();
        (!state.attached).then_some(state.bytes)
    }

    /// The event before the next one that is read.
    pub(super) fn position(&self) -> u64 {
        self.state().next - 1
    }

    fn wake(&self) {
        self.changed.notify_waiters();
        self.drained.notify_waiters();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn append(&mut self, piece: Piece, line: Bytes, room: usize) {
        let index = self.first + u64::try_from(self.events.len()).unwrap_or(u64::MAX);
        self.bytes += line.len();
        self.unread_bytes += line.len();
        self.events.push_back(Event { index, piece, line });
        if let Piece::Reply { .. } = piece {
            self.ended = true;
        }
        self.trim(room);
    }

    /// The next event, for the reader.
    fn take(&mut self) -> Option<Event> {
        let at = usize::try_from(self.next.checked_sub(self.first)?).ok()?;
        let event = self.events.get(at)?.clone();
        self.next += 1;
        self.unread_bytes -= event.line.len();
        if self.kept == Kept::UntilRead {
            self.forget_first();
        }
        Some(event)
    }

    fn seek(&mut self, index: u64) {
        self.next = index.max(self.first);
        let unread = self.events.iter().filter(|event| event.index >= self.next);
        self.unread_bytes = unread.map(|event| event.line.len()).sum();
    }

    /// Keeps the latest events, and never drops the last one: it may be a reply.
    fn trim(&mut self, room: usize) {
        while self.bytes > room && self.events.len() > 1 {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        let Some(event) = self.events.pop_front() else {
            return;
        };
        self.first += 1;
        self.bytes -= event.line.len();
        if event.index >= self.next {
            self.unread_bytes -= event.line.len();
            self.next = self.first;
        }
    }
}

impl Reader {
    /// The next message; none when the stream has ended, or somebody else reads it. A future that is
    /// dropped has taken nothing.
    pub(super) async fn next(&mut self) -> Option<Event> {
        loop {
            let mut changed = pin!(self.channel.changed.notified());
            changed.as_mut().enable();
            {
                let mut state = self.channel.state();
                if state.readers != self.number {
                    return None;
                }
                if let Some(event) = state.take() {
                    drop(state);
                    self.channel.drained.notify_waiters();
                    return Some(event);
                }
                if state.ended {
                    return None;
                }
            }
            changed.await;
        }
    }

    /// Reads no more, unless another one reads already.
    pub(super) fn release(&self) {
        let mut state = self.channel.state();
        if state.readers == self.number && state.attached {
            state.attached = false;
            drop(state);
            self.channel.drained.notify_waiters();
        }
    }

    pub(super) fn channel(&self) -> &Arc<Channel> {
        &self.channel
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.release();
    }
}
