//! The audit log as the rest of the gate sees it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{SemaphorePermit, TryAcquireError};
use tokio::time::timeout;

use super::backpressure::Backpressure;
use super::chain::LineHash;
use super::checkpoint::SigningKey;
use super::fault::FaultReports;
use super::fault::{AuditFault, OpenError};
use super::file::FileSink;
use super::follower::{Follower, SinkFollower};
use super::follower_queue::FollowerHandle;
use super::memory::MemoryRecords;
use super::observer::{AuditEventSummary, AuditObserver, LogFigures};
use super::queue::{Acked, BarrierKind, RecordQueue};
use super::record::Record;
use super::redact::Redactor;
use super::settings::{Checkpoints, Durability, OnFault, Settings, Stream};
use super::sink::{Lane, Sink, StreamSink};
use super::writer::{Signer, Writer};
use crate::clock::Clock;

/// The audit log. Clones write to the same one.
#[derive(Debug, Clone)]
pub struct Audit {
    to: AuditBackend,
    observers: Arc<[Arc<dyn AuditObserver>]>,
}

#[derive(Debug, Clone)]
enum AuditBackend {
    Log(Arc<LogHandle>),
    Memory(MemoryRecords),
}

#[derive(Debug)]
struct LogHandle {
    queue: Arc<RecordQueue>,
    followers: Vec<FollowerHandle>,
    diagnostics: FaultReports,
}

impl Audit {
    /// Opens the sinks and starts a thread for each of them, and for each follower. Without file and
    /// stream, records go to the followers alone.
    ///
    /// With both, the file is the record: what is said here of writing is said of the file. The
    /// stream and the followers get every line that they can take, and one record in the place of
    /// those that they cannot; they stop nothing.
    pub fn open(
        settings: &Settings,
        followers: Vec<Box<dyn Follower>>,
        clock: Arc<dyn Clock>,
        redactor: Redactor,
    ) -> Result<Self, OpenError> {
        let mut sinks: Vec<Box<dyn Sink>> = Vec::new();
        if let Some(path) = &settings.file {
            sinks.push(Box::new(FileSink::open(
                path,
                settings.rotation.clone(),
                Arc::clone(&clock),
            )?));
        }
        if let Some(stream) = StreamSink::open(settings.stream)? {
            sinks.push(Box::new(stream));
        }
        let pace = Backpressure::default();
        Self::start(settings, sinks, followers, clock, redactor, pace)
    }

    /// Writes to sinks of the caller's choice; `file` and `stream` of the settings are not looked
    /// at. The first is the record, as a file is; the others follow it, as a stream does. For
    /// tests, and for other stores that are fed from the same records.
    pub fn with_sinks(
        settings: &Settings,
        sinks: Vec<Box<dyn Sink>>,
        clock: Arc<dyn Clock>,
        redactor: Redactor,
    ) -> Result<Self, OpenError> {
        let pace = Backpressure::default();
        Self::start(settings, sinks, Vec::new(), clock, redactor, pace)
    }

    pub(super) fn start(
        settings: &Settings,
        sinks: Vec<Box<dyn Sink>>,
        followers: Vec<Box<dyn Follower>>,
        clock: Arc<dyn Clock>,
        redactor: Redactor,
        pace: Backpressure,
    ) -> Result<Self, OpenError> {
        let diagnostics = match settings.stream {
            Stream::Stderr => FaultReports::Silent,
            Stream::Stdout | Stream::None => FaultReports::Tell,
        };
        let instance = instance()?;
        let mut lanes = sinks.into_iter().map(Lane::new);
        let lane = lanes.next();
        let prev = lane.as_ref().and_then(Lane::last_line);
        // What lies beside the record may tell of its failures, unless it is standard error itself.
        let beside = lanes.map(|lane| (boxed(SinkFollower(lane)), diagnostics));
        let others = followers.into_iter();
        let beside = beside.chain(others.map(|follower| (follower, FaultReports::Tell)));
        let (mut followers, mut feeds) = (Vec::new(), Vec::new());
        for (follower, reports) in beside {
            let (clock, instance) = (Arc::clone(&clock), Arc::clone(&instance));
            let (follower, feed) = FollowerHandle::start(follower, clock, instance, pace, reports)
                .map_err(OpenError::Start)?;
            followers.push(follower);
            feeds.push(feed);
        }
        let signer = settings.checkpoints.as_ref().map(signer).transpose()?;
        let queue = Arc::new(RecordQueue::new(
            settings.durability,
            settings.on_fault,
            Arc::clone(&clock),
            pace,
        ));
        let writer = Writer {
            queue: Arc::clone(&queue),
            lane,
            feeds,
            redactor,
            instance,
            seq: 0,
            prev: prev.unwrap_or(LineHash::START),
            signer,
            clock,
            diagnostics,
        };
        std::thread::Builder::new()
            .name("audit".into())
            .spawn(|| writer.run())
            .map_err(OpenError::Start)?;
        let handle = Arc::new(LogHandle {
            queue,
            followers,
            diagnostics,
        });
        Ok(Self {
            to: AuditBackend::Log(handle),
            observers: Arc::new([]),
        })
    }

