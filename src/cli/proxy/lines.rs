//! What the log says of the life of a gate.

use tracing::info;

use crate::config::Config;

use super::{End, Entrance};

/// A session begins.
pub(super) fn begins(transport: &str, session_id: &str, upstream: &str) {
    info!(transport, session_id, upstream, "a session begins");
}

pub(super) fn ended(session_id: &str, end: &End) {
    info!(session_id, "a session ended: {end}");
}

pub(super) fn is_up(
    entrance: &Entrance,
    config: &Config,
    revision: &str,
    surfaces: &impl std::fmt::Display,
) {
    let (transport, session_id, address) = match entrance {
        Entrance::Stdio(ends) => (ends.0.transport, Some(ends.0.id.as_str()), None),
        Entrance::Http { listener, .. } => ("http", None, Some(listener.address().to_string())),
    };
    let upstream = &config.upstream;
    let isolated = upstream.isolated.as_ref();
    info!(
        transport,
        session_id,
        address,
        upstream = upstream.name,
        isolated_from_level = isolated.map(|isolated| isolated.at),
        revision,
        "the gate is up: {surfaces}",
    );
}

pub(super) fn stops(end: &End, sessions: u64) {
    info!(event = "shutdown", sessions, "the gate stops: {end}");
}
