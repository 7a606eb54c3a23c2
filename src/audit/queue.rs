//! What callers and the writing thread share: a bounded queue, and whether writing works.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{Notify, Semaphore, oneshot};

use super::backpressure::Backpressure;
use super::fault::AuditFault;
use super::line::LogCondition;
use super::observer::{LogFigures, LogState};
use super::record::{Kind, Reason, Record, SeqRange};
use super::settings::{Durability, OnFault};
use crate::clock::Clock;

/// How a caller learns what became of its record.
pub(super) type Ack = oneshot::Sender<Result<(), AuditFault>>;
pub(super) type Acked = oneshot::Receiver<Result<(), AuditFault>>;

#[derive(Debug)]
pub(super) enum QueueEntry {
    Record {
        record: Box<Record>,
        time: Timestamp,
        room: usize,
        ack: Option<Ack>,
        taken: LogCondition,
    },
    /// Everything before it has to be written and synced.
    Barrier(Ack),
}

#[derive(Debug)]
pub(super) struct RecordQueue {
    state: Mutex<QueueState>,
    /// Wakes the writer.
    work: Condvar,
    /// Bytes of the queue that are free.
    pub(super) room: Semaphore,
    /// Wakes callers that wait for room when they would wait in vain.
    pub(super) broken: Notify,
    pub(super) pace: Backpressure,
    clock: Arc<dyn Clock>,
}

#[derive(Debug, Default)]
struct QueueState {
    entries: VecDeque<QueueEntry>,
    fault: Option<AuditFault>,
    /// The mildest `on_fault` since the fault began.
    mildest: OnFault,
    /// Records that were refused or dropped since the last gap was written.
    lost: u64,
    /// Records that were taken and are not yet written.
    unwritten: u64,
    /// Since the start: written, lost, and how often writing ceased to work.
    written: u64,
    ever_lost: u64,
    faults: u64,
    writer: WriterState,
    /// A caller waits for queued records.
    urgent: bool,
    closing: bool,
    abandoned: bool,
    durability: Durability,
    on_fault: OnFault,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum WriterState {
    /// It looks for entries before it waits again.
    #[default]
    Busy,
    /// It looks by itself in a moment.
    Napping,
    Asleep,
    Gone,
}

impl QueueState {
    fn lose(&mut self) {
        self.lost += 1;
        self.ever_lost += 1;
    }

    /// With `warn`, the messages of queued records for which a caller waits pass without them.
    fn let_pass(&mut self) {
        if self.on_fault == OnFault::Deny {
            return;
        }
        self.mildest = OnFault::Warn;
        for entry in &mut self.entries {
            if let QueueEntry::Record {
                ack: Some(_),
                taken,
                ..
            } = entry
            {
                *taken = LogCondition::Faulty;
            }
        }
    }
}

impl RecordQueue {
    pub(super) fn new(
        durability: Durability,
        on_fault: OnFault,
        clock: Arc<dyn Clock>,
        pace: Backpressure,
    ) -> Self {
        let state = QueueState {
            durability,
            on_fault,
            ..QueueState::default()
        };
        Self {
            state: Mutex::new(state),
            work: Condvar::new(),
            room: Semaphore::new(usize::try_from(pace.queue_bytes).unwrap_or(usize::MAX)),
            broken: Notify::new(),
            pace,
            clock,
        }
    }

    /// What records mean from now on.
    pub(super) fn hold_to(&self, durability: Durability, on_fault: OnFault) {
        let mut state = self.lock();
        state.durability = durability;
        state.on_fault = on_fault;
        if state.fault.is_some() {
            state.let_pass();
        }
    }

    pub(super) fn durability(&self) -> Durability {
        self.lock().durability
    }

    // ── callers ──

