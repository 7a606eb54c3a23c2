//! Reads the policies again while a gate runs, and the file that says which they are, on a thread of its
//! own.
//!
//! A writer may be at work at any moment. What counts is what two readings, some time apart, agree
//! on; and what lacks policies that are in force counts only when an operator confirms it.
//!
//! The thread looks at the files twice a second. A look costs one `stat` for each file, and finds files
//! that are renamed over others, links that lead elsewhere, directories that are exchanged, and files
//! on other machines. Events of the operating system come sooner, and lack the last three.

mod changes;
mod fingerprint;
mod reading;
mod removals;
mod source;
#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

pub use self::changes::{PathChanges, WakeReason, Waker};
use self::fingerprint::DirectoryFingerprint;
use self::reading::{LastReading, PolicyReading, ReadingFingerprints, directories};
pub use self::source::{LoadedSource, NoSource, ReloadError, Source, SourceSettings};
use super::load::{self, LoadedPolicies};
use super::settings::{OnRemoval, Reload, Settings};
use crate::policy::{PolicyErrors, PolicyProblem, PolicySnapshot, PolicyStore};

/// How often the thread looks at everything.
const LOOK: Duration = Duration::from_millis(500);

/// Time without a change after which the gate reads the files.
const QUIET: Duration = Duration::from_millis(100);

/// How many readings it may take until two in a row agree.
const READINGS: u32 = 20;

/// The number of differing readings before a report.
const PATIENCE: u32 = 3;

/// Why policies were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReloadCause {
    /// Something changed.
    Changed,
    /// An operator asked, and confirms the present files.
    Asked,
}

/// What a reading came to. The thread waits until it knows what became of it.
#[derive(Debug)]
pub struct ReloadAttempt<S: Source = NoSource> {
    pub cause: ReloadCause,
    pub found: Result<LoadedSource<S>, ReloadError<S::Error>>,
    /// Takes what became of it.
    pub done: oneshot::Sender<ReloadOutcome>,
}

/// What became of a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReloadOutcome {
    /// It is in force.
    InForce,
    /// It is not in force, and the log has said why.
    Refused,
    /// It could not be recorded: the thread reads again.
    No,
}

/// The thread that reads, seen from the gate.
#[derive(Debug)]
pub struct Watch<S: Source = NoSource> {
    asked: Arc<AtomicBool>,
    wake: SyncSender<()>,
    turns: mpsc::Receiver<ReloadAttempt<S>>,
}

/// What the thread knows.
#[derive(Debug)]
struct Watcher<S: Source> {
    /// Those in force.
    settings: Settings,
    source: Option<S>,
    store: Arc<PolicyStore>,
    turns: mpsc::Sender<ReloadAttempt<S>>,
    /// A request is pending.
    asked: Arc<AtomicBool>,
    /// What everything looked like when it was last read.
    seen: Option<ReadingFingerprints>,
    /// What was read last and led to a turn.
    told: Option<LastReading<S>>,
    /// How often in a row it did not come to rest.
    restless: u32,
}

impl<S: Source> Watch<S> {
    /// Starts the thread. It ends after this is dropped.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub fn start(
        settings: Settings,
        source: Option<S>,
        store: Arc<PolicyStore>,
    ) -> io::Result<Self> {
        // One that waits is enough: it is for everything that came before.
        let (wake, wakes) = sync_channel(1);
        let asked = Arc::new(AtomicBool::new(false));
        let (turns, taken) = mpsc::channel(1);
        let watcher = Watcher {
            settings,
            source,
            store,
            turns,
            asked: Arc::clone(&asked),
            seen: None,
            told: None,
            restless: 0,
        };
        thread::Builder::new()
            .name("policies".to_owned())
            .spawn(move || watcher.run(&wakes))?;
        Ok(Self {
            asked,
            wake,
            turns: taken,
        })
    }

    /// Has everything read now. False when the thread has ended.
    pub fn ask(&self) -> bool {
        self.asked.store(true, Ordering::Release);
        !matches!(self.wake.try_send(()), Err(TrySendError::Disconnected(())))
    }

    /// What is to be published next, or to be refused; `None` when the thread has ended.
    pub async fn next(&mut self) -> Option<ReloadAttempt<S>> {
        self.turns.recv().await
    }
}

