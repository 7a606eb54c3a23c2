//! The thread that writes a journal. A disk may hang: then this thread does, and whoever waits for what it
//! writes, and nobody else who has something to be done on another thread.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;
use tracing::error;

use super::StoreFault;

/// Changes that wait to be written. Each is waited for by a message, but those of conversations that have
/// ended are written all the same.
const MOST: usize = 4096;

type Job = Box<dyn FnOnce() + Send>;

/// Does one thing after the other, in the order in which they were asked for. Ends with what it was asked
/// for when this is dropped.
#[derive(Debug)]
pub(super) struct Writer(SyncSender<Job>);

impl Writer {
    /// `look` is done whenever nothing was asked for so long.
    ///
    /// # Errors
    /// The system's, when there is no thread to be had.
    pub(super) fn start(
        every: Duration,
        look: impl FnMut() + Send + 'static,
    ) -> Result<Self, io::Error> {
        let (jobs, asked) = sync_channel(MOST);
        thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || run(&asked, every, look))?;
        Ok(Self(jobs))
    }

    /// Has something done from now on, whether or not its answer is waited for.
    ///
    /// # Errors
    /// [`StoreFault`] when too much waits to be done, or it panics.
    pub(super) fn ask<T, J>(
        &self,
        job: J,
    ) -> impl Future<Output = Result<T, StoreFault>> + Send + use<T, J>
    where
        T: Send + 'static,
        J: FnOnce() -> Result<T, StoreFault> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let asked = self.0.try_send(Box::new(move || {
            // Nobody may wait any more.
            let _ = answer.send(job());
        }));
        async move {
            let failed = "the thread that writes has failed";
            match asked {
                Ok(()) => answered.await.map_err(|_| StoreFault::new(failed))?,
                Err(TrySendError::Full(_)) => Err(StoreFault::new(format!(
                    "the disk does not answer, and {MOST} changes wait for it"
                ))),
                Err(TrySendError::Disconnected(_)) => Err(StoreFault::new(failed)),
            }
        }
    }
}

fn run(asked: &Receiver<Job>, every: Duration, mut look: impl FnMut()) {
    loop {
        let done = match asked.recv_timeout(every) {
            Ok(job) => catch_unwind(AssertUnwindSafe(job)),
            Err(RecvTimeoutError::Timeout) => catch_unwind(AssertUnwindSafe(&mut look)),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if done.is_err() {
            error!("a change of the journal failed");
        }
    }
}
