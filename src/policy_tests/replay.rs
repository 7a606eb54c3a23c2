//! Decisions that were recorded, judged again.

/// What a recording holds.
#[derive(Debug, Clone, Default)]
pub(super) struct Recording {}