/// Whether a gate with the old policies keeps them until an operator asks for the new ones, since these lack some.
pub fn holds_back(settings: &Settings, old: &PolicySnapshot, new: &PolicySnapshot) -> bool {
    let (directories, on_removal) = (settings.directories(), settings.on_policy_removal);
    !removals::problems(old, new, &directories, &settings.servers, on_removal).is_empty()
}

impl<S: Source> Watcher<S> {
    fn run(mut self, wakes: &Receiver<()>) {
        // The first look finds what changed since the start, if anything.
        while self.wait(wakes) != Err(GateEnded) {
            let done = if self.asked.swap(false, Ordering::AcqRel) {
                self.look(ReloadCause::Asked)
            } else if self.settings.reload == Reload::Watch && self.looks_changed() {
                self.look(ReloadCause::Changed)
            } else {
                Ok(())
            };
            if done == Err(GateEnded) {
                return;
            }
        }
    }

    /// Until there may be something to do.
    fn wait(&self, wakes: &Receiver<()>) -> Result<(), GateEnded> {
        let woken = match self.settings.reload {
            Reload::Watch => wakes.recv_timeout(LOOK),
            Reload::Off => wakes.recv().map_err(RecvTimeoutError::from),
        };
        if woken == Err(RecvTimeoutError::Disconnected) || self.turns.is_closed() {
            return Err(GateEnded);
        }
        Ok(())
    }

    fn looks_changed(&self) -> bool {
        let seen = self.seen.as_ref();
        seen.is_none_or(|seen| *seen != seen.again())
    }

    /// Reads, and tells what it came to if that is news.
    ///
    /// # Errors
    /// [`GateEnded`] when the receiver is gone.
    fn look(&mut self, cause: ReloadCause) -> Result<(), GateEnded> {
        let current = self.store.current();
        let Some(rested) = self.at_rest(cause) else {
            return self.restless(cause);
        };
        self.restless = 0;
        let is_news = self.is_news(cause, &current, &rested);
        let is_in_force = rested.is_in_force(&current);
        self.seen = Some(rested.seen.clone());
        if !is_news {
            if is_in_force {
                self.told = None;
            }
            return Ok(());
        }
        let loaded = self.compile(cause, &current, &rested);
        self.publish(cause, loaded, rested)
    }

    /// Tells what was read, and takes over what has come into force of it.
    fn publish(
        &mut self,
        cause: ReloadCause,
        loaded: Result<LoadedPolicies, PolicyErrors>,
        read: PolicyReading<S>,
    ) -> Result<(), GateEnded> {
        let PolicyReading {
            text,
            meant,
            directory,
            ..
        } = read;
        let (found, settings) = match (meant, loaded) {
            (Err(errors), _) => (Err(ReloadError::Source(errors)), None),
            (Ok(_), Err(errors)) => (Err(ReloadError::Policies(errors)), None),
            (Ok(None), Ok(loaded)) => (Ok(LoadedSource { loaded, more: None }), None),
            (Ok(Some(SourceSettings { settings, more })), Ok(loaded)) => {
                let more = Some(more);
                (Ok(LoadedSource { loaded, more }), Some(settings))
            }
        };
        match self.tell(cause, found)? {
            ReloadOutcome::InForce => {
                if let (Some(settings), Some(source), Ok(Some(text))) =
                    (settings, &mut self.source, text.clone())
                {
                    self.settings = settings;
                    source.takes(text);
                }
                self.told = Some(LastReading { text, directory });
            }
            ReloadOutcome::Refused => self.told = Some(LastReading { text, directory }),
            // A confirmation was for what was there then, and is not used again.
            ReloadOutcome::No => self.seen = None,
        }
        Ok(())
    }

    /// Whether there is something to do: neither in force nor told already, or asked for.
    fn is_news(
        &self,
        cause: ReloadCause,
        current: &PolicySnapshot,
        found: &PolicyReading<S>,
    ) -> bool {
        let is_told = || self.told.as_ref().is_some_and(|told| told.is(found));
        cause == ReloadCause::Asked || !(found.is_in_force(current) || is_told())
    }

