//! The servers of a gate, for conversations with one of them or with all.

use std::time::Duration;

use tracing::error;

use super::parts::Parts;
use super::renew::News;

/// How long the conversations that are cut off may take to kill their servers and to record their
/// ends.
pub(super) const LAST_RECORDS: Duration = Duration::from_secs(10);

/// The server in records that belong to none of several. It is no key.
pub(super) const NO_SERVER: &str = "-";

/// The servers of a gate, and settings of their conversations.
pub(super) struct ServerSet {
    pub(super) servers: Vec<Parts>,
    pub(super) news: News,
    /// How long what is under way may take when a conversation ends.
    pub(super) drain: Duration,
}

pub(super) fn broken(ended: &Result<(), tokio::task::JoinError>) {
    if let Err(cause) = ended {
        error!("a conversation broke off: {cause}");
    }
}
