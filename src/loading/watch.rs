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
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

pub use self::changes::{Changes, Waker, Woken};
use self::fingerprint::Fingerprint;
use self::reading::{Reading, Seen, Told, directories};
pub use self::source::{Found, Meant, NoSource, Refused, Source};
use super::{Loaded, Settings};
use crate::policy::{PolicyErrors, PolicyProblem, PolicySnapshot, PolicyStore};

/// How often the thread looks at everything.
const LOOK: Duration = Duration::from_millis(500);

/// How long nothing may change before what is there counts.
const QUIET: Duration = Duration::from_millis(100);

/// How many readings it may take until two in a row agree.
const READINGS: u32 = 20;

/// The number of differing readings before a report.
const PATIENCE: u32 = 3;

/// When policies are read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reload {
    /// After a change, and on request.
    #[default]
    Watch,
    /// On request.
    Off,
}

/// What happens when what changed lacks policies that are in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnRemoval {
    /// The gate keeps the policies in force: a half-written file looks the same.
    #[default]
    Reject,
    /// The gate applies the new policies.
    Apply,
}

/// Why policies were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Something changed.
    Changed,
    /// An operator asked, and confirms the present files.
    Asked,
}

/// What a reading came to. The thread waits until it knows what became of it.
#[derive(Debug)]
pub struct Turn<S: Source = NoSource> {
    pub cause: Cause,
    pub found: Result<Found<S>, Refused<S::Error>>,
    /// Takes what became of it.
    pub done: oneshot::Sender<Taken>,
}

/// What became of a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
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
    turns: mpsc::Receiver<Turn<S>>,
}

/// What the thread knows.
#[derive(Debug)]
struct Watcher<S: Source> {
    /// Those in force.
    settings: Settings,
    source: Option<S>,
    store: Arc<PolicyStore>,
    turns: mpsc::Sender<Turn<S>>,
    /// A request is pending.
    asked: Arc<AtomicBool>,
    /// What everything looked like when it was last read.
    seen: Option<Seen>,
    /// What was read last and led to a turn.
    told: Option<Told<S>>,
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
    pub async fn next(&mut self) -> Option<Turn<S>> {
        self.turns.recv().await
    }
}

impl<S: Source> Watcher<S> {
    fn run(mut self, wakes: &Receiver<()>) {
        // The first look finds what changed since the start, if anything.
        while self.wait(wakes) != Err(Gone) {
            let done = if self.asked.swap(false, Ordering::AcqRel) {
                self.look(Cause::Asked)
            } else if self.settings.reload == Reload::Watch && self.looks_changed() {
                self.look(Cause::Changed)
            } else {
                Ok(())
            };
            if done == Err(Gone) {
                return;
            }
        }
    }

    /// Until there may be something to do.
    fn wait(&self, wakes: &Receiver<()>) -> Result<(), Gone> {
        let woken = match self.settings.reload {
            Reload::Watch => wakes.recv_timeout(LOOK),
            Reload::Off => wakes.recv().map_err(RecvTimeoutError::from),
        };
        if woken == Err(RecvTimeoutError::Disconnected) || self.turns.is_closed() {
            return Err(Gone);
        }
        Ok(())
    }

    fn looks_changed(&self) -> bool {
        let seen = self.seen.as_ref();
        seen.is_none_or(|seen| *seen != Seen::again(self.file(), &seen.directories))
    }

    /// Reads, and tells what it came to if that is news.
    ///
    /// # Errors
    /// [`Gone`] when the receiver is gone.
    fn look(&mut self, cause: Cause) -> Result<(), Gone> {
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
        cause: Cause,
        loaded: Result<Loaded, PolicyErrors>,
        read: Reading<S>,
    ) -> Result<(), Gone> {
        let Reading {
            text,
            meant,
            directory,
            ..
        } = read;
        let (found, settings) = match (meant, loaded) {
            (Err(errors), _) => (Err(Refused::Source(errors)), None),
            (Ok(_), Err(errors)) => (Err(Refused::Policies(errors)), None),
            (Ok(None), Ok(loaded)) => (Ok(Found { loaded, more: None }), None),
            (Ok(Some(Meant { settings, more })), Ok(loaded)) => {
                let more = Some(more);
                (Ok(Found { loaded, more }), Some(settings))
            }
        };
        match self.tell(cause, found)? {
            Taken::InForce => {
                if let (Some(settings), Some(source), Some(text)) =
                    (settings, &mut self.source, text.clone())
                {
                    self.settings = settings;
                    source.takes(text);
                }
                self.told = Some(Told { text, directory });
            }
            Taken::Refused => self.told = Some(Told { text, directory }),
            // A confirmation was for what was there then, and is not used again.
            Taken::No => self.seen = None,
        }
        Ok(())
    }

