//! A sink that fails where a test says so.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use super::super::sink::{LinePosition, Sink};

/// Clones are the same sink.
#[derive(Debug, Clone, Default)]
pub(super) struct FaultySink {
    inner: Arc<(Mutex<Inner>, Condvar)>,
}

#[derive(Debug, Default)]
struct Inner {
    bytes: Vec<u8>,
    /// Bytes that it has room for in all; then it is a full disk.
    space: Option<usize>,
    sync_fails: bool,
    syncs: usize,
    held: bool,
    failures: usize,
    /// How often the log began to write.
    attempts: usize,
}

impl FaultySink {
    pub(super) fn with_space(bytes: usize) -> Self {
        let faulty = Self::default();
        faulty.lock().space = Some(bytes);
        faulty
    }

    pub(super) fn with_unlimited_space(&self) {
        self.lock().space = None;
    }

    pub(super) fn fill_up(&self) {
        let mut inner = self.lock();
        inner.space = Some(inner.bytes.len());
    }

    pub(super) fn fail_to_sync(&self) {
        self.lock().sync_fails = true;
    }

    pub(super) fn sync_again(&self) {
        self.lock().sync_fails = false;
    }

    /// Makes writes wait, as a reader that does not read does.
    pub(super) fn hold(&self) {
        self.lock().held = true;
    }

    pub(super) fn release(&self) {
        self.lock().held = false;
        self.inner.1.notify_all();
    }

    pub(super) fn syncs(&self) -> usize {
        self.lock().syncs
    }

    pub(super) fn failures(&self) -> usize {
        self.lock().failures
    }

    pub(super) fn attempts(&self) -> usize {
        self.lock().attempts
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8(self.lock().bytes.clone()).unwrap()
    }

    /// Whether the log has let go of it.
    pub(super) fn is_alone(&self) -> bool {
        Arc::strong_count(&self.inner) == 1
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.0.lock().unwrap()
    }
}

impl Sink for FaultySink {
    fn name(&self) -> Arc<str> {
        "the faulty sink".into()
    }

    fn begin(&mut self) -> io::Result<LinePosition> {
        Ok(LinePosition::AtLineStart)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut inner = self.lock();
        inner.attempts += 1;
        let mut inner = self.inner.1.wait_while(inner, |inner| inner.held).unwrap();
        let room = inner
            .space
            .map_or(usize::MAX, |space| space - inner.bytes.len());
        if room == 0 {
            inner.failures += 1;
            return Err(io::ErrorKind::StorageFull.into());
        }
        let taken = bytes.len().min(room);
        inner.bytes.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn end(&mut self) {}

    fn sync(&mut self) -> io::Result<()> {
        let mut inner = self.lock();
        if inner.sync_fails {
            inner.failures += 1;
            return Err(io::Error::other("input/output error"));
        }
        inner.syncs += 1;
        Ok(())
    }
}

/// A sink whose thread does not survive the first batch.
#[derive(Debug)]
pub(super) struct PanickingSink;

impl Sink for PanickingSink {
    fn name(&self) -> Arc<str> {
        "the panicking sink".into()
    }

    fn begin(&mut self) -> io::Result<LinePosition> {
        panic!("on purpose")
    }

    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Ok(0)
    }

    fn end(&mut self) {}

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}
