//! The thread that writes a journal. A disk may hang: then this thread does, and whoever waits for what it
//! writes, and nobody else who has something to be done on another thread.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use tracing::error;

use super::StoreFault;

/// What may wait to be done. One job writes all changes that wait by then, so that a second one is asked
/// for only while the first is done.
const MOST: usize = 4;

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

    /// Has something done from now on.
    ///
    /// # Errors
    /// [`StoreFault`] when the thread has ended, or too much waits for it.
    pub(super) fn ask(&self, job: impl FnOnce() + Send + 'static) -> Result<(), StoreFault> {
        let asked = self.0.try_send(Box::new(job));
        asked.map_err(|_| StoreFault::new("the thread that writes has failed"))
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
