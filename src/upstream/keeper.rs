//! The life of one process, from its start to its last descendant's end.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::wire::LineWriter;

use super::launcher;
use super::process::{Exit, Process, Push};
use super::settings::StopLadder;
use super::start_error::StartError;

/// For the launcher to kill what is below it.
const SWEEP: Duration = Duration::from_secs(1);
/// For the operating system to end what was killed.
const KILL: Duration = Duration::from_secs(2);
/// For output that was written before the end and is still in the pipe, when something that left
/// the group holds the pipe open.
const LAST_OUTPUT: Duration = Duration::from_millis(500);

/// What the owner wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Run,
    Stop,
    Kill,
}

/// How far a process has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    Running,
    /// Ended and reaped; its last output may still be unread.
    Ended(Ended),
    /// Whoever still holds its stdout is none of ours.
    Drained(Ended),
}

impl Phase {
    pub(super) fn ended(&self) -> Option<&Ended> {
        match self {
            Self::Running => None,
            Self::Ended(ended) | Self::Drained(ended) => Some(ended),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) exit: Exit,
    pub(super) lifetime: Lifetime,
}

/// Whether it lived long enough to be restarted without the delays of earlier deaths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lifetime {
    Short,
    Stable,
}

/// Everything that ends with the process.
pub(super) struct Keeper {
    pub(super) process: Process,
    pub(super) writer: LineWriter,
    /// Ends with the stream; yields the launcher's complaint if there was one.
    pub(super) stderr: JoinHandle<Option<StartError>>,
    pub(super) orders: watch::Receiver<Order>,
    pub(super) phase: watch::Sender<Phase>,
    /// Rings when the server closed its stdout.
    pub(super) hang_up: Arc<Notify>,
    /// Rings when the owner has no use for the server.
    pub(super) unfit: Arc<Notify>,
    pub(super) ladder: StopLadder,
    pub(super) stable_after: Duration,
    /// Serves its connections, where its network is proxied.
    pub(super) egress: JoinSet<()>,
}

impl Keeper {
    pub(super) async fn keep(mut self) {
        let lifetime = self.watch_over().await;
        // INVARIANT: before reaping, see `Process::exited`.
        self.process.push(Push::Kill);
        let exit = self.process.reap(KILL).await;
        self.writer.abort();
        self.egress.abort_all();
        let exit = self.explain(exit).await;
        let ended = Ended { exit, lifetime };
        self.phase.send_replace(Phase::Ended(ended.clone()));
        sleep(LAST_OUTPUT).await;
        self.phase.send_replace(Phase::Drained(ended));
    }

    /// Returns when the process has exited, or could not be brought to.
    async fn watch_over(&mut self) -> Lifetime {
        let mut lifetime = Lifetime::Short;
        let stable = sleep(self.stable_after);
        tokio::pin!(stable);
        loop {
            tokio::select! {
                () = self.process.exited() => return lifetime,
                () = ordered(&mut self.orders, Order::Stop) => break,
                // It closed one of its streams, so it cannot serve; most are about to exit.
                () = self.hang_up.notified() => break,
                _ = self.writer.ended() => break,
                () = self.unfit.notified() => {
                    // However long it lived, it was no good: the next one does not come sooner.
                    lifetime = Lifetime::Short;
                    break;
                }
                () = &mut stable, if lifetime == Lifetime::Short => lifetime = Lifetime::Stable,
            }
        }
        self.stop().await;
        lifetime
    }

    /// The ladder of the specification (protocol 2025-11-25, "stdio", shutdown), with the whole
    /// group in place of the process.
    async fn stop(&mut self) {
        self.writer.close();
        if self.exits_within(self.ladder.after_close).await {
            return;
        }
        self.process.push(Push::Terminate);
        if self.exits_within(self.ladder.after_terminate).await {
            return;
        }
        self.process.push(Push::Sweep);
        if timeout(SWEEP, self.process.exited()).await.is_ok() {
            return;
        }
        self.process.push(Push::Kill);
        if timeout(KILL, self.process.exited()).await.is_err() {
            tracing::error!(pid = self.process.id(), "the server cannot be killed");
        }
    }

    /// Waits for the exit, less long when the owner loses patience.
    async fn exits_within(&mut self, patience: Duration) -> bool {
        tokio::select! {
            exited = timeout(patience, self.process.exited()) => exited.is_ok(),
            () = ordered(&mut self.orders, Order::Kill) => false,
        }
    }

    /// Tells a command that could not be executed from a server that exits with the same code.
    async fn explain(&mut self, exit: Exit) -> Exit {
        let codes = [launcher::NOT_EXECUTABLE, launcher::NOT_FOUND]
            .map(i32::from)
            .map(Exit::Code);
        if !codes.contains(&exit) {
            return exit;
        }
        match timeout(LAST_OUTPUT, &mut self.stderr).await {
            Ok(Ok(Some(error))) => Exit::CannotStart(error),
            Ok(Ok(None) | Err(_)) | Err(_) => exit,
        }
    }
}

/// Resolves once the owner asked for `order` or more, or is gone.
pub(super) async fn ordered(orders: &mut watch::Receiver<Order>, order: Order) {
    let wanted = |now: &Order| match order {
        Order::Run => true,
        Order::Stop => *now != Order::Run,
        Order::Kill => *now == Order::Kill,
    };
    // An error says that the owner is gone, and with it whoever could want the server.
    let _ = orders.wait_for(wanted).await;
}
