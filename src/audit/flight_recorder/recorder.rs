//! The thread that brings the log into the database.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

use super::FlightRecorderSettings;
use super::calls::RecentCalls;
use super::database::{DatabaseError, LastRecords, last_records, prepare, write};
use super::row::Entry;
use crate::audit::query::LineError;
use crate::audit::read::{FollowError, LogTail};

#[cfg(test)]
mod tests;

/// The time between two looks at the log. The database is open for a moment after each, so that others can read it.
const PAUSE: Duration = Duration::from_secs(1);

/// The longest pause after failures: to begin again may mean to read a large file.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Pauses until the operator hears of a database that others have open: a question takes moments.
const PATIENCE: u32 = 10;

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
pub(super) enum Phase {
    #[default]
    Running,
    /// No more is written to the log.
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
                let _ended = EndNotice(&thread);
                thread.run(&Recorder::new(settings));
            })?;
        Ok(Self(shared))
    }

    /// Brings what is in the log into the database, if it can within this time. The next gate brings the rest.
    pub async fn stop(self, within: Duration) {
        let ended = self.0.ended.notified();
        {
            let mut phase = self.0.phase();
            if *phase == Phase::Ended {
                return;
            }
            *phase = Phase::Stopping;
        }
        self.0.stopping.notify_one();
        if timeout(within, ended).await.is_err() && *self.0.phase() != Phase::Ended {
            tracing::warn!("the flight recorder lacks the last records; the next start adds them");
        }
    }
}

impl RecorderShared {
    fn run(&self, recorder: &Recorder) {
        let mut work = RecorderWork::default();
        let mut pause = PAUSE;
        loop {
            let phase = *self.phase();
            recorder.bring(&mut work, &|pause| self.pause(pause));
            if phase != Phase::Running {
                return;
            }
            pause = match work.status {
                RecorderStatus::Works => PAUSE,
                RecorderStatus::Fails => pause.saturating_mul(2).min(LONGEST_PAUSE),
            };
            self.pause(pause);
        }
    }

    /// Waits, unless the gate stops.
    fn pause(&self, pause: Duration) -> Phase {
        let phase = self.phase();
        let waited = self
            .stopping
            .wait_timeout_while(phase, pause, |phase| *phase == Phase::Running);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// However the thread ends, no stop waits for it afterwards.
struct EndNotice<'s>(&'s RecorderShared);

impl Drop for EndNotice<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            tracing::error!("the flight recorder has failed; the next start adds its records");
        }
        *self.0.phase() = Phase::Ended;
        self.0.ended.notify_waiters();
    }
}

/// The state of the thread between two looks at the log.
#[derive(Debug, Default)]
pub(super) struct RecorderWork {
    /// `None` until both the database and the log could be opened, and after an error.
    open: Option<OpenWork>,
    pub(super) status: RecorderStatus,
}

#[derive(Debug)]
struct OpenWork {
    log: LogTail,
    /// What is in the database.
    last: LastRecords,
    calls: RecentCalls,
}

/// The state that standard error has reported.
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

    /// Brings all that the log has now, or tells once why not. `pause` waits between tries to write, unless the
    /// gate stops.
    pub(super) fn bring(&self, work: &mut RecorderWork, pause: &dyn Fn(Duration) -> Phase) {
        let brought = self.try_to_bring(work, pause);
        match brought {
            Ok(()) => work.status.recovers(),
            Err(error) => {
                // Lines may have been read and not written: begin after the last one that was.
                work.open = None;
                work.status.fails(&error);
            }
        }
    }

    fn try_to_bring(
        &self,
        work: &mut RecorderWork,
        pause: &dyn Fn(Duration) -> Phase,
    ) -> Result<(), RecorderError> {
        let OpenWork { log, last, calls } = match &mut work.open {
            Some(open) => open,
            None => work.open.insert(self.begin()?),
        };
        let status = &mut work.status;
        let mut batch = Batch::default();
        let read = log.read_lines(&mut |line| {
            batch.add(line, self.0.event_kinds, last, calls);
            if batch.bytes >= BATCH_BYTES {
                self.write(&mut batch, last, status, pause)
                    .map_err(Box::new)?;
            }
            Ok(())
        });
        // What was read before an error is written.
        self.write(&mut batch, last, status, pause)?;
        Ok(read?)
    }

    /// Opens both, and finds where to go on.
    fn begin(&self) -> Result<OpenWork, RecorderError> {
        let database = &self.0.database;
        let last = prepare(database).and_then(|()| last_records(database));
        let last = last.map_err(|cause| self.failed(cause))?;
        let log = LogTail::open_after(&self.0.log, &|line| is_written(line, &last))?;
        Ok(OpenWork {
            log,
            last,
            calls: RecentCalls::default(),
        })
    }

    /// Writes the batch, however often that has to be tried. Fails once the gate stops, or if the database is not
    /// the one that it was.
    fn write(
        &self,
        batch: &mut Batch,
        last: &mut LastRecords,
        status: &mut RecorderStatus,
        pause: &dyn Fn(Duration) -> Phase,
    ) -> Result<(), RecorderError> {
        if batch.entries.is_empty() {
            return Ok(());
        }
        let mut tries = 0;
        while let Err(cause) = write(&self.0.database, &batch.entries, last) {
            let is_another = matches!(cause, DatabaseError::Another);
            let is_locked = matches!(cause, DatabaseError::Locked(_));
            let error = self.failed(cause);
            tries += 1;
            if !is_locked || tries >= PATIENCE {
                status.fails(&error);
            }
            if is_another || pause(PAUSE) != Phase::Running {
                return Err(error);
            }
        }
        status.recovers();
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

impl RecorderStatus {
    fn fails(&mut self, error: &RecorderError) {
        if *self == Self::Works {
            tracing::error!("the flight recorder lacks records until this is solved: {error}");
        }
        *self = Self::Fails;
    }

    fn recovers(&mut self) {
        if *self == Self::Fails {
            tracing::warn!("the flight recorder writes again");
        }
        *self = Self::Works;
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
    fn add(
        &mut self,
        line: &[u8],
        kinds: super::EventKinds,
        last: &LastRecords,
        calls: &mut RecentCalls,
    ) {
        let is_written = is_written(line, last);
        if is_written && !RecentCalls::may_be_call(line) {
            return;
        }
        match Entry::of(line, kinds, calls) {
            // Its result may be missing.
            Ok(_) if is_written => {}
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
