//! What the listener of operators must be told.

use std::net::SocketAddr;
use std::time::Duration;

use crate::identity::StaticTokens;

/// Addresses and limits. The defaults bound what strangers can hold: at most
/// [`Settings::max_connections`] sockets with [`Settings::max_header_bytes`] each.
#[derive(Debug)]
pub struct Settings {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Values of `Host` beside loopback names and the address itself, as `name` (any port) or
    /// `name:port`.
    pub allowed_hosts: Vec<String>,
    /// The token for metrics; without one, metrics are public on the port.
    pub tokens: Option<StaticTokens>,
    /// How long the head of a request may take, and how long a connection may rest.
    pub header_deadline: Duration,
    /// How long a connection may take nothing of what is written to it.
    pub write_deadline: Duration,
    /// Bytes of a head, request line included.
    pub max_header_bytes: usize,
    /// Header fields of one request.
    pub max_headers: usize,
    /// Sockets at once. For one more, one makes room that waits for its peer; if none does, the new one
    /// is closed.
    pub max_connections: usize,
}

impl Settings {
    /// The usual limits.
    pub fn at(listen: SocketAddr) -> Self {
        Self {
            listen,
            allowed_hosts: Vec::new(),
            tokens: None,
            header_deadline: Duration::from_secs(10),
            write_deadline: Duration::from_secs(10),
            max_header_bytes: 16 * 1024,
            max_headers: 64,
            max_connections: 32,
        }
    }
}
