//! The compact text, while it is made.

use std::ops::Range;

use super::tape::slice;

/// The text without what was removed. Most peers send compact text, so nothing is copied before the
/// first whitespace is met, and then whole runs.
pub(super) struct CompactText<'i> {
    text: &'i str,
    out: String,
    copied: usize,
    removed: usize,
}

impl<'i> CompactText<'i> {
    pub(super) fn new(text: &'i str) -> Self {
        Self {
            text,
            out: String::new(),
            copied: 0,
            removed: 0,
        }
    }

    /// How many bytes of the input so far are not in the compact text.
    pub(super) fn removed(&self) -> usize {
        self.removed
    }

    pub(super) fn remove(&mut self, run: Range<usize>) {
        if self.out.capacity() == 0 {
            self.out.reserve_exact(self.text.len());
        }
        self.removed += run.len();
        self.out.push_str(slice(self.text, self.copied..run.start));
        self.copied = run.end;
    }

    pub(super) fn finish(mut self) -> String {
        if self.removed == 0 {
            return self.text.to_owned();
        }
        self.out
            .push_str(slice(self.text, self.copied..self.text.len()));
        self.out
    }
}
