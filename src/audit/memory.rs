//! Records and lines that never leave the process.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use super::record::Record;
use super::sink::{LinePosition, Sink};

/// The records of an [`Audit`](super::Audit) that keeps them, as they were given: neither redacted
/// nor cut. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct MemoryRecords(Arc<Mutex<Vec<Record>>>);

impl MemoryRecords {
    /// Takes out every record so far, oldest first.
    pub fn take(&self) -> Vec<Record> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn push(&self, record: Record) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(record);
    }
}

/// Keeps lines in memory. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct MemorySink(Arc<Mutex<Vec<u8>>>);

impl MemorySink {
    /// Every line so far.
    pub fn lines(&self) -> Vec<String> {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes)
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

impl Sink for MemorySink {
    fn name(&self) -> Arc<str> {
        "memory".into()
    }

    fn begin(&mut self) -> io::Result<LinePosition> {
        Ok(LinePosition::AtLineStart)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn end(&mut self) {}

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}
