//! The thread and the queue of a [`Follower`]: it gets every line that it can take, and no caller waits for it.
//!
//! Each has its own. With one thread for all, an unread stderr kept the file from being written.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use memchr::{memchr, memchr_iter, memrchr};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::backpressure::Backpressure;
use super::fault::FaultReports;
use super::follower::Follower;
use super::line::{LineAddition, LogLine, rfc3339};
use super::record::VERSION;
use super::record::{Kind, Reason, Record};
use crate::clock::Clock;

/// Lines that are written at once, in bytes: what a pipe holds, so that a slow reader shows.
const PIECE: usize = 64 * 1024;

/// A destination that follows the record, as callers that wait for the log see it.
#[derive(Debug)]
pub(super) struct FollowerHandle(Arc<FollowerShared>);

/// Where the writer puts lines. Once it is dropped, what is queued is the last.
#[derive(Debug)]
pub(super) struct FollowerFeed(Arc<FollowerShared>);

#[derive(Debug)]
struct FollowerShared {
    state: Mutex<FollowerState>,
    /// Wakes the thread.
    work: Condvar,
    /// Something was written, or never will be.
    progress: Notify,
    pace: Backpressure,
    clock: Arc<dyn Clock>,
    instance: Arc<str>,
    longest_line: usize,
    /// How long lines are gathered.
    nap: Duration,
}

#[derive(Debug, Default)]
struct FollowerState {
    /// Whole lines each.
    pieces: VecDeque<Vec<u8>>,
    /// Bytes of the pieces, and of the one that is being written.
    held: usize,
    /// The lines after the last piece that found no room.
    missing: Option<LostLines>,
    thread: ThreadState,
    closed: bool,
    abandoned: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ThreadState {
    #[default]
    Awake,
    Asleep,
    Gone,
}

#[derive(Debug, Clone, Copy)]
struct LostLines {
    last_seq: u64,
    lines: u64,
}

impl FollowerHandle {
    /// Starts the thread that delivers.
    pub(super) fn start(
        follower: Box<dyn Follower>,
        clock: Arc<dyn Clock>,
        instance: Arc<str>,
        pace: Backpressure,
        diagnostics: FaultReports,
    ) -> std::io::Result<(Self, FollowerFeed)> {
        let shared = Arc::new(FollowerShared {
            state: Mutex::default(),
            work: Condvar::new(),
            progress: Notify::new(),
            pace,
            clock,
            instance,
            longest_line: follower.longest_line(),
            nap: pace.nap_beside.max(follower.gathers_for()),
        });
        let thread = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("audit-follower".into())
            .spawn(move || thread.run(follower, diagnostics))?;
        Ok((Self(Arc::clone(&shared)), FollowerFeed(shared)))
    }

    /// Returns once all queued lines are written, or after a time without progress, when the
    /// destination seems to have no reader.
    pub(super) async fn settle(&self) {
        loop {
            // Before the look, or what is written in between would go unnoticed.
            let progress = self.0.progress.notified();
            if self.0.lock().is_settled() {
                return;
            }
            if timeout(self.0.pace.grace, progress).await.is_err() {
                return;
            }
        }
    }

    /// The log has no handle any more: write what there is, and do not try for ever.
    pub(super) fn abandon(&self) {
        self.0.lock().abandoned = true;
        self.0.work.notify_one();
    }
}

impl FollowerFeed {
    /// Takes whole lines, of which the first has this `seq`; what finds no room is counted.
    pub(super) fn put(&self, lines: &[u8], first_seq: u64) {
        let shared = &self.0;
        let lines = &*shared.within_length(lines, first_seq);
        let mut state = shared.lock();
        if lines.is_empty() || state.thread == ThreadState::Gone {
            return;
        }
        let capacity = shared.pace.queue_bytes as usize;
        let room = capacity.saturating_sub(state.held);
        // A reader that is just too slow shall miss one long run of lines and not every other one.
        let fits = if state.missing.is_some() && room < capacity / 2 {
            0
        } else {
            line_end_within(lines, room).unwrap_or(0)
        };
        let (taken, lost) = lines.split_at_checked(fits).unwrap_or((lines, &[]));
        if !taken.is_empty() {
            shared.tell_missing(&mut state);
            state.append(taken);
        }
        if !lost.is_empty() {
            state.miss(count(lost), first_seq + count(lines) - 1);
        }
        if state.thread == ThreadState::Asleep {
            state.thread = ThreadState::Awake;
            drop(state);
            shared.work.notify_one();
        }
    }
}

impl Drop for FollowerFeed {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.work.notify_one();
    }
}

impl FollowerShared {
    fn run(&self, mut follower: Box<dyn Follower>, diagnostics: FaultReports) {
        // Even if it panics, no caller waits for it.
        let _told = FollowerExitNotice(self);
        while let Some(piece) = self.take() {
            if self.deliver(&mut *follower, &piece, diagnostics).is_none() {
                return;
            }
            self.lock().held -= piece.len();
            self.progress.notify_waiters();
        }
    }