    /// Keeps records in memory, as they were given: no thread, no line, no fault. They are not
    /// bounded, so the caller must take them out again.
    pub fn keeping() -> (Self, MemoryRecords) {
        let kept = MemoryRecords::default();
        let to = AuditBackend::Memory(kept.clone());
        let observers = Arc::new([]);
        (Self { to, observers }, kept)
    }

    /// The same log, with one more observer.
    #[must_use]
    pub fn observed_by(mut self, observer: Arc<dyn AuditObserver>) -> Self {
        let known = self.observers.iter().cloned();
        self.observers = known.chain([observer]).collect();
        self
    }

    /// What records mean from now on. Where they go stays as it was opened.
    pub fn hold_to(&self, durability: Durability, on_fault: OnFault) {
        match &self.to {
            AuditBackend::Log(handle) => handle.queue.hold_to(durability, on_fault),
            AuditBackend::Memory(_) => {}
        }
    }

    /// How the log is doing. Nothing is counted of records that are kept in memory.
    pub fn figures(&self) -> LogFigures {
        match &self.to {
            AuditBackend::Log(handle) => handle.queue.figures(),
            AuditBackend::Memory(_) => LogFigures::default(),
        }
    }

    /// Takes a record. When this returns without a fault, the record is queued
    /// ([`Durability::Async`](super::Durability)) or on the disk
    /// ([`Durability::Strict`](super::Durability)).
    ///
    /// Waits while the queue is full, for five seconds at most. With [`OnFault::Deny`] a fault
    /// means that the record may not be there, and what it is about must not happen; it may also
    /// be written later. With [`OnFault::Warn`] there is no fault but [`AuditFault::Closed`].
    ///
    /// Dropped before it returns, it has taken the record or it has not.
    pub fn record(
        &self,
        record: Record,
    ) -> impl Future<Output = Result<(), AuditFault>> + Send + '_ {
        // Boxed here: a record would make up most of every future that waits for the audit.
        self.take(Box::new(record))
    }

    async fn take(&self, mut record: Box<Record>) -> Result<(), AuditFault> {
        // Boxed: it lives in the future of every message.
        let sighting =
            (!self.observers.is_empty()).then(|| Box::new(AuditEventSummary::of(&record)));
        let taken = match &self.to {
            AuditBackend::Memory(kept) => {
                kept.push(*record);
                Ok(())
            }
            AuditBackend::Log(handle) => match handle.room_for(record.weight()).await {
                Err(fault) => handle.without_record(fault),
                Ok((room, weight)) => match handle.queue.push(record, weight) {
                    Err(fault) => Err(fault),
                    Ok(acked) => {
                        room.forget();
                        handle.acknowledged(acked).await
                    }
                },
            },
        };
        if let Some(sighting) = sighting {
            for observer in &*self.observers {
                observer.observe(&sighting, taken.as_ref().err());
            }
        }
        taken
    }

    /// Returns when every record taken so far is written and the file synced. A stream beside the
    /// file is waited for as long as it takes lines; that it does not is no fault.
    pub async fn flush(&self, within: Duration) -> Result<(), AuditFault> {
        self.settle(within, BarrierKind::No).await
    }

    /// Takes no more records, and returns as [`flush`](Self::flush) does.
    pub async fn close(&self, within: Duration) -> Result<(), AuditFault> {
        self.settle(within, BarrierKind::Yes).await
    }

    async fn settle(&self, within: Duration, closing: BarrierKind) -> Result<(), AuditFault> {
        match &self.to {
            AuditBackend::Log(handle) => handle.settle(within, closing).await,
            AuditBackend::Memory(_) => Ok(()),
        }
    }
}

