//! A sink that tests can read.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use super::sink::{Begun, Sink};

/// Keeps lines in memory. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    /// Every line so far.
    pub fn lines(&self) -> Vec<String> {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes)
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

impl Sink for Memory {
    fn name(&self) -> Arc<str> {
        "memory".into()
    }

    fn begin(&mut self) -> io::Result<Begun> {
        Ok(Begun::AtLineStart)
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
