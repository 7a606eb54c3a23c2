//! The thread that brings the log into the database.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

use super::FlightRecorderSettings;
use super::database::{DatabaseError, LastRecords, last_records, write};
use super::row::Entry;
use crate::audit::query::LineError;
use crate::audit::read::{FollowError, LogTail};

/// The time between two looks at the log. The database is open for a moment after each, so that others can read it.
const PAUSE: Duration = Duration::from_secs(1);

/// The records of one transaction, at most: their lines in bytes.
const BATCH_BYTES: usize = 4 << 20;

/// Brings the records of a log into a database until it is stopped.
#[derive(Debug)]
pub struct FlightRecorder(Arc<RecorderShared>);

#[derive(Debug, Default)]
struct RecorderShared {
    phase: Mutex<Phase>,
    /// Wakes the thread.
    stopping: Condvar,
    ended: Notify,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    #[default]
    Running,
    /// What is in the log is the last.
    Stopping,
    Ended,
}

/// The reason why records are not in the database yet.
#[derive(Debug, thiserror::Error)]
enum RecorderError {
    #[error("`{database}`: {cause}")]
    Database {
        database: String,
        cause: DatabaseError,
    },
    #[error(transparent)]
    Log(#[from] FollowError<Box<RecorderError>>),
    #[error("the audit log cannot be read: {0}")]
    NoLog(#[from] std::io::Error),
}

impl FlightRecorder {
    /// Starts the thread.
    ///
    /// # Errors
    /// There can be no thread.
    pub fn start(settings: FlightRecorderSettings) -> std::io::Result<Self> {
        let shared = Arc::new(RecorderShared::default());
        let thread = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("flight-recorder".into())
            .spawn(move || {
                // Even if it panics, no stop waits for it.
                let _ended = EndNotice(&thread);
                thread.run(&Recorder::new(settings));
            })?;
        Ok(Self(shared))
    }

    /// Brings what is in the log into the database, if it can within this time. The next gate brings the rest.
    pub async fn stop(self, within: Duration) {
        let ended = self.0.ended.notified();
        *self.0.phase() = Phase::Stopping;
        self.0.stopping.notify_one();
        if timeout(within, ended).await.is_err() && *self.0.phase() != Phase::Ended {
            tracing::warn!("the flight recorder lacks the last records; the next start adds them");
        }
    }
}

impl RecorderShared {
    fn run(&self, recorder: &Recorder) {
        let mut work = Work::default();
        loop {
            let phase = *self.phase();
            recorder.bring(&mut work);
            if phase != Phase::Running {
                return;
            }
            let wait = self
                .stopping
                .wait_timeout_while(self.phase(), PAUSE, |phase| *phase == Phase::Running);
            drop(wait);
        }
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct EndNotice<'s>(&'s RecorderShared);

impl Drop for EndNotice<'_> {
    fn drop(&mut self) {
        *self.0.phase() = Phase::Ended;
        self.0.ended.notify_waiters();
    }
}

/// What the thread has done so far.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// `None` until both the database and the log could be opened, and after an error.
    log: Option<(LogTail, LastRecords)>,
    pub(super) status: RecorderStatus,
}

/// What the operator knows.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecorderStatus {
    #[default]
    Works,
    /// Records are missing.
    Fails,
}

#[derive(Debug)]
pub(super) struct Recorder(FlightRecorderSettings);

impl Recorder {
    pub(super) fn new(settings: FlightRecorderSettings) -> Self {
        Self(settings)
    }

    /// Brings all that the log has now, or tells once why not.
    pub(super) fn bring(&self, work: &mut Work) {
        let brought = self.try_to_bring(work);
        match (brought, work.status) {
            (Ok(()), RecorderStatus::Works) => {}
            (Ok(()), RecorderStatus::Fails) => {
                tracing::warn!("the flight recorder has all records again");
                work.status = RecorderStatus::Works;
            }
            (Err(error), before) => {
                // Lines may have been read and not written: begin after the last one that was.
                work.log = None;
                if before == RecorderStatus::Works {
                    tracing::error!(
                        "the flight recorder lacks records until this is solved: {error}"
                    );
                }
                work.status = RecorderStatus::Fails;
            }
        }
    }

    fn try_to_bring(&self, work: &mut Work) -> Result<(), RecorderError> {
        let (log, last) = match &mut work.log {
            Some(log) => log,
            None => work.log.insert(self.begin()?),
        };
        let mut batch = Batch::default();
        let read = log.read_lines(&mut |line| {
            let is_written = Entry::place(line).is_some_and(|(instance, seq)| {
                last.get(&instance).is_some_and(|last| seq <= *last)
            });
            if !is_written {
                batch.add(line, self.0.event_kinds);
            }
            if batch.bytes >= BATCH_BYTES {
                self.write(&mut batch, last).map_err(Box::new)?;
            }
            Ok(())
        });
        // What was read before an error is written.
        self.write(&mut batch, last)?;
        Ok(read?)
    }

    /// Opens both, and finds where to go on.
    fn begin(&self) -> Result<(LogTail, LastRecords), RecorderError> {
        let last = last_records(&self.0.database).map_err(|cause| self.failed(cause))?;
        let log = LogTail::open_after(&self.0.log, &|line| is_written(line, &last))?;
        Ok((log, last))
    }

    fn write(&self, batch: &mut Batch, last: &mut LastRecords) -> Result<(), RecorderError> {
        if batch.entries.is_empty() {
            return Ok(());
        }
        write(&self.0.database, &batch.entries).map_err(|cause| self.failed(cause))?;
        for entry in batch.entries.drain(..) {
            last.insert(entry.instance, entry.seq);
        }
        batch.bytes = 0;
        Ok(())
    }

    fn failed(&self, cause: DatabaseError) -> RecorderError {
        let database = self.0.database.display().to_string();
        RecorderError::Database { database, cause }
    }
}

fn is_written(line: &[u8], last: &LastRecords) -> bool {
    let place = Entry::place(line);
    place.is_some_and(|(instance, seq)| last.get(&instance).is_some_and(|last| seq <= *last))
}

/// Records on their way into the database.
#[derive(Debug, Default)]
struct Batch {
    entries: Vec<Entry>,
    bytes: usize,
}

impl Batch {
    fn add(&mut self, line: &[u8], kinds: super::EventKinds) {
        match Entry::of(line, kinds) {
            Ok(entry) => {
                self.bytes += line.len();
                self.entries.push(entry);
            }
            // A gate was killed within it.
            Err(LineError::Half) => {}
            Err(error) => tracing::warn!("the flight recorder leaves out a line: {error}"),
        }
    }
}
