//! One line of progress on standard error: the number of finished tests.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use crate::policy_tests::Progress;

/// Shorter runs need no progress.
const PATIENCE: Duration = Duration::from_secs(1);

const EVERY: Duration = Duration::from_millis(200);

/// Does the work, and shows the progress on a terminal.
pub(super) fn told<T>(work: impl FnOnce(&Progress) -> T) -> T {
    let progress = Progress::default();
    if !io::stderr().is_terminal() {
        return work(&progress);
    }
    // Dropped at the end of the work, which the other end learns at once.
    let (working, end) = sync_channel::<()>(0);
    thread::scope(|scope| {
        let progress = &progress;
        scope.spawn(move || {
            let mut wait = PATIENCE;
            let mut written = false;
            while end.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                let (done, of) = progress.seen();
                // A closed stderr has no reader.
                let _ = write!(io::stderr(), "\r{done} of {of} tests");
                (wait, written) = (EVERY, true);
            }
            if written {
                let _ = write!(io::stderr(), "\r\u{1b}[2K");
            }
        });
        let done = work(progress);
        drop(working);
        done
    })
}
