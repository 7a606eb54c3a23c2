//! A server as a child process, speaking over stdio.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::child_state::Shared;
use super::command;
use super::events::ChildEvents;
use super::keeper::Order;
use super::settings::Settings;
use super::start_error::StartError;

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
        let (shared, attempts) = Shared::new(settings);
        let shared = Arc::new(shared);
        let started = shared.start()?;
        *shared.phase() = Some(started.phase.clone());
        let events = ChildEvents::new(Arc::clone(&shared), started, attempts);
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