    /// Whether there is something to do: neither in force nor told already, or asked for.
    fn is_news(&self, cause: Cause, current: &PolicySnapshot, found: &Reading<S>) -> bool {
        let is_told = || self.told.as_ref().is_some_and(|told| told.is(found));
        cause == Cause::Asked || !(found.is_in_force(current) || is_told())
    }

    fn compile(
        &self,
        cause: Cause,
        current: &PolicySnapshot,
        found: &Reading<S>,
    ) -> Result<Loaded, PolicyErrors> {
        let settings = found.settings().unwrap_or(&self.settings);
        let mut loaded = super::compile(settings, found.directory.clone(), Some(current))?;
        match removals::problems(current, &loaded.snapshot, self.on_policy_removal(cause)) {
            problems if problems.is_empty() => {
                let meant = removals::meant(current, &loaded.snapshot);
                loaded.notices.extend(meant);
                Ok(loaded)
            }
            problems => Err(PolicyErrors { problems }),
        }
    }

    /// As is in force, and not as the new text says: it may be cut.
    fn on_policy_removal(&self, cause: Cause) -> OnRemoval {
        match cause {
            Cause::Asked => OnRemoval::Apply,
            Cause::Changed => self.settings.on_policy_removal,
        }
    }

    /// Nothing counts while it changes; a requester learns it at once, others when it continues.
    fn restless(&mut self, cause: Cause) -> Result<(), Gone> {
        self.restless = self.restless.saturating_add(1);
        if cause == Cause::Changed && self.restless != PATIENCE {
            return Ok(());
        }
        let directories = directories(&self.settings);
        let all = self.file().into_iter();
        let all = all.chain(directories.iter().map(PathBuf::as_path));
        let all: Vec<String> = all.map(|path| format!("`{}`", path.display())).collect();
        let message = format!("{} keeps changing", all.join(" or "));
        let problem = PolicyProblem::error("policy::directory_unstable", message);
        self.tell(cause, Err(Refused::Policies(problem.into())))
            .map(drop)
    }

    /// What two readings in a row agree on.
    fn at_rest(&self, cause: Cause) -> Option<Reading<S>> {
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
    fn reading(&self, cause: Cause) -> Reading<S> {
        let file = Fingerprint::of(self.file());
        let (text, meant) = match &self.source {
            None => (None, Ok(None)),
            Some(source) => match source.read() {
                Err(errors) => (None, Err(errors)),
                Ok(text) if text == *source.in_force() => (Some(text), Ok(None)),
                Ok(text) => {
                    let meant = source.means(&text, self.on_policy_removal(cause));
                    (Some(text), meant.map(Some))
                }
            },
        };
        let settings = meant.as_ref().ok().and_then(Option::as_ref);
        let settings = settings.map_or(&self.settings, |meant| &meant.settings);
        let seen = Seen::of(file, directories(settings));
        let directory = super::read(settings);
        Reading {
            seen,
            text,
            meant,
            directory,
        }
    }

    fn file(&self) -> Option<&Path> {
        self.source.as_ref().map(Source::path)
    }

    fn tell(
        &self,
        cause: Cause,
        found: Result<Found<S>, Refused<S::Error>>,
    ) -> Result<Taken, Gone> {
        let (done, taken) = oneshot::channel();
        let turn = Turn { cause, found, done };
        self.turns.blocking_send(turn).map_err(|_| Gone)?;
        taken.blocking_recv().map_err(|_| Gone)
    }
}

/// The gate has ended.
#[derive(Debug, PartialEq, Eq)]
struct Gone;
