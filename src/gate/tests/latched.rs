//! An audit whose writing a test holds up, so that what it writes stays unwritten for as long as the
//! test likes.

use std::io;
use std::sync::{Arc, Condvar, Mutex};

use crate::audit::{LinePosition, MemorySink, Sink};

/// Open, until it is closed. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Latch(Arc<(Mutex<bool>, Condvar)>);

/// Writes to memory while its latch is open.
#[derive(Debug)]
pub(super) struct Latched {
    pub(super) memory: MemorySink,
    pub(super) latch: Latch,
}

impl Latch {
    pub(super) fn close(&self) {
        *self.0.0.lock().unwrap() = true;
    }

    pub(super) fn open(&self) {
        *self.0.0.lock().unwrap() = false;
        self.0.1.notify_all();
    }

    fn pass(&self) {
        let closed = self.0.0.lock().unwrap();
        drop(self.0.1.wait_while(closed, |closed| *closed).unwrap());
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
        self.memory.sync()
    }
}
