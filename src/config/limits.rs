//! `limits`: what one message, one call and one stop may cost.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::memory;

use super::errors::ConfigReason;
use super::listen::{HTTP_ONLY, ListenTransport};
use super::rates::rates;
use super::section::ConfigSection;
use super::settings::Limits;
use super::tool_names::tool_name;

pub(super) fn limits(mut section: ConfigSection<'_, '_>, transport: ListenTransport) -> Limits {
    const MESSAGE: RangeInclusive<u64> = 1 << 10..=256 << 20;
    const MEMORY: RangeInclusive<u64> = 96 << 20..=1 << 40;
    let mut default = of_requests(&mut section, &Limits::default());
    default.rates.calls_per_session = calls_per_session(&mut section);
    let mut limits = Limits {
        max_message_bytes: section
            .size("max_message_bytes", &MESSAGE)
            .unwrap_or(default.max_message_bytes),
        max_message_bytes_to_agent: section
            .size("max_message_bytes_to_agent", &MESSAGE)
            .unwrap_or(default.max_message_bytes_to_agent),
        max_depth: section
            .count("max_depth", &(8..=64))
            .unwrap_or(default.max_depth),
        max_nodes: section
            .count("max_nodes", &(100..=1_000_000))
            .unwrap_or(default.max_nodes),
        shutdown_grace_period: section
            .duration(
                "shutdown_grace_period",
                &(Duration::ZERO..=Duration::from_mins(10)),
            )
            .unwrap_or(default.shutdown_grace_period),
        max_sessions: section.count("max_sessions", &(1..=1_000_000)),
        max_sessions_per_agent: section.count("max_sessions_per_agent", &(1..=1_000_000)),
        session_idle_timeout: section
            .duration(
                "session_idle_timeout",
                &(Duration::from_secs(1)..=Duration::from_hours(24)),
            )
            .unwrap_or(default.session_idle_timeout),
        max_connections: section
            .count("max_connections", &(1..=65_536))
            .unwrap_or(default.max_connections),
        ..default
    };
    let said = section.size("max_memory", &MEMORY);
    limits.max_memory = has_memory(&mut section, &limits, said);
    match transport {
        ListenTransport::Stdio => {
            section.only_when(&OF_LISTENER, HTTP_ONLY, "remove it: there is one agent");
        }
        ListenTransport::Local => {
            section.only_when(
                &OF_LISTENER,
                HTTP_ONLY,
                "remove it: all agents are this user's",
            );
        }
        ListenTransport::Http | ListenTransport::Unclear => {}
    }
    section.finish();
    limits
}

const OF_LISTENER: [&str; 4] = [
    "max_sessions",
    "max_sessions_per_agent",
    "session_idle_timeout",
    "max_connections",
];

pub(super) const OF_ALL_SERVERS: ConfigReason =
    ConfigReason::Invalid("holds for all servers together");

/// Such keys.
const OF_GATE: [&str; 11] = [
    "max_message_bytes",
    "max_message_bytes_to_agent",
    "max_depth",
    "max_nodes",
    "calls_per_session",
    "shutdown_grace_period",
    "max_sessions",
    "max_sessions_per_agent",
    "session_idle_timeout",
    "max_connections",
    "max_memory",
];

/// Those of one of several servers; what is not said of it is as for all.
pub(super) fn of_server(mut section: ConfigSection<'_, '_>, all: &Limits) -> Limits {
    let limits = of_requests(&mut section, all);
    section.elsewhere(&OF_GATE, &OF_ALL_SERVERS, "write it into `[limits]`");
    section.finish();
    limits
}

/// What holds for single requests, beside what holds without a word.
fn of_requests(section: &mut ConfigSection<'_, '_>, default: &Limits) -> Limits {
    const TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_hours(24);
    let request_timeout = section
        .duration("request_timeout", &TIMEOUT)
        .unwrap_or(default.request_timeout);
    let longest = section.duration("max_request_timeout", &TIMEOUT);
    if longest.is_some_and(|longest| longest < request_timeout) {
        let reason = ConfigReason::Invalid("shorter than `request_timeout`");
        let help = "progress can only make the time longer: name as much, or leave it out";
        section.refuse("max_request_timeout", reason, Some(help));
    }
    let timeouts = tool_timeouts(section.section("tool_timeouts"), &TIMEOUT);
    Limits {
        max_in_flight: section
            .count("max_in_flight", &(1..=65_536))
            .unwrap_or(default.max_in_flight),
        rates: rates(section.section("rates"), &default.rates),
        request_timeout,
        progress_extends: section
            .switch("progress_extends", true, false)
            .unwrap_or(default.progress_extends),
        max_request_timeout: longest.unwrap_or(default.max_request_timeout),
        tool_timeouts: timeouts,
        ..default.clone()
    }
}

fn calls_per_session(section: &mut ConfigSection<'_, '_>) -> Option<i64> {
    let calls = section.count("calls_per_session", &(1..=1_000_000_000))?;
    i64::try_from(calls).ok()
}

/// One message of the most bytes can be judged in it.
fn has_memory(section: &mut ConfigSection<'_, '_>, limits: &Limits, said: Option<usize>) -> usize {
    let largest = [
        (limits.max_message_bytes, TOO_LITTLE_FOR_AGENTS),
        (limits.max_message_bytes_to_agent, TOO_LITTLE_FOR_SERVERS),
    ];
    let least = |bytes: usize| memory::least_for(bytes, limits.max_nodes);
    let Some(said) = said else {
        let least = largest.map(|(bytes, _)| least(bytes));
        return least.into_iter().fold(limits.max_memory, usize::max);
    };
    if let Some((_, reason)) = largest.into_iter().find(|(bytes, _)| least(*bytes) > said) {
        let help = "name more memory, or fewer bytes and `max_nodes` of one message";
        section.refuse("max_memory", ConfigReason::Invalid(reason), Some(help));
    }
    said
}

const TOO_LITTLE_FOR_AGENTS: &str = "too little for one message of `max_message_bytes`";
const TOO_LITTLE_FOR_SERVERS: &str = "too little for one message of `max_message_bytes_to_agent`";

fn tool_timeouts(
    mut section: ConfigSection<'_, '_>,
    range: &RangeInclusive<Duration>,
) -> BTreeMap<String, Duration> {
    let mut timeouts = BTreeMap::new();
    for field in section.entries() {
        if let Some(reason) = tool_name(field.key) {
            section.tell(&field, reason, None);
        }
        if let Some(timeout) = section.duration_in(&field, range) {
            timeouts.insert(field.key.to_owned(), timeout);
        }
    }
    timeouts
}
