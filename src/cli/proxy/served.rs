//! What conversations with one server or with several have in common.

use std::time::Duration;

use tracing::error;

use super::parts::Parts;
use super::renew::News;

/// How long the conversations that are cut off may take to kill their servers and to record their
/// ends.
pub(super) const LAST_RECORDS: Duration = Duration::from_secs(10);

/// What records name where it is of none of several servers. It is no key.
pub(super) const NO_SERVER: &str = "-";

/// Servers, and what their conversations need.
pub(super) struct Served {
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
