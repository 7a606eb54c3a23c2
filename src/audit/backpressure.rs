//! How much the log holds, and how long it waits.

use std::time::Duration;

/// Numbers that only tests choose.
#[derive(Debug, Clone, Copy)]
pub(super) struct Backpressure {
    /// Bytes that queued records may take. An empty record takes over 512, which bounds their
    /// number too. As many bytes of lines may wait for each sink beside the record.
    pub(super) queue_bytes: u32,
    /// How long a caller waits for the log before it takes it for broken.
    pub(super) patience: Duration,
    /// How long the writer lets records gather after a batch, where no caller waits for them.
    pub(super) nap: Duration,
    /// The same for a sink beside the record, of which less is promised.
    pub(super) nap_beside: Duration,
    /// Before a failed write is tried again; doubles up to `retry_most`.
    pub(super) retry_first: Duration,
    pub(super) retry_most: Duration,
    /// How long a sink beside the record may take nothing before no caller waits for it any more.
    pub(super) grace: Duration,
}

impl Default for Backpressure {
    fn default() -> Self {
        Self {
            queue_bytes: 4 * 1024 * 1024,
            patience: Duration::from_secs(5),
            nap: Duration::from_millis(1),
            nap_beside: Duration::from_millis(10),
            retry_first: Duration::from_millis(20),
            retry_most: Duration::from_secs(1),
            grace: Duration::from_millis(500),
        }
    }
}
