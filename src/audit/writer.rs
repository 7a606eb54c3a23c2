//! The thread that turns records into lines and brings them to the sink that is the record.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::chain::LineHash;
use super::checkpoint::{CheckpointPlace, SigningKey};
use super::fault::{AuditFault, FaultReports};
use super::follower_queue::FollowerFeed;
use super::line::LogCondition;
use super::line::{LineAddition, LogLine, rfc3339};
use super::queue::{Ack, QueueEntry, RecordQueue, answer};
use super::record::VERSION;
use super::record::{Kind, Record, SeqRange};
use super::redact::Redactor;
use super::settings::Durability;
use super::sink::{Lane, Sync};
use crate::clock::Clock;

#[derive(Debug)]
pub(super) struct Writer {
    pub(super) queue: Arc<RecordQueue>,
    /// The record of truth: a record counts as written when it is here. `None` for no sink at all.
    pub(super) lane: Option<Lane>,
    /// Destinations that get the same lines, if they can.
    pub(super) feeds: Vec<FollowerFeed>,
    pub(super) redactor: Redactor,
    pub(super) instance: Arc<str>,
    pub(super) seq: u64,
    /// The hash of the last line; before the first, of the last line that the file had.
    pub(super) prev: LineHash,
    pub(super) signer: Option<Signer>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) diagnostics: FaultReports,
}

/// Signs checkpoints: the first with the first records, then one for each interval with records, and one at
/// the end.
#[derive(Debug)]
pub(super) struct Signer {
    key: SigningKey,
    interval: Duration,
    /// `seq` of the last checkpoint, and its time on the monotonic clock.
    last: Option<(u64, Duration)>,
}

impl Signer {
    pub(super) fn new(key: SigningKey, interval: Duration) -> Self {
        Self {
            key,
            interval,
            last: None,
        }
    }

    /// The time until the next checkpoint. `None` while no record needs one.
    fn due_in(&self, seq: u64, now: Duration) -> Option<Duration> {
        let (last_seq, last_time) = self.last.unwrap_or_default();
        let due = last_time.saturating_add(self.interval);
        match self.last {
            _ if seq <= last_seq => None,
            None => Some(Duration::ZERO),
            Some(_) => Some(due.saturating_sub(now)),
        }
    }
}

/// The lines of one round, and the callers that wait for them.
#[derive(Debug, Default)]
struct Batch {
    lines: Vec<u8>,
    /// `seq` of the first line.
    first: u64,
    records: u64,
    room: usize,
    acks: Vec<Ack>,
    /// The records for which callers wait or waited.
    awaited: Option<SeqRange>,
    barriers: Vec<Ack>,
}

impl Batch {
    fn await_record(&mut self, seq: u64) {
        let first = self.awaited.as_ref().map_or(seq, |range| range.first);
        self.awaited = Some(SeqRange { first, last: seq });
    }

    fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.records == 0 && self.barriers.is_empty()
    }
}

impl Writer {
    pub(super) fn run(mut self) {
        let mut taken = VecDeque::new();
        let mut batch = Batch::default();
        // Last, so that it drops first: when a caller that waits learns from a dropped
        // acknowledgement that the writer is gone, the queue has to know it already.
        let _told = WriterExitNotice(Arc::clone(&self.queue));
        while self
            .queue
            .take(&mut taken, self.checkpoint_due_in())
            .is_some()
        {
            batch.first = self.seq + 1;
            for entry in taken.drain(..) {
                self.add(&mut batch, entry);
            }
            self.add_checkpoint(&mut batch);
            // A delivery without a line would end a fault without a proof that writing works.
            if batch.is_empty() {
                continue;
            }
            if self.deliver(&mut batch).is_none() {
                return;
            }
        }
    }

    fn add(&mut self, batch: &mut Batch, entry: QueueEntry) {
        let (mut record, time, room, ack, taken) = match entry {
            QueueEntry::Barrier(ack) => return batch.barriers.push(ack),
            QueueEntry::Record {
                record,
                time,
                room,
                ack,
                taken,
            } => (record, time, room, ack, taken),
        };
        batch.records += 1;
        batch.room += room;
        record.finish(&self.redactor);
        match self.add_line(batch, time, &record, LineAddition::of(taken)) {
            Ok(()) => {
                if ack.is_some() && taken == LogCondition::Working {
                    batch.await_record(self.seq);
                }
                batch.acks.extend(ack);
            }
            Err(error) => answer(ack, self.queue.outcome(&fault("JSON".into(), &error))),
        }
    }

