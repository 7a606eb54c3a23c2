//! Detection of changes below some paths.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;

use super::fingerprint::DirectoryFingerprint;
use super::{LOOK, QUIET, READINGS};

/// The state of some paths, and the watcher of their changes.
#[derive(Debug)]
pub struct PathChanges {
    paths: Vec<PathBuf>,
    seen: DirectoryFingerprint,
    wakes: Receiver<()>,
    wake: SyncSender<()>,
}

/// Ends the wait of a [`PathChanges`].
#[derive(Debug, Clone)]
pub struct Waker(SyncSender<()>);

/// Why there is nothing to wait for any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WakeReason {
    /// Something has changed, and has come to rest, or does not rest at all.
    Changed,
    /// Another thread has ended the wait.
    Ended,
}

impl PathChanges {
    /// From now on.
    pub fn of(paths: Vec<PathBuf>) -> Self {
        // One that waits is enough: it is for everything that came before.
        let (wake, wakes) = sync_channel(1);
        Self {
            seen: DirectoryFingerprint::of(&paths),
            paths,
            wakes,
            wake,
        }
    }

    pub fn waker(&self) -> Waker {
        Waker(self.wake.clone())
    }

    /// Sleeps until something changes or `ended` says so, which is checked at every wake-up.
    pub fn wait(&self, ended: impl Fn() -> bool) -> WakeReason {
        loop {
            if ended() {
                return WakeReason::Ended;
            }
            let woken = self.wakes.recv_timeout(LOOK);
            debug_assert_ne!(woken, Err(RecvTimeoutError::Disconnected));
            if ended() {
                return WakeReason::Ended;
            }
            if DirectoryFingerprint::of(&self.paths) != self.seen {
                self.rest();
                return WakeReason::Changed;
            }
        }
    }

    /// Until two looks agree: who writes files writes more than one.
    fn rest(&self) {
        let mut seen = DirectoryFingerprint::of(&self.paths);
        for _ in 0..READINGS {
            thread::sleep(QUIET);
            let now = DirectoryFingerprint::of(&self.paths);
            if now == seen {
                return;
            }
            seen = now;
        }
    }
}

impl Waker {
    pub fn wake(&self) {
        // When one waits already, it is for this one as well.
        let _ = self.0.try_send(());
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn what_is_written_renamed_over_and_removed_wakes() {
        let dir = tempfile::tempdir().unwrap();
        let (file, other) = (dir.path().join("a"), dir.path().join("b"));
        fs::write(&file, "1").unwrap();
        let check = |change: &dyn Fn()| {
            let changes = PathChanges::of(vec![dir.path().to_owned()]);
            change();
            assert_eq!(changes.wait(|| false), WakeReason::Changed);
        };
        check(&|| fs::write(&file, "22").unwrap());
        check(&|| fs::write(&other, "22").unwrap());
        check(&|| fs::rename(&other, &file).unwrap());
        check(&|| fs::remove_file(&file).unwrap());
        let alone = PathChanges::of(vec![file.clone()]);
        fs::write(&file, "3").unwrap();
        assert_eq!(alone.wait(|| false), WakeReason::Changed);
    }

    #[test]
    fn a_wait_without_changes_is_ended_by_a_waker() {
        let dir = tempfile::tempdir().unwrap();
        let changes = PathChanges::of(vec![dir.path().to_owned()]);
        let ended = Arc::new(AtomicBool::new(false));
        let (waker, flag) = (changes.waker(), Arc::clone(&ended));
        let other = thread::spawn(move || {
            flag.store(true, Ordering::Release);
            waker.wake();
        });
        assert_eq!(
            changes.wait(|| ended.load(Ordering::Acquire)),
            WakeReason::Ended
        );
        other.join().unwrap();
    }
}
