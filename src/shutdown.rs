//! One signal, one deadline, everything drains.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::once::Once;

/// Why the gate stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShutdownCause {
    /// SIGTERM or SIGINT (Ctrl-C on Windows).
    Signal,
    /// The only agent there can be has gone.
    AgentGone,
    /// The server cannot be brought back.
    UpstreamGone,
    /// The server was removed, or is configured anew.
    ServerRemoved,
}

/// Tells every task that the gate stops, and when patience is over. Clones share one state.
#[derive(Debug, Clone)]
pub struct Shutdown(Arc<Stages>);

#[derive(Debug, Default)]
struct Stages {
    requested: Once<ShutdownCause>,
    /// The deadline passed, or a second signal came.
    forced: Once<()>,
}

impl Shutdown {
    /// Listens for signals from now on. What is under way gets `deadline` to finish, counted from
    /// the first request. Must be called inside a tokio runtime.
    pub fn listen(deadline: Duration) -> io::Result<Self> {
        let signals = Signals::new()?;
        let shutdown = Self(Arc::default());
        tokio::spawn(shutdown.clone().run(signals, deadline));
        Ok(shutdown)
    }

    /// One of many that stop by themselves, and all together when this stops. What is under way gets
    /// `deadline` to finish, counted from the first request. Must be called inside a tokio runtime.
    #[must_use]
    pub fn branch(&self, deadline: Duration) -> Self {
        let branch = Self(Arc::default());
        tokio::spawn(branch.clone().follow(self.clone(), deadline));
        branch
    }

    /// Asks everything to stop. Only the first cause counts.
    pub fn request(&self, cause: ShutdownCause) {
        self.0.requested.set(cause);
    }

    /// Resolves once the gate is to stop: take nothing new, finish what is under way.
    pub async fn requested(&self) -> ShutdownCause {
        *self.0.requested.wait().await
    }

    /// Resolves once patience is over: drop what is still under way.
    pub async fn forced(&self) {
        self.0.forced.wait().await;
    }

    pub fn is_requested(&self) -> bool {
        self.0.requested.get().is_some()
    }

    async fn follow(self, trunk: Self, deadline: Duration) {
        tokio::select! {
            cause = trunk.requested() => self.request(cause),
            _ = self.requested() => {}
        }
        self.requested().await;
        tokio::select! {
            biased;
            () = trunk.forced() => {}
            () = tokio::time::sleep(deadline) => {}
        }
        self.0.forced.set(());
    }

    async fn run(self, mut signals: Signals, deadline: Duration) {
        tokio::select! {
            () = signals.next() => self.request(ShutdownCause::Signal),
            _ = self.requested() => {}
        }
        let cause = self.requested().await;
        tracing::info!(?cause, ?deadline, "stopping");
        tokio::select! {
            () = signals.next() => tracing::warn!("a second signal: stopping at once"),
            () = tokio::time::sleep(deadline) => tracing::warn!(?deadline, "the deadline passed"),
        }
        self.0.forced.set(());
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    const DEADLINE: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn the_first_cause_counts() {
        let shutdown = Shutdown::listen(DEADLINE).unwrap();
        assert!(!shutdown.is_requested());
        shutdown.request(ShutdownCause::UpstreamGone);
        shutdown.request(ShutdownCause::AgentGone);
        assert!(shutdown.is_requested());
        assert_eq!(shutdown.requested().await, ShutdownCause::UpstreamGone);
    }

    #[tokio::test(start_paused = true)]
    async fn everyone_who_waits_is_told() {
        let shutdown = Shutdown::listen(DEADLINE).unwrap();
        let waiting = [(); 3].map(|()| {
            let shutdown = shutdown.clone();
            tokio::spawn(async move { shutdown.requested().await })
        });
        tokio::task::yield_now().await;
        shutdown.request(ShutdownCause::AgentGone);
        for waiting in waiting {
            assert_eq!(waiting.await.unwrap(), ShutdownCause::AgentGone);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_branch_stops_alone_and_with_its_trunk() {
        let trunk = Shutdown::listen(DEADLINE).unwrap();
        let [first, second] = [(); 2].map(|()| trunk.branch(DEADLINE));
        first.request(ShutdownCause::AgentGone);
        first.forced().await;
        assert!(!trunk.is_requested() && !second.is_requested());
        trunk.request(ShutdownCause::Signal);
        assert_eq!(second.requested().await, ShutdownCause::Signal);
        assert_eq!(first.requested().await, ShutdownCause::AgentGone);
        second.forced().await;
    }

    #[tokio::test(start_paused = true)]
    async fn patience_ends_with_the_deadline_and_not_before() {
        let shutdown = Shutdown::listen(DEADLINE).unwrap();
        let long = 100 * DEADLINE;
        assert!(
            timeout(long, shutdown.forced()).await.is_err(),
            "forced without a request"
        );
        shutdown.request(ShutdownCause::AgentGone);
        let almost = DEADLINE.checked_sub(Duration::from_millis(1)).unwrap();
        assert!(
            timeout(almost, shutdown.forced()).await.is_err(),
            "forced before the deadline"
        );
        assert!(timeout(DEADLINE, shutdown.forced()).await.is_ok());
        assert_eq!(shutdown.requested().await, ShutdownCause::AgentGone);
    }
}