    /// Writes the piece, however often that has to be tried. `None` when no caller is left.
    fn deliver(
        &self,
        follower: &mut dyn Follower,
        piece: &[u8],
        diagnostics: FaultReports,
    ) -> Option<()> {
        let tell = diagnostics == FaultReports::Tell;
        let mut failed = false;
        let mut pause = self.pace.retry_first;
        while let Err(error) = follower.deliver(piece) {
            if tell && !failed {
                tracing::error!("cannot write audit records to {}: {error}", follower.name());
            }
            failed = true;
            self.pause(pause)?;
            pause = pause.saturating_mul(2).min(self.pace.retry_most);
        }
        if tell && failed {
            tracing::warn!(
                "audit records are being written to {} again",
                follower.name()
            );
        }
        Some(())
    }

    /// Waits for lines. `None` once there will be no more.
    fn take(&self) -> Option<Vec<u8>> {
        let mut state = self.lock();
        // Who gathers lines for a while need not be woken for each of them.
        state = self
            .work
            .wait_timeout_while(state, self.nap, |state| !state.closed && state.held < PIECE)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
        loop {
            if state.pieces.is_empty() {
                self.tell_missing(&mut state);
            }
            if let Some(piece) = state.pieces.pop_front() {
                return Some(piece);
            }
            if state.closed {
                return None;
            }
            state.thread = ThreadState::Asleep;
            state = self
                .work
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.thread = ThreadState::Awake;
        }
    }

    /// Puts one record in the place of the lines that are missing.
    fn tell_missing(&self, state: &mut FollowerState) {
        if let Some(missing) = state.missing.take() {
            state.append(&self.gap(missing, "not taken here in time"));
        }
    }

    /// The lines with a gap in the place of each that is too long.
    fn within_length<'l>(&self, lines: &'l [u8], first_seq: u64) -> Cow<'l, [u8]> {
        let fits = |line: &[u8]| line.len() <= self.longest_line;
        if fits(lines) || lines.split_inclusive(|byte| *byte == b'\n').all(fits) {
            return lines.into();
        }
        let mut replaced = Vec::with_capacity(lines.len());
        for (last_seq, line) in (first_seq..).zip(lines.split_inclusive(|byte| *byte == b'\n')) {
            if fits(line) {
                replaced.extend_from_slice(line);
            } else {
                let missing = LostLines { last_seq, lines: 1 };
                replaced.extend(self.gap(missing, "too long for this destination"));
            }
        }
        replaced.into()
    }

    /// The record of lines that are missing here.
    fn gap(&self, missing: LostLines, text: &'static str) -> Vec<u8> {
        let reason = Reason::code("stream_behind").with_text(text);
        let record = Record::new(Kind::AuditGap)
            .reason(reason)
            .lost(missing.lines);
        let line = LogLine {
            version: VERSION,
            // The sequence goes on as if they were there.
            seq: missing.last_seq,
            timestamp: rfc3339(self.clock.now()),
            instance: &self.instance,
            prev: None,
            record: &record,
            addition: LineAddition::default(),
        };
        let mut text = Vec::new();
        // It has no field that cannot be written.
        let _ = line.write_to(&mut text);
        text
    }

    fn pause(&self, time: Duration) -> Option<()> {
        let state = self
            .work
            .wait_timeout_while(self.lock(), time, |state| !state.abandoned)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
        (!state.abandoned).then_some(())
    }

    fn lock(&self) -> MutexGuard<'_, FollowerState> {
        // Nothing that holds the lock can leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FollowerState {
    fn append(&mut self, mut lines: &[u8]) {
        self.held += lines.len();
        if let Some(last) = self.pieces.back_mut()
            && last.len() + lines.len() <= PIECE
        {
            return last.extend_from_slice(lines);
        }
        while !lines.is_empty() {
            let one = || memchr(b'\n', lines).map_or(lines.len(), |at| at + 1);
            let end = line_end_within(lines, PIECE).unwrap_or_else(one);
            let (piece, rest) = lines.split_at_checked(end).unwrap_or((lines, &[]));
            self.pieces.push_back(piece.to_vec());
            lines = rest;
        }
    }

    fn miss(&mut self, lines: u64, last_seq: u64) {
        let before = self.missing.map_or(0, |missing| missing.lines);
        self.missing = Some(LostLines {
            last_seq,
            lines: before + lines,
        });
    }

    fn is_settled(&self) -> bool {
        self.thread == ThreadState::Gone || (self.held == 0 && self.missing.is_none())
    }
}

struct FollowerExitNotice<'s>(&'s FollowerShared);

impl Drop for FollowerExitNotice<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.thread = ThreadState::Gone;
        state.pieces.clear();
        drop(state);
        self.0.progress.notify_waiters();
    }
}

/// Where the last line that fits ends; `None` if not even the first does.
fn line_end_within(lines: &[u8], room: usize) -> Option<usize> {
    let within = lines.get(..room).unwrap_or(lines);
    memrchr(b'\n', within).map(|at| at + 1)
}

fn count(lines: &[u8]) -> u64 {
    memchr_iter(b'\n', lines).map(|_| 1).sum()
}
