//! How each server is, as the admin API says it.

use crate::admin::{ServerCondition, ServerConditions};

use super::parts::Parts;
use super::pulse::Pulse;
use super::servers::Upstreams;

pub(super) fn of(pulse: &Pulse) -> ServerConditions {
    let pulse = pulse.clone();
    Box::new(move || {
        let current = pulse.servers.current();
        let all = current.servers.iter();
        all.map(|parts| condition(&pulse, parts)).collect()
    })
}

fn condition(pulse: &Pulse, parts: &Parts) -> ServerCondition {
    let open = &parts.open;
    ServerCondition {
        key: parts.key().map(|key| key.to_string()),
        transport: match &open.upstreams {
            Upstreams::Command { .. } => "stdio",
            Upstreams::Http(_) => "http",
        },
        condition: pulse.of_server(parts).word(),
        error: open.trials.problem(),
        latency_ms: open.trials.latency_ms(),
        locked_tools: parts.gate.policies().lock().tools().count(),
    }
}
