//! The values that labels have: all of them are words of ours, so that no peer makes a time series.

use crate::audit::{Decision, Direction, Kind, Text};

/// The steps that records name (`docs/audit-log-schema.md`); the last stands for any other.
pub(super) const STAGES: [&str; 15] = [
    "decode",
    "correlate",
    "classify",
    "decide",
    "limit",
    "rewrite",
    "record",
    "forward",
    "cached_result",
    "bridge",
    "inspect",
    "deliver",
    "http",
    "reload",
    "other",
];

pub(super) const DECISIONS: [Decision; 3] = [Decision::Allow, Decision::Block, Decision::Error];

pub(super) const DIRECTIONS: [Option<Direction>; 3] = [
    Some(Direction::AgentToUpstream),
    Some(Direction::UpstreamToAgent),
    None,
];

/// Where a stage stands among [`STAGES`].
pub(super) fn stage(stage: Option<&Text>) -> usize {
    let other = STAGES.len() - 1;
    stage
        .and_then(|stage| STAGES.iter().position(|known| *stage == **known))
        .unwrap_or(other)
}

pub(super) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Startup => "startup",
        Kind::SessionStart => "session_start",
        Kind::ToolsList => "tools_list",
        Kind::ToolCall => "tool_call",
        Kind::ToolResult => "tool_result",
        Kind::Request => "request",
        Kind::ServerRequest => "server_request",
        Kind::Notification => "notification",
        Kind::GateDecision => "gate_decision",
        Kind::MalformedMessage => "malformed_message",
        Kind::Consent => "consent",
        Kind::UpstreamState => "upstream_state",
        Kind::PolicyReload => "policy_reload",
        Kind::AuditGap => "audit_gap",
        Kind::SessionEnd => "session_end",
        Kind::Shutdown => "shutdown",
    }
}

pub(super) fn decision(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "ALLOW",
        Decision::Block => "BLOCK",
        Decision::Error => "ERROR",
    }
}

pub(super) fn direction(direction: Option<Direction>) -> &'static str {
    match direction {
        Some(Direction::AgentToUpstream) => "agent_to_upstream",
        Some(Direction::UpstreamToAgent) => "upstream_to_agent",
        None => "gate",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Operators compare labels with records.
    #[test]
    fn labels_say_what_records_say() {
        let json = |value: serde_json::Result<serde_json::Value>| {
            value.unwrap().as_str().unwrap().to_owned()
        };
        for one in Kind::ALL {
            assert_eq!(kind(one), json(serde_json::to_value(one)));
        }
        for one in DECISIONS {
            assert_eq!(decision(one), json(serde_json::to_value(one)));
        }
        for one in DIRECTIONS.into_iter().flatten() {
            assert_eq!(direction(Some(one)), json(serde_json::to_value(one)));
        }
    }
}