    /// Queues a record for which room was found; the receiver is there if it has to be waited for.
    pub(super) fn push(&self, record: Box<Record>, room: u32) -> Result<Option<Acked>, AuditFault> {
        let mut state = self.lock();
        if state.closing || state.writer == WriterState::Gone {
            return Err(AuditFault::Closed);
        }
        let taken = match &state.fault {
            Some(_) => LogCondition::Faulty,
            None => LogCondition::Working,
        };
        let (ack, acked) = match (&state.fault, state.on_fault, state.durability) {
            (Some(fault), OnFault::Deny, _) => {
                let fault = fault.clone();
                state.lose();
                return Err(fault);
            }
            (None, _, Durability::Strict) => {
                let (ack, acked) = oneshot::channel();
                (Some(ack), Some(acked))
            }
            (Some(_), OnFault::Warn, _) | (None, _, Durability::Async) => (None, None),
        };
        let half_full = self.room.available_permits() < self.pace.queue_bytes as usize / 2;
        state.urgent |= ack.is_some() || half_full;
        state.unwritten += 1;
        // Under the lock, so that times are in the order of the file.
        let time = self.clock.now();
        let room = room as usize;
        state.entries.push_back(QueueEntry::Record {
            record,
            time,
            room,
            ack,
            taken,
        });
        self.wake(state);
        Ok(acked)
    }

    /// The fault that a caller without room meets; it is counted as lost with it.
    pub(super) fn lose(&self) -> Option<AuditFault> {
        let mut state = self.lock();
        let fault = state.fault.clone();
        if fault.is_some() {
            state.lose();
        }
        fault
    }

    /// A caller's patience ended. Answers whether that is news.
    pub(super) fn stalled(&self) -> Option<AuditFault> {
        let mut state = self.lock();
        if state.fault.is_some() || state.unwritten == 0 {
            return None;
        }
        state.fault = Some(AuditFault::Stalled);
        state.faults += 1;
        state.let_pass();
        drop(state);
        self.broken.notify_waiters();
        Some(AuditFault::Stalled)
    }

    /// Asks for everything so far to be written and synced. Nothing to wait for if nothing is
    /// unwritten and the writer is gone.
    pub(super) fn barrier(&self, closing: BarrierKind) -> Result<Option<Acked>, AuditFault> {
        let mut state = self.lock();
        if closing == BarrierKind::Yes {
            state.closing = true;
        }
        if state.writer == WriterState::Gone {
            return match state.unwritten {
                0 => Ok(None),
                unwritten => Err(AuditFault::Unwritten { unwritten }),
            };
        }
        let (ack, acked) = oneshot::channel();
        state.entries.push_back(QueueEntry::Barrier(ack));
        state.urgent = true;
        self.wake(state);
        Ok(Some(acked))
    }

    /// Records that were taken and are not yet written.
    pub(super) fn unwritten(&self) -> u64 {
        self.lock().unwritten
    }

    pub(super) fn figures(&self) -> LogFigures {
        let state = self.lock();
        let is_faulty = state.fault.is_some() || state.writer == WriterState::Gone;
        LogFigures {
            queued: state.unwritten,
            written: state.written,
            lost: state.ever_lost,
            faults: state.faults,
            state: match (is_faulty, state.on_fault) {
                (false, _) => LogState::Working,
                (true, OnFault::Warn) => LogState::Faulty,
                (true, OnFault::Deny) => LogState::Denying,
            },
        }
    }

    /// The last handle is gone: write what there is, and do not try for ever.
    pub(super) fn abandon(&self) {
        let mut state = self.lock();
        state.closing = true;
        state.abandoned = true;
        drop(state);
        self.work.notify_one();
    }

    /// Waking is a system call, also of a thread that is awake: only for who needs it.
    fn wake(&self, mut state: MutexGuard<'_, QueueState>) {
        let needed = match state.writer {
            WriterState::Asleep => true,
            WriterState::Napping => state.urgent,
            WriterState::Busy | WriterState::Gone => false,
        };
        if needed {
            state.writer = WriterState::Busy;
            drop(state);
            self.work.notify_one();
        }
    }

    // ── the writer ──

