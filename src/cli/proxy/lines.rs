//! What the log says of the life of a gate.

use tracing::info;

use crate::config::Config;
use crate::policy::PolicySnapshot;
use crate::upstream::StartError;

use super::end::End;
use super::entrance::Entrance;
use super::exposed;
use super::servers::Upstreams;
use super::switched_off;

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
    policies: &PolicySnapshot,
    surfaces: &impl std::fmt::Display,
    isolated_is: &[&str],
) {
    let (transport, session_id, address) = match entrance {
        Entrance::Stdio(ends) => (ends.0.transport, Some(ends.0.id.as_str()), None),
        Entrance::UnifiedStdio(_) => ("stdio", None, None),
        Entrance::Http { listener, .. } => ("http", None, Some(listener.address().to_string())),
        #[cfg(unix)]
        Entrance::Local(listener, _) => {
            let path = listener.path().display().to_string();
            ("local", None, Some(path))
        }
    };
    let upstream = &config.upstream;
    let levels: Vec<String> = upstream
        .isolated
        .iter()
        .map(|it| it.min_sensitivity.to_string())
        .collect();
    let is_isolating = !levels.is_empty();
    info!(
        transport,
        session_id,
        address,
        upstream = upstream.name,
        isolated_from_level = is_isolating.then(|| levels.join(", ")),
        isolated = is_isolating.then(|| isolated_is.join(", ")),
        revision = policies.revision().as_str(),
        off = switched_off::keys(config, policies.lock()).join(" "),
        "the gate is up: {surfaces}",
    );
    is_unconfined(config);
}

/// What is known of an isolated server before a session needs it.
pub(super) fn state(isolated: &Upstreams, is_there: &Result<(), StartError>) -> &'static str {
    match (isolated, is_there) {
        (Upstreams::Command { .. }, Ok(())) => "can be started",
        (Upstreams::Command { .. }, Err(_)) => "cannot be started",
        (Upstreams::Http(_), _) => "over HTTP",
    }
}

const JOURNAL: &str = " A change of `ratchet.file` is mended while the gate runs and refused at its start, \
                       unless the server puts back an older journal together with its key.";

/// What no gate can keep from a server with all rights of its own user.
fn is_unconfined(config: &Config) {
    let journal = match &config.ratchet.file {
        Some(_) => JOURNAL,
        None => "",
    };
    for (section, _) in exposed::unconfined(config) {
        info!(
            "`{section}`: this server has no sandbox and all rights of the gate's user: it can write \
             to every file of that user, those of this gate among them, and the gate does not notice \
             what becomes of its policies, configuration and log.{journal} `[{section}.sandbox]` keeps \
             it from them"
        );
    }
}

pub(super) fn stops(end: &End, sessions: u64) {
    info!(event = "shutdown", sessions, "the gate stops: {end}");
}
