//! The servers of a gate, for conversations with one of them or with all.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tracing::error;

use crate::agent::http::Endpoint;
use crate::policy::ServerKey;

use super::news::News;
use super::parts::Parts;

/// How long the conversations that are cut off may take to kill their servers and to record their
/// ends.
pub(super) const LAST_RECORDS: Duration = Duration::from_secs(10);

/// The server in records that belong to none of several. It is no key.
pub(super) const NO_SERVER: &str = "-";

/// The servers of a gate, and settings of their conversations.
pub(super) struct ServerSet {
    current: watch::Sender<Arc<RunningServers>>,
    pub(super) news: News,
    /// How long what is under way may take when a conversation ends.
    pub(super) drain: Duration,
}

/// The servers of one moment, in the order of the configuration.
pub(super) struct RunningServers {
    pub(super) servers: Vec<Arc<Parts>>,
    #[cfg_attr(not(unix), expect(dead_code, reason = "the local endpoint names them"))]
    pub(super) disabled: Vec<ServerKey>,
}

impl ServerSet {
    pub(super) fn new(running: RunningServers, news: News, drain: Duration) -> Self {
        Self {
            current: watch::Sender::new(Arc::new(running)),
            news,
            drain,
        }
    }

    pub(super) fn current(&self) -> Arc<RunningServers> {
        Arc::clone(&self.current.borrow())
    }

    /// From now on these.
    pub(super) fn replace(&self, running: RunningServers) {
        self.current.send_replace(Arc::new(running));
    }

    /// Tells of each other set of servers.
    pub(super) fn changes(&self) -> watch::Receiver<Arc<RunningServers>> {
        self.current.subscribe()
    }
}

impl RunningServers {
    /// The server at this endpoint.
    pub(super) fn at(&self, endpoint: Endpoint) -> Option<&Arc<Parts>> {
        self.servers
            .iter()
            .find(|it| it.for_agents.endpoint == endpoint)
    }

    /// The key and the endpoint of each.
    pub(super) fn numbered(&self) -> Vec<(Option<ServerKey>, Endpoint)> {
        let all = self.servers.iter();
        all.map(|parts| (parts.key(), parts.for_agents.endpoint))
            .collect()
    }

    /// The revision of the policies in force.
    pub(super) fn revision(&self) -> Arc<str> {
        let first = self.servers.first();
        first.map_or_else(|| "".into(), |parts| parts.gate.revision())
    }
}

pub(super) fn broken(ended: &Result<(), tokio::task::JoinError>) {
    if let Err(cause) = ended {
        error!("a conversation broke off: {cause}");
    }
}