impl LogHandle {
    /// Room for a record, and how much it takes.
    async fn room_for(&self, weight: usize) -> Result<(SemaphorePermit<'_>, u32), AuditFault> {
        let queue = &self.queue;
        let weight = u32::try_from(weight).unwrap_or(u32::MAX);
        // A record heavier than the queue goes through it alone.
        let weight = weight.min(queue.pace.queue_bytes);
        let room = match queue.room.try_acquire_many(weight) {
            Ok(room) => room,
            Err(TryAcquireError::Closed) => return Err(AuditFault::Closed),
            Err(TryAcquireError::NoPermits) => self.wait_for_room(weight).await?,
        };
        Ok((room, weight))
    }

    async fn acknowledged(&self, acked: Option<Acked>) -> Result<(), AuditFault> {
        let Some(acked) = acked else {
            return Ok(());
        };
        match timeout(self.queue.pace.patience, acked).await {
            // The queue knows what a fault means for a caller.
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(AuditFault::Closed),
            Err(_) => {
                self.stalled();
                self.without_record(AuditFault::Stalled)
            }
        }
    }

    async fn settle(&self, within: Duration, closing: BarrierKind) -> Result<(), AuditFault> {
        let acked = self.queue.barrier(closing);
        let mut written = None;
        let settle = async {
            written = match acked {
                Ok(None) => Some(Ok(())),
                Ok(Some(acked)) => acked.await.ok(),
                Err(fault) => Some(Err(fault)),
            };
            for follower in &self.followers {
                follower.settle().await;
            }
        };
        // Too late for a follower is no fault: the record is whole without it.
        let _ = timeout(within, settle).await;
        written.unwrap_or_else(|| {
            Err(AuditFault::Unwritten {
                unwritten: self.queue.unwritten(),
            })
        })
    }

    async fn wait_for_room(&self, weight: u32) -> Result<SemaphorePermit<'_>, AuditFault> {
        let queue = &self.queue;
        loop {
            // Before the fault is looked at, or one that comes in between would go unnoticed.
            let broken = queue.broken.notified();
            if let Some(fault) = queue.lose() {
                return Err(fault);
            }
            tokio::select! {
                room = queue.room.acquire_many(weight) => {
                    return room.map_err(|_| AuditFault::Closed);
                }
                () = broken => {}
                () = tokio::time::sleep(queue.pace.patience) => self.stalled(),
            }
        }
    }

    fn stalled(&self) {
        let news = self.queue.stalled();
        if let (Some(fault), FaultReports::Tell) = (news, self.diagnostics) {
            tracing::error!("{fault}");
        }
    }

    /// What a fault means for the caller.
    fn without_record(&self, fault: AuditFault) -> Result<(), AuditFault> {
        match fault {
            AuditFault::Closed => Err(AuditFault::Closed),
            fault @ (AuditFault::Write { .. }
            | AuditFault::Stalled
            | AuditFault::Unwritten { .. }) => self.queue.outcome(&fault),
        }
    }
}

impl Drop for LogHandle {
    fn drop(&mut self) {
        self.queue.abandon();
        for follower in &self.followers {
            follower.abandon();
        }
    }
}

fn boxed(follower: SinkFollower) -> Box<dyn Follower> {
    Box::new(follower)
}

fn signer(checkpoints: &Checkpoints) -> Result<Signer, OpenError> {
    let path = &checkpoints.key_file;
    let key = SigningKey::read(path).map_err(|error| OpenError::SigningKey {
        path: path.clone(),
        error,
    })?;
    Ok(Signer::new(key, checkpoints.interval))
}

/// Names this run of the gate: `seq` begins anew with each.
fn instance() -> Result<Arc<str>, OpenError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| OpenError::Start(std::io::Error::other(error)))?;
    Ok(format!("{:016x}", u64::from_be_bytes(bytes)).into())
}