    fn add_line(
        &mut self,
        batch: &mut Batch,
        time: Timestamp,
        record: &Record,
        addition: LineAddition<'_>,
    ) -> Result<(), serde_json::Error> {
        let line = LogLine {
            version: VERSION,
            seq: self.seq + 1,
            timestamp: rfc3339(time),
            instance: &self.instance,
            prev: Some(self.prev),
            record,
            addition,
        };
        let start = batch.lines.len();
        line.write_to(&mut batch.lines)?;
        self.seq += 1;
        self.prev = LineHash::of(batch.lines.get(start..).unwrap_or_default());
        Ok(())
    }

    fn checkpoint_due_in(&self) -> Option<Duration> {
        let signer = self.signer.as_ref()?;
        signer.due_in(self.seq, self.clock.elapsed())
    }

    fn add_checkpoint(&mut self, batch: &mut Batch) {
        let due = self.checkpoint_due_in();
        let (Some(due), Some(signer)) = (due, &mut self.signer) else {
            return;
        };
        if due > Duration::ZERO && !self.queue.is_closing() {
            return;
        }
        let seq = self.seq + 1;
        let time = self.clock.now();
        let token = signer.key.sign(&CheckpointPlace {
            instance: &self.instance,
            seq,
            timestamp: &rfc3339(time),
            prev: self.prev,
        });
        signer.last = Some((seq, self.clock.elapsed()));
        let addition = LineAddition::checkpoint(&token);
        if let Err(error) = self.add_line(batch, time, &Record::new(Kind::Checkpoint), addition) {
            tracing::error!("no checkpoint can be written: {error}");
        }
    }

    /// Writes the batch, however often that has to be tried. `None` when no caller is left.
    fn deliver(&mut self, batch: &mut Batch) -> Option<()> {
        let strict = self.queue.durability() == Durability::Strict;
        // The writer promised it to the callers that wait, whatever holds by now.
        let awaited = !(batch.acks.is_empty() && batch.barriers.is_empty());
        let sync = if strict || awaited {
            Sync::Wanted
        } else {
            Sync::NotWanted
        };
        // First, and once: a full disk is no reason to keep a record from standard error.
        for feed in &self.feeds {
            feed.put(&batch.lines, batch.first);
        }
        let mut pause = self.queue.pace.retry_first;
        while let Err(fault) = self.attempt(&batch.lines, sync) {
            // The lines stay, and will be written: an outage must not cost the records of calls
            // that went through before it. Only who waits for them is not kept waiting.
            let (news, outcome) = self.queue.failed(&fault);
            for ack in batch.acks.drain(..) {
                answer(Some(ack), outcome.clone());
            }
            if news && self.diagnostics == FaultReports::Tell {
                tracing::error!("{fault}");
            }
            self.queue.pause(pause)?;
            pause = pause.saturating_mul(2).min(self.queue.pace.retry_most);
        }
        if let Some(lane) = &mut self.lane {
            lane.next();
        }
        // The lines were with the sink before a fault was known, so that they cannot have its field.
        let still_awaited = !batch.acks.is_empty() && !batch.acks.iter().any(Ack::is_closed);
        let unawaited = batch.awaited.take().filter(|_| !still_awaited);
        let ended = self.queue.worked(batch.records, batch.room, unawaited);
        if let (Some((fault, lost)), FaultReports::Tell) = (ended, self.diagnostics) {
            tracing::warn!(
                lost,
                "audit records are being written again; the fault was: {fault}"
            );
        }
        for ack in batch.acks.drain(..).chain(batch.barriers.drain(..)) {
            answer(Some(ack), Ok(()));
        }
        batch.lines.clear();
        batch.lines.shrink_to(1024 * 1024);
        batch.records = 0;
        batch.room = 0;
        Some(())
    }

    fn attempt(&mut self, lines: &[u8], sync: Sync) -> Result<(), AuditFault> {
        match &mut self.lane {
            None => Ok(()),
            Some(lane) => lane
                .deliver(lines, sync)
                .map_err(|error| fault(lane.name(), &error)),
        }
    }
}

/// Even if the thread panics, callers are answered.
struct WriterExitNotice(Arc<RecordQueue>);

impl Drop for WriterExitNotice {
    fn drop(&mut self) {
        self.0.writer_gone();
    }
}

fn fault(sink: Arc<str>, error: &impl ToString) -> AuditFault {
    AuditFault::Write {
        sink,
        problem: error.to_string().into(),
    }
}
