//! A server as a child process, speaking over stdio.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use secrecy::SecretString;
use tokio::sync::{Notify, watch};

use crate::memory::Memory;
use crate::wire::{LineReader, LineWriter};

use super::backoff::Backoff;
use super::command::{self, DEFAULT_INHERITED, Launcher, StartError};
use super::events::ChildEvents;
use super::keeper::{Keeper, Order, Phase, ordered};
use super::process::Process;
use super::sandbox::{self, Sandbox};
use super::stderr::{self, Concealing};

/// What to run, and how.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The server's name, as a label in logs.
    pub name: String,
    /// Program and arguments, passed on literally; there is no shell. A program without `/` is
    /// looked up in the server's own `PATH`, one with `/` from `cwd`.
    pub command: Vec<String>,
    /// Variables of the server, beside the inherited ones and before them.
    pub env: BTreeMap<String, SecretString>,
    /// What is not logged when the server writes it to its stderr.
    pub secrets: Vec<SecretString>,
    /// What else is done to what it writes there.
    pub concealing: Concealing,
    /// Names of variables that are taken from our own environment if they are there.
    pub inherit: Vec<String>,
    /// Where the server runs; by default where the gate runs.
    pub cwd: Option<PathBuf>,
    /// Longer lines from the server are reported as [`super::Event::Unread`].
    pub max_message_bytes: usize,
    /// How many bytes may wait for a server that does not read; a single longer line may as well.
    pub queue_bytes: usize,
    pub backoff: Backoff,
    pub stop: StopLadder,
    pub launcher: Launcher,
    /// What the server may reach of this machine; everything that we may if absent. Takes a launcher.
    pub sandbox: Option<Sandbox>,
    /// What lines of the server are kept in until they are complete.
    pub memory: Memory,
}

impl Settings {
    /// Defaults for everything but the name and the command.
    pub fn new(name: impl Into<String>, command: Vec<String>) -> Self {
        Self {
            name: name.into(),
            command,
            env: BTreeMap::new(),
            secrets: Vec::new(),
            concealing: Concealing::default(),
            inherit: DEFAULT_INHERITED.iter().map(ToString::to_string).collect(),
            cwd: None,
            max_message_bytes: 16 * 1024 * 1024,
            queue_bytes: 1024 * 1024,
            backoff: Backoff::default(),
            stop: StopLadder::default(),
            launcher: Launcher::Own,
            sandbox: None,
            memory: Memory::default(),
        }
    }

    /// The same within this memory.
    #[must_use]
    pub fn within(mut self, memory: &Memory) -> Self {
        self.memory = memory.clone();
        self
    }
}

/// How long the server may take over each step of its end; killing takes up to three seconds more,
/// but only where the operating system is slow to do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopLadder {
    /// From closing its stdin to SIGTERM.
    pub after_close: Duration,
    /// From SIGTERM to SIGKILL.
    pub after_terminate: Duration,
}

impl Default for StopLadder {
    fn default() -> Self {
        Self {
            after_close: Duration::from_secs(2),
            after_terminate: Duration::from_secs(2),
        }
    }
}

/// Why a line cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamFault {
    /// It died, or closed its stdin; it may be back later.
    #[error("the server is down")]
    Down,
    /// It was stopped or given up.
    #[error("the server was stopped")]
    Stopped,
}

/// Starts servers. See [`ChildProcess::start`].
#[derive(Debug, Clone, Copy)]
pub struct ChildProcess;

impl ChildProcess {
    /// Whether the command could be started now, as far as that is seen without doing it.
    ///
    /// # Errors
    /// What [`Self::start`] would say.
    pub fn check(settings: &Settings) -> Result<(), StartError> {
        command::build(settings).map(drop)
    }

    /// Starts the server and whatever supervises it. Must be called inside a tokio runtime.
    ///
    /// That the command cannot be executed is mostly seen here; what only the kernel can say (a
    /// missing interpreter, a wrong architecture) comes as [`super::Event::GaveUp`].
    ///
    /// When both halves or the runtime are dropped the server is killed, and when the gate is
    /// killed its launcher does it.
    pub fn start(settings: Settings) -> Result<(ChildSender, ChildEvents), StartError> {
        let shared = Arc::new(Shared {
            settings,
            writer: Mutex::default(),
            orders: watch::Sender::new(Order::Run),
            phase: Mutex::default(),
            unfit: Mutex::default(),
            handshaken: AtomicBool::new(false),
        });
        let started = shared.start()?;
        *shared.phase() = Some(started.phase.clone());
        let events = ChildEvents::new(Arc::clone(&shared), started);
        Ok((ChildSender { shared }, events))
    }
}

/// The half that sends; clones speak to the same server.
#[derive(Debug, Clone)]
pub struct ChildSender {
    shared: Arc<Shared>,
}