    fn compile(
        &self,
        cause: ReloadCause,
        current: &PolicySnapshot,
        found: &PolicyReading<S>,
    ) -> Result<LoadedPolicies, PolicyErrors> {
        let settings = found.settings().unwrap_or(&self.settings);
        let mut loaded = load::compile(settings, found.directory.clone(), Some(current))?;
        let directories = settings.directories();
        let missed = removals::problems(
            current,
            &loaded.snapshot,
            &directories,
            &settings.servers,
            self.on_policy_removal(cause),
        );
        match missed {
            problems if problems.is_empty() => {
                let meant = removals::meant(current, &loaded.snapshot, &settings.servers);
                loaded.notices.extend(meant);
                Ok(loaded)
            }
            problems => Err(PolicyErrors { problems }),
        }
    }

    /// As is in force, and not as the new text says: it may be cut.
    fn on_policy_removal(&self, cause: ReloadCause) -> OnRemoval {
        match cause {
            ReloadCause::Asked => OnRemoval::Apply,
            ReloadCause::Changed => self.settings.on_policy_removal,
        }
    }

    /// Nothing counts while it changes; a requester learns it at once, others when it continues.
    fn restless(&mut self, cause: ReloadCause) -> Result<(), GateEnded> {
        self.restless = self.restless.saturating_add(1);
        if cause == ReloadCause::Changed && self.restless != PATIENCE {
            return Ok(());
        }
        let directories = directories(&self.settings);
        let all = self.files().into_iter().chain(directories);
        let all: Vec<String> = all.map(|path| format!("`{}`", path.display())).collect();
        let message = format!("{} keeps changing", all.join(" or "));
        let problem = PolicyProblem::error("policy::directory_unstable", message);
        self.tell(cause, Err(ReloadError::Policies(problem.into())))
            .map(drop)
    }

    /// What two readings in a row agree on.
    fn at_rest(&self, cause: ReloadCause) -> Option<PolicyReading<S>> {
        let mut before = self.reading(cause);
        for _ in 0..READINGS {
            thread::sleep(QUIET);
            let now = self.reading(cause);
            if now.is_same_as(&before) {
                return Some(now);
            }
            before = now;
        }
        None
    }

    /// Everything, each after the look at it, so that what changes in between shows at the next look.
    fn reading(&self, cause: ReloadCause) -> PolicyReading<S> {
        let files = self.files();
        let outside = DirectoryFingerprint::of(&files);
        let (text, meant) = match &self.source {
            None => (Ok(None), Ok(None)),
            Some(source) => match source.read() {
                Err(errors) => (Err(format!("{errors:?}")), Err(errors)),
                Ok(text) if text == *source.in_force() => (Ok(Some(text)), Ok(None)),
                Ok(text) => {
                    let meant = source.means(&text, self.on_policy_removal(cause));
                    (Ok(Some(text)), meant.map(Some))
                }
            },
        };
        let settings = meant.as_ref().ok().and_then(Option::as_ref);
        let settings = settings.map_or(&self.settings, |meant| &meant.settings);
        let seen = ReadingFingerprints::of(outside, files, directories(settings));
        let directory = load::read(settings);
        PolicyReading {
            seen,
            text,
            meant,
            directory,
        }
    }

    fn files(&self) -> Vec<PathBuf> {
        let source = self.source.as_ref();
        source.map(Source::paths).unwrap_or_default()
    }

    fn tell(
        &self,
        cause: ReloadCause,
        found: Result<LoadedSource<S>, ReloadError<S::Error>>,
    ) -> Result<ReloadOutcome, GateEnded> {
        let (done, taken) = oneshot::channel();
        let turn = ReloadAttempt { cause, found, done };
        self.turns.blocking_send(turn).map_err(|_| GateEnded)?;
        taken.blocking_recv().map_err(|_| GateEnded)
    }
}

/// The gate has ended.
#[derive(Debug, PartialEq, Eq)]
struct GateEnded;
