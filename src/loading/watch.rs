//! Reads the policy directory again while a gate runs, on a thread of its own.
//!
//! A writer may be at work at any moment. What counts is what two readings, some time apart, agree
//! on; and what lacks policies that are in force counts only when somebody says that it is meant.
//! What the first reading found is compiled while the second one waits for its time: mostly they
//! agree, and then nothing is left to be done.

mod changes;
mod events;
mod fingerprint;
mod removals;
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
use self::events::Events;
use self::fingerprint::Fingerprint;
use super::directory::Directory;
use super::{Loaded, Settings};
use crate::policy::{PolicyErrors, PolicyProblem, PolicySnapshot, PolicyStore};

/// How often the directory is looked at, whatever the operating system tells of it.
const LOOK: Duration = Duration::from_secs(1);

/// How long nothing may change before what is there counts.
const QUIET: Duration = Duration::from_millis(100);

/// How many readings it may take until two in a row agree.
const READINGS: u32 = 20;

/// How often there may be no two such readings before it is told.
const PATIENCE: u32 = 3;

/// When the directory is read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reload {
    /// When something in it changes, and when somebody asks for it.
    #[default]
    Watch,
    /// When somebody asks for it.
    Off,
}

/// What happens when a changed directory lacks policies that are in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnRemoval {
    /// It is refused: a file that is half written looks the same.
    #[default]
    Keep,
    /// It is taken.
    Accept,
}

/// Why the directory was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// It changed.
    Changed,
    /// Somebody asked, and means what is there.
    Asked,
}

/// What a reading came to. The thread waits until it knows what became of it.
#[derive(Debug)]
pub struct Turn {
    pub cause: Cause,
    pub found: Result<Loaded, PolicyErrors>,
    /// Takes what became of it.
    pub done: oneshot::Sender<Taken>,
}

/// What became of a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It was published, or its refusal told.
    Yes,
    /// It could not be: it is to be tried again.
    No,
}

/// The thread that reads, seen from the gate.
#[derive(Debug)]
pub struct Watch {
    asked: Arc<AtomicBool>,
    wake: SyncSender<()>,
    turns: mpsc::Receiver<Turn>,
}

/// What the thread knows.
#[derive(Debug)]
struct Watcher {
    settings: Settings,
    store: Arc<PolicyStore>,
    turns: mpsc::Sender<Turn>,
    /// Somebody has asked and was not served yet.
    asked: Arc<AtomicBool>,
    /// For whoever reports changes, if they are wanted.
    wake: Option<SyncSender<()>>,
    events: Option<Events>,
    /// What the directory looked like when it was last read.
    seen: Option<Fingerprint>,
    /// What was read last and led to a turn.
    told: Option<Directory>,
    /// How often in a row it did not come to rest.
    restless: u32,
}

impl Watch {
    /// Starts the thread. It ends after this is dropped.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub fn start(settings: Settings, store: Arc<PolicyStore>) -> io::Result<Self> {
        // One that waits is enough: it is for everything that came before.
        let (wake, wakes) = sync_channel(1);
        let asked = Arc::new(AtomicBool::new(false));
        let (turns, taken) = mpsc::channel(1);
        let reports = settings.reload == Reload::Watch;
        let watcher = Watcher {
            settings,
            store,
            turns,
            asked: Arc::clone(&asked),
            wake: reports.then(|| wake.clone()),
            events: None,
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

    /// Has the directory read now. False when the thread has ended.
    pub fn ask(&self) -> bool {
        self.asked.store(true, Ordering::Release);
        !matches!(self.wake.try_send(()), Err(TrySendError::Disconnected(())))
    }

    /// The next policies to publish, or to refuse; `None` when the thread has ended.
    pub async fn next(&mut self) -> Option<Turn> {
        self.turns.recv().await
    }
}

impl Watcher {
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
        seen.is_none_or(|seen| *seen != Fingerprint::of(&self.directories()))
    }

