//! A message as it leaves, after all that policy wants changed of it.

use crate::wire::{Limits, Message};

#[derive(Debug, Clone, Copy)]
pub(super) struct Sent<'s> {
    line: &'s str,
    limits: &'s Limits,
}

impl<'s> Sent<'s> {
    /// By the limits that held for it as it came.
    pub(super) fn new(line: &'s str, limits: &'s Limits) -> Self {
        Self { line, limits }
    }

    pub(super) fn line(self) -> &'s str {
        self.line
    }

    /// Read only where something of it is kept; most messages are not read again.
    pub(super) fn read(self) -> Option<Message> {
        // Paths may have become longer than the agent wrote them.
        let limits = Limits {
            max_bytes: usize::MAX,
            ..*self.limits
        };
        Message::decode(self.line.as_bytes(), &limits).ok()
    }
}