    /// Waits for entries and moves them all into `taken`; none of them if there are none `within` this
    /// time. `None` once the queue is closed and empty.
    pub(super) fn take(
        &self,
        taken: &mut VecDeque<QueueEntry>,
        within: Option<Duration>,
    ) -> Option<()> {
        let mut state = self.lock();
        if state.durability == Durability::Async {
            state.writer = WriterState::Napping;
            // Waking a sleeping thread costs the caller more than everything else it does here:
            // while it naps, it gathers records without a wake-up.
            state = self
                .work
                .wait_timeout_while(state, self.pace.nap, |state| {
                    !state.urgent && !state.closing
                })
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        while state.entries.is_empty() {
            if state.closing {
                return None;
            }
            state.writer = WriterState::Asleep;
            let Some(within) = within else {
                let woken = self.work.wait(state);
                state = woken.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let woken = self.work.wait_timeout(state, within);
            let (woken, timeout) = woken.unwrap_or_else(PoisonError::into_inner);
            state = woken;
            if timeout.timed_out() {
                break;
            }
        }
        state.writer = WriterState::Busy;
        state.urgent = false;
        std::mem::swap(&mut state.entries, taken);
        Some(())
    }

    /// Whether the log takes no more records.
    pub(super) fn is_closing(&self) -> bool {
        self.lock().closing
    }

    /// The outcome for a caller that waits for a record when there is this fault.
    pub(super) fn outcome(&self, fault: &AuditFault) -> Result<(), AuditFault> {
        outcome(self.lock().on_fault, fault)
    }

    /// Writing failed: callers that wait for a queued record get the outcome. Answers whether that is news,
    /// and the outcome.
    pub(super) fn failed(&self, fault: &AuditFault) -> (bool, Result<(), AuditFault>) {
        let mut state = self.lock();
        let news = !matches!(state.fault, Some(AuditFault::Write { .. }));
        state.faults += u64::from(state.fault.is_none());
        state.fault = Some(fault.clone());
        state.let_pass();
        let outcome = outcome(state.on_fault, fault);
        for entry in &mut state.entries {
            if let QueueEntry::Record { ack, .. } = entry {
                answer(ack.take(), outcome.clone());
            }
        }
        drop(state);
        self.broken.notify_waiters();
        (news, outcome)
    }

    /// A batch of so many records was written and its room is free again. Answers the fault that
    /// this ends, and how many records were lost in it. `unawaited` are those of the batch for which a
    /// caller waited, and no longer did when they were written.
    pub(super) fn worked(
        &self,
        records: u64,
        room: usize,
        unawaited: Option<SeqRange>,
    ) -> Option<(AuditFault, u64)> {
        let mut state = self.lock();
        state.unwritten = state.unwritten.saturating_sub(records);
        state.written += records;
        let ended = state.fault.take();
        let lost = state.lost;
        let mildest = std::mem::take(&mut state.mildest);
        let unconfirmed = unawaited.filter(|_| mildest == OnFault::Warn);
        if let (Some(fault), true) = (&ended, lost > 0 || unconfirmed.is_some()) {
            state.lost = 0;
            state.unwritten += 1;
            let reason = Reason::code("audit_fault").with_text(fault.to_string());
            let mut record = Box::new(Record::new(Kind::AuditGap).reason(reason).lost(lost));
            record.unconfirmed = unconfirmed;
            // At the end: what is queued came before what was lost.
            let time = self.clock.now();
            state.entries.push_back(QueueEntry::Record {
                record,
                time,
                room: 0,
                ack: None,
                taken: LogCondition::Working,
            });
        }
        drop(state);
        self.room.add_permits(room);
        ended.map(|fault| (fault, lost))
    }

    /// Waits before a failed write is tried again. `None` when no caller is left.
    pub(super) fn pause(&self, time: Duration) -> Option<()> {
        let state = self
            .work
            .wait_timeout_while(self.lock(), time, |state| !state.abandoned)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
        (!state.abandoned).then_some(())
    }

    /// The writer is gone, for any reason: no caller may wait for it.
    pub(super) fn writer_gone(&self) {
        let mut state = self.lock();
        state.writer = WriterState::Gone;
        let orphans = std::mem::take(&mut state.entries);
        drop(state);
        self.room.close();
        self.broken.notify_waiters();
        drop(orphans);
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        // Nothing that holds the lock can leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a barrier is the last thing that the queue takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BarrierKind {
    Yes,
    No,
}

/// With [`OnFault::Warn`] no caller gets a fault of writing.
fn outcome(on_fault: OnFault, fault: &AuditFault) -> Result<(), AuditFault> {
    match on_fault {
        OnFault::Deny => Err(fault.clone()),
        OnFault::Warn => Ok(()),
    }
}

/// Answers a caller that may no longer be there.
pub(super) fn answer(ack: Option<Ack>, result: Result<(), AuditFault>) {
    if let Some(ack) = ack {
        // It gave up waiting; the record is written all the same.
        drop(ack.send(result));
    }
}