    /// Reads, and tells what it came to if that is news.
    ///
    /// # Errors
    /// [`Gone`] when nobody is left to be told.
    fn look(&mut self, cause: Cause) -> Result<(), Gone> {
        if let Some(wake) = &self.wake {
            // Anew each time, for what has come or was exchanged; before the reading, so that no
            // later change escapes.
            self.events = Some(Events::of(&self.directories(), wake));
        }
        let current = self.store.current();
        let first = self.reading();
        let (rested, ahead) = thread::scope(|scope| {
            let compile = || self.compile(cause, &current, &first.directory);
            let ahead = self.is_news(cause, &current, &first.directory).then(|| {
                let thread = thread::Builder::new().name("policies ahead".to_owned());
                thread.spawn_scoped(scope, compile)
            });
            let rested = self.at_rest(&first);
            let ahead = ahead.and_then(Result::ok);
            (rested, ahead.and_then(|thread| thread.join().ok()))
        });
        let Some(Reading { seen, directory }) = rested else {
            return self.restless(cause);
        };
        self.restless = 0;
        self.seen = Some(seen);
        if !self.is_news(cause, &current, &directory) {
            if directory.is_in_force(&current) {
                self.told = None;
            }
            return Ok(());
        }
        let found = ahead
            .filter(|_| directory.is_same_as(&first.directory))
            .unwrap_or_else(|| self.compile(cause, &current, &directory));
        match self.tell(cause, found)? {
            Taken::Yes => self.told = Some(directory),
            Taken::No => self.seen = None,
        }
        Ok(())
    }

    /// Whether there is something to compile: neither in force nor told already, or asked for.
    fn is_news(&self, cause: Cause, current: &PolicySnapshot, found: &Directory) -> bool {
        let is_told = || {
            self.told
                .as_ref()
                .is_some_and(|told| told.is_same_as(found))
        };
        cause == Cause::Asked || !(found.is_in_force(current) || is_told())
    }

    fn compile(
        &self,
        cause: Cause,
        current: &PolicySnapshot,
        found: &Directory,
    ) -> Result<Loaded, PolicyErrors> {
        let mut loaded = super::compile(&self.settings, found.clone(), Some(current))?;
        let on_removal = match cause {
            Cause::Asked => OnRemoval::Accept,
            Cause::Changed => self.settings.on_removal,
        };
        match removals::problems(current, &loaded.snapshot, on_removal) {
            problems if problems.is_empty() => {
                let meant = removals::meant(current, &loaded.snapshot);
                loaded.notices.extend(meant);
                Ok(loaded)
            }
            problems => Err(PolicyErrors { problems }),
        }
    }

    /// Nothing counts while it changes; whoever asked learns it at once, others when it goes on.
    fn restless(&mut self, cause: Cause) -> Result<(), Gone> {
        self.restless = self.restless.saturating_add(1);
        if cause == Cause::Changed && self.restless != PATIENCE {
            return Ok(());
        }
        let all = self.directories();
        let all: Vec<String> = all
            .iter()
            .map(|dir| format!("`{}`", dir.display()))
            .collect();
        let message = format!("{} keeps changing", all.join(" or "));
        let problem = PolicyProblem::error("policy::restless", message);
        self.tell(cause, Err(problem.into())).map(drop)
    }

    /// What two readings in a row agree on.
    fn at_rest(&self, first: &Reading) -> Option<Reading> {
        let mut before = None;
        for _ in 0..READINGS {
            thread::sleep(QUIET);
            let now = self.reading();
            if now.is_same_as(before.as_ref().unwrap_or(first)) {
                return Some(now);
            }
            before = Some(now);
        }
        None
    }

    fn reading(&self) -> Reading {
        // In this order, so that what changes in between shows at the next look.
        let seen = Fingerprint::of(&self.directories());
        let directory = super::read(&self.settings);
        Reading { seen, directory }
    }

    /// The policies', and the candidate's if there is one.
    fn directories(&self) -> Vec<&Path> {
        let all = [&self.settings.dir, &self.settings.shadow];
        all.into_iter().flatten().map(PathBuf::as_path).collect()
    }

    fn tell(&self, cause: Cause, found: Result<Loaded, PolicyErrors>) -> Result<Taken, Gone> {
        let (done, taken) = oneshot::channel();
        let turn = Turn { cause, found, done };
        self.turns.blocking_send(turn).map_err(|_| Gone)?;
        taken.blocking_recv().map_err(|_| Gone)
    }
}

/// What was read, and what the directory looked like before.
struct Reading {
    seen: Fingerprint,
    directory: Directory,
}

impl Reading {
    fn is_same_as(&self, other: &Self) -> bool {
        self.seen == other.seen && self.directory.is_same_as(&other.directory)
    }
}

/// The gate has ended.
#[derive(Debug, PartialEq, Eq)]
struct Gone;