impl ChildSender {
    /// Queues one frame, without its line end, for the server that runs now. Waits while the queue
    /// is full. A future that is dropped has sent the whole frame or nothing.
    ///
    /// A frame that was queued and not written when the server dies is lost, never sent to the next
    /// one: whoever waits for an answer learns of the death.
    pub fn send(
        &self,
        line: String,
    ) -> impl Future<Output = Result<(), UpstreamFault>> + Send + use<> {
        let shared = Arc::clone(&self.shared);
        let writer = shared.writer().clone();
        async move {
            let sent = match writer {
                Some(writer) => writer.send(&line).await.is_ok(),
                None => false,
            };
            match *shared.orders.borrow() {
                _ if sent => Ok(()),
                Order::Run => Err(UpstreamFault::Down),
                Order::Stop | Order::Kill => Err(UpstreamFault::Stopped),
            }
        }
    }

    /// The server completed a handshake: from now on it is restarted for as long as it takes.
    pub fn handshake_completed(&self) {
        self.shared.handshaken.store(true, Ordering::Relaxed);
    }

    /// The server that runs now is of no use: it is ended as by [`Self::stop`], and another one is
    /// started as after a death. Returns at once.
    pub fn restart(&self) {
        if let Some(unfit) = self.shared.unfit().as_ref() {
            unfit.notify_one();
        }
    }

    /// Closes the server's stdin after what is queued, waits, terminates, waits, kills; returns
    /// when no process is left. It is not started again.
    pub async fn stop(&self) {
        self.shared.end(Order::Stop).await;
    }

    /// Kills the server and everything that it started, also when [`Self::stop`] is under way;
    /// returns when no process is left.
    pub async fn kill(&self) {
        self.shared.end(Order::Kill).await;
    }
}

/// What both halves know.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) settings: Settings,
    writer: Mutex<Option<LineWriter>>,
    pub(super) orders: watch::Sender<Order>,
    phase: Mutex<Option<watch::Receiver<Phase>>>,
    /// Rung when the process that runs now is to be replaced.
    unfit: Mutex<Option<Arc<Notify>>>,
    handshaken: AtomicBool,
}

/// A process that was just started.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) reader: LineReader<tokio::process::ChildStdout>,
    pub(super) phase: watch::Receiver<Phase>,
    pub(super) hang_up: Arc<Notify>,
}

impl Shared {
    /// Starts another process, unless the server is being stopped.
    pub(super) fn restart(&self) -> Option<Result<Started, StartError>> {
        // Held until the process is known, so that `end` either prevents it or finds it.
        let mut known = self.phase();
        if self.is_stopping() {
            return None;
        }
        let started = self.start();
        if let Ok(started) = &started {
            *known = Some(started.phase.clone());
        }
        Some(started)
    }

    fn start(&self) -> Result<Started, StartError> {
        let settings = &self.settings;
        let command = command::build(settings)?;
        // Each time: an operator who reads of a restart must not take the server for confined.
        if let Some(Ok(Some(lacks))) = settings.sandbox.as_ref().map(sandbox::check) {
            let server = &settings.name;
            tracing::warn!(
                server,
                "the server is not confined as `upstream.sandbox` says: {lacks}"
            );
        }
        let (process, streams) = Process::start(command, &settings.launcher)
            .map_err(|cause| command::refused(settings, &cause))?;
        let writer = LineWriter::spawn(streams.stdin, settings.queue_bytes);
        let hang_up = Arc::new(Notify::new());
        let (phase, phases) = watch::channel(Phase::Running);
        *self.writer() = Some(writer.clone());
        // Each process has its own: what is said of one must not end the next.
        let unfit = Arc::new(Notify::new());
        *self.unfit() = Some(Arc::clone(&unfit));
        let relog = stderr::relog(
            streams.stderr,
            settings.name.clone(),
            settings.command.clone(),
            settings.secrets.clone(),
            settings.concealing.clone(),
        );
        let keeper = Keeper {
            process,
            writer,
            stderr: tokio::spawn(relog),
            orders: self.orders.subscribe(),
            phase,
            hang_up: Arc::clone(&hang_up),
            unfit,
            ladder: settings.stop,
            stable_after: settings.backoff.stable_after,
        };
        tokio::spawn(keeper.keep());
        let reader = LineReader::new(streams.stdout, settings.max_message_bytes)
            .telling_answers()
            .within(settings.memory.clone());
        Ok(Started {
            reader,
            phase: phases,
            hang_up,
        })
    }

    pub(super) fn was_handshaken(&self) -> bool {
        self.handshaken.load(Ordering::Relaxed)
    }

    pub(super) fn is_stopping(&self) -> bool {
        *self.orders.borrow() != Order::Run
    }

    pub(super) async fn stop_ordered(&self) {
        ordered(&mut self.orders.subscribe(), Order::Stop).await;
    }

    async fn end(&self, order: Order) {
        let phase = {
            let phase = self.phase();
            self.orders.send_if_modified(|now| {
                let harder = *now != Order::Kill && *now != order;
                if harder {
                    *now = order;
                }
                harder
            });
            phase.clone()
        };
        if let Some(mut phase) = phase {
            // An error means that the keeper was dropped with the runtime, which kills as well.
            let _ = phase.wait_for(|phase| phase.ended().is_some()).await;
        }
    }

    fn phase(&self) -> MutexGuard<'_, Option<watch::Receiver<Phase>>> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unfit(&self) -> MutexGuard<'_, Option<Arc<Notify>>> {
        self.unfit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writer(&self) -> MutexGuard<'_, Option<LineWriter>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
