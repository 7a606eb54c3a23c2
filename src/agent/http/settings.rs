//! What the HTTP side must be told.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::caller::Endpoint;
use super::endpoints::{EndpointPaths, Endpoints};
use crate::inward::Tls;
use crate::memory::Memory;
use crate::wire::Limits;

/// Addresses, limits and deadlines of the HTTP side. The defaults bound what strangers can hold: at
/// most [`Settings::max_connections`] sockets with [`Settings::max_header_bytes`] each, and
/// [`Settings::max_waiting_bodies`] bytes of bodies in all.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Without it the listener speaks plain HTTP.
    pub tls: Option<Tls>,
    /// How long a TLS handshake may take.
    pub handshake_deadline: Duration,
    /// TLS handshakes at once. For one more, the oldest of the address with the most is broken off.
    pub max_handshakes: usize,
    /// The paths that messages are sent to, each of another server.
    pub endpoints: Endpoints,
    /// Below it, a path that is no endpoint asks for a token too: who has none cannot tell the two apart.
    pub endpoints_below: Option<String>,
    /// Values of `Host` beside loopback names, as `name` (any port) or `name:port`.
    pub allowed_hosts: Vec<String>,
    /// Values of `Origin` beside those of loopback names with our own port, as `scheme://host[:port]`.
    pub allowed_origins: Vec<String>,
    /// The header that names an agent's session, where its token names none; in lower case.
    pub session_header: Option<String>,
    /// Limits of one message; a longer body is answered 413.
    pub limits: Limits,
    /// How long the head of a request may take from its first byte on, and how long a connection
    /// may rest between two requests.
    pub header_deadline: Duration,
    /// How long a body may take.
    pub body_deadline: Duration,
    /// In which time 16 KiB of one must come, when its first part has.
    pub body_pause: Duration,
    /// How long a connection may take nothing of what is written to it, before it is closed.
    pub write_deadline: Duration,
    /// Bytes of a head, request line included; a longer one is answered 431.
    pub max_header_bytes: usize,
    /// Header fields of one request; more are answered 431.
    pub max_headers: usize,
    /// Bytes of bodies that came over all connections together, until each has been judged.
    pub max_waiting_bodies: usize,
    /// Sockets at once. For one more, one makes room that waits for its peer; if none does, the new one
    /// is answered 503 and closed. A quarter of them is kept from streams
    /// that have no end of their own, so that there is always a way in for messages.
    pub max_connections: usize,
    /// Conversations at once, of both kinds.
    pub max_sessions: usize,
    /// Those of them that may be one agent's.
    pub max_sessions_per_agent: usize,
    /// As many conversations begin at once, and as many again within each minute, if that is limited.
    pub starts_a_minute: Option<u32>,
    /// How long a conversation lives in which nothing waits and nothing comes.
    pub session_idle_timeout: Duration,
    /// How often a stream without messages gets a comment.
    pub keep_alive: Duration,
    /// After how long a POST without a reply is answered with a stream, on which it can be resumed.
    pub stream_after: Duration,
    /// How long a stream waits for an agent that does not read, before it is closed.
    pub slow_reader: Duration,
    /// Bytes that wait on one stream, and that are kept of it for an agent that comes back.
    pub stream_bytes: usize,
    /// How long a stream that has ended is kept for an agent that comes back.
    pub replay_for: Duration,
    /// What everything here is allocated from.
    pub memory: Memory,
}

impl Settings {
    pub(super) fn is_below_endpoints(&self, path: &str) -> bool {
        let above = self.endpoints_below.as_ref();
        let below = above.and_then(|above| path.strip_prefix(above.trim_end_matches('/')));
        below.is_some_and(|below| below.len() > 1 && below.starts_with('/'))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 3000)),
            tls: None,
            handshake_deadline: Duration::from_secs(10),
            max_handshakes: 256,
            endpoints: Endpoints::new(EndpointPaths {
                open: vec![("/mcp".to_owned(), Endpoint(0))],
                disabled: Vec::new(),
            }),
            endpoints_below: None,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            session_header: None,
            limits: Limits::default(),
            header_deadline: Duration::from_secs(10),
            body_deadline: Duration::from_secs(30),
            body_pause: Duration::from_secs(5),
            write_deadline: Duration::from_secs(30),
            max_header_bytes: 32 * 1024,
            max_headers: 64,
            max_waiting_bodies: 256 * 1024 * 1024,
            max_connections: 4096,
            max_sessions: 1000,
            max_sessions_per_agent: 1000,
            starts_a_minute: None,
            session_idle_timeout: Duration::from_mins(5),
            keep_alive: Duration::from_secs(15),
            stream_after: Duration::from_secs(2),
            slow_reader: Duration::from_secs(5),
            stream_bytes: 256 * 1024,
            replay_for: Duration::from_mins(1),
            memory: Memory::default(),
        }
    }
}
