//! What waits to be exported, and what became of the rest.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

use crate::audit::{AuditEventSummary, AuditTrace};

/// Messages that wait. Each takes one or two kilobytes.
pub(super) const ROOM: usize = 2048;

/// A message as it was judged.
#[derive(Debug, Clone)]
pub(super) struct OpenSpan {
    pub(super) sighting: AuditEventSummary,
    pub(super) story: AuditTrace,
    /// Nanoseconds since the Unix epoch: when it came, and when it was recorded.
    pub(super) came: u64,
    pub(super) recorded: u64,
}

/// A message of which nothing more is to come.
#[derive(Debug)]
pub(super) struct FinishedSpan {
    pub(super) asked: OpenSpan,
    /// What came of it, where it was let through and waited for.
    pub(super) outcome: Option<OpenSpan>,
}

/// How exporting is doing, since the gate started. Counts messages, each of which is one or two
/// spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExportFigures {
    pub exported: u64,
    pub dropped: u64,
}

#[derive(Debug, Default)]
pub(super) struct ExportTally {
    exported: AtomicU64,
    dropped: AtomicU64,
}

/// The end that takes.
#[derive(Debug)]
pub(super) struct SpanQueue {
    sender: mpsc::Sender<FinishedSpan>,
    tally: Arc<ExportTally>,
}

impl ExportTally {
    pub(super) fn figures(&self) -> ExportFigures {
        ExportFigures {
            exported: self.exported.load(Ordering::Relaxed),
            dropped: self.dropped.load(Ordering::Relaxed),
        }
    }

    pub(super) fn take(&self, messages: usize) {
        add(&self.exported, messages);
    }

    pub(super) fn lose(&self, messages: usize) {
        add(&self.dropped, messages);
    }
}

fn add(count: &AtomicU64, messages: usize) {
    let messages = u64::try_from(messages).unwrap_or(u64::MAX);
    count.fetch_add(messages, Ordering::Relaxed);
}

impl SpanQueue {
    pub(super) fn new(tally: Arc<ExportTally>) -> (Self, mpsc::Receiver<FinishedSpan>) {
        let (sender, receiver) = mpsc::channel(ROOM);
        (Self { sender, tally }, receiver)
    }

    /// Never waits: what has no room is dropped.
    pub(super) fn put(&self, finished: FinishedSpan) {
        if self.sender.try_send(finished).is_err() {
            self.tally.lose(1);
        }
    }

    pub(super) fn tally(&self) -> &ExportTally {
        &self.tally
    }
}
