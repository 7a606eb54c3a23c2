//! An audit whose writing a test holds up, so that what it writes stays unwritten for as long as the
//! test likes.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use crate::audit::{CheckedSink, LinePosition, Sink};

/// Open, until it is closed. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Latch(Arc<(Mutex<LatchState>, Condvar)>);

#[derive(Debug, Default)]
struct LatchState {
    closed: bool,
    /// How often it may be passed though it is closed.
    passages: usize,
    arrived: usize,
}

/// Writes to memory while its latch is open, and flushes while the other is.
#[derive(Debug)]
pub(super) struct Latched {
    pub(super) memory: CheckedSink,
    pub(super) latch: Latch,
    pub(super) flush: Latch,
}

/// Opens latches when its bench ends, so that its log does.
#[derive(Debug)]
pub(super) struct OpensAtLast(pub(super) [Latch; 2]);

impl Drop for OpensAtLast {
    fn drop(&mut self) {
        self.0.iter().for_each(Latch::open);
    }
}

impl Latch {
    pub(super) fn close(&self) {
        self.lock().closed = true;
    }

    pub(super) fn open(&self) {
        self.lock().closed = false;
        self.0.1.notify_all();
    }

    /// Once, and it stays closed.
    pub(super) fn let_one_pass(&self) {
        self.lock().passages += 1;
        self.0.1.notify_all();
    }

    /// How often the log has come to it so far, held up or not.
    pub(super) fn arrived(&self) -> usize {
        self.lock().arrived
    }

    fn pass(&self) {
        let mut state = self.lock();
        state.arrived += 1;
        let is_shut = |state: &mut LatchState| state.closed && state.passages == 0;
        let mut state = self.0.1.wait_while(state, is_shut).unwrap();
        state.passages = state.passages.saturating_sub(1);
    }

    fn lock(&self) -> MutexGuard<'_, LatchState> {
        self.0.0.lock().unwrap()
    }
}

impl Sink for Latched {
    fn name(&self) -> Arc<str> {
        self.memory.name()
    }

    fn begin(&mut self) -> io::Result<LinePosition> {
        self.memory.begin()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.latch.pass();
        self.memory.write(bytes)
    }

    fn end(&mut self) {
        self.memory.end();
    }

    fn sync(&mut self) -> io::Result<()> {
        self.flush.pass();
        self.memory.sync()
    }
}
