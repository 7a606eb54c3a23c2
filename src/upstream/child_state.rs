//! What both halves of a server that is a child process know.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::process::{ChildStdin, Command};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use crate::egress::{Attempts, Proxy};
use crate::wire::{LineReader, LineWriter};

use super::keeper::{Keeper, Order, Phase, ordered};
use super::process::Process;
use super::sandbox::Network;
use super::settings::Settings;
use super::start_error::StartError;
use super::{command, sandbox, stderr};

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) settings: Settings,
    proxy: Proxy,
    writer: Mutex<Option<LineWriter>>,
    pub(super) orders: watch::Sender<Order>,
    phase: Mutex<Option<watch::Receiver<Phase>>>,
    /// Rung when the process that runs now is to be replaced.
    unfit: Mutex<Option<Arc<Notify>>>,
    pub(super) handshaken: AtomicBool,
}

/// A process that was just started.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) reader: LineReader<tokio::process::ChildStdout>,
    pub(super) phase: watch::Receiver<Phase>,
    pub(super) hang_up: Arc<Notify>,
}

impl Shared {
    /// With the connections that its processes want.
    pub(super) fn new(settings: Settings) -> (Self, Attempts) {
        let (proxy, attempts) = Proxy::new(&settings.egress);
        let shared = Self {
            settings,
            proxy,
            writer: Mutex::default(),
            orders: watch::Sender::new(Order::Run),
            phase: Mutex::default(),
            unfit: Mutex::default(),
            handshaken: AtomicBool::new(false),
        };
        (shared, attempts)
    }

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

    pub(super) fn start(&self) -> Result<Started, StartError> {
        let settings = &self.settings;
        let mut command = command::build(settings)?;
        let refused = |cause: io::Error| command::refused(settings, &cause);
        let mut egress = JoinSet::new();
        let stdin = self.proxied(&mut command, &mut egress).map_err(refused)?;
        // Each time: an operator who reads of a restart must not take the server for confined.
        if let Some(Ok(Some(lacks))) = settings.sandbox.as_ref().map(sandbox::check) {
            let server = &settings.name;
            tracing::warn!(
                server,
                "the server is not confined as `upstream.sandbox` says: {lacks}"
            );
        }
        let (process, streams) =
            Process::start(command, stdin, &settings.launcher).map_err(refused)?;
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
            egress,
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

    pub(super) async fn end(&self, order: Order) {
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

    pub(super) fn phase(&self) -> MutexGuard<'_, Option<watch::Receiver<Phase>>> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn unfit(&self) -> MutexGuard<'_, Option<Arc<Notify>>> {
        self.unfit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn writer(&self) -> MutexGuard<'_, Option<LineWriter>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The standard input of a server whose network is proxied, and what serves its connections.
    fn proxied(
        &self,
        command: &mut Command,
        egress: &mut JoinSet<()>,
    ) -> io::Result<Option<ChildStdin>> {
        let network = self.settings.sandbox.as_ref().map(|it| &it.network);
        if network != Some(&Network::Proxied) {
            return Ok(None);
        }
        #[cfg(target_os = "linux")]
        {
            let proxied = super::proxied::Proxied::prepare(command)?;
            let (stdin, serving) = proxied.started(self.proxy.clone())?;
            egress.spawn(serving);
            Ok(Some(stdin))
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = (command, egress, &self.proxy);
            Err(io::Error::other(super::sandbox::ABSENT))
        }
    }
}
