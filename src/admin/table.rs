//! Every metric: what it is called, what it says, and where its numbers come from.

use crate::agent::http::Health;
use crate::audit::LogState;

use super::expose::{Exposed, Reading, Sample, count};
use super::words;

/// A metric, as it is described.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Described {
    /// Without the ending that samples of its type have.
    pub name: &'static str,
    pub is: Type,
    /// In the order in which they are written.
    pub labels: &'static [&'static str],
    pub help: &'static str,
}

/// What sort of number a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Only grows; its samples end in `_total`.
    Counter,
    Gauge,
    Histogram,
}

/// A metric, and where its numbers come from.
pub(super) struct Row {
    pub(super) described: Described,
    pub(super) read: fn(&Exposed) -> Reading,
}

/// Every metric, in the order in which they are written and documented.
pub fn metrics() -> impl Iterator<Item = Described> {
    ROWS.iter().map(|row| row.described)
}

const fn row(
    name: &'static str,
    is: Type,
    labels: &'static [&'static str],
    help: &'static str,
    read: fn(&Exposed) -> Reading,
) -> Row {
    let described = Described {
        name,
        is,
        labels,
        help,
    };
    Row { described, read }
}

pub(super) const ROWS: [Row; 26] = [
    row(
        "mcp_protector_ready",
        Type::Gauge,
        &[],
        "Whether GET /health says 200",
        |it| Reading::one(u64::from(it.figures.health == Health::Ready)),
    ),
    row(
        "mcp_protector_health",
        Type::Gauge,
        &["status"],
        "1 at the word that GET /health says",
        |it| {
            let at = |health: Health| u64::from(health == it.figures.health);
            Reading::of(Health::ALL.map(|health| Sample::new([health.word()], at(health))))
        },
    ),
    row(
        "mcp_protector_uptime_seconds",
        Type::Gauge,
        &[],
        "Since the gate started",
        |it| Reading::Seconds(it.figures.seconds),
    ),
    row(
        "mcp_protector_memory_bytes",
        Type::Gauge,
        &["what"],
        "What is allocated, and what the process may take",
        |it| {
            let memory = it.figures.memory.into_iter();
            Reading::of(memory.flat_map(|memory| {
                [
                    Sample::new(["allocated"], count(memory.allocated)),
                    Sample::new(["limit"], count(memory.limit)),
                ]
            }))
        },
    ),
    row(
        "mcp_protector_policy_info",
        Type::Gauge,
        &["revision"],
        "The policies in force",
        |it| Reading::of([Sample::new([&*it.figures.revision], 1)]),
    ),
    row(
        "mcp_protector_policy_reloads",
        Type::Counter,
        &["outcome"],
        "New policies that were published or rejected",
        |it| {
            let counts = it.metrics.counts();
            Reading::of([
                Sample::new(["published"], counts.published),
                Sample::new(["rejected"], counts.rejected),
            ])
        },
    ),
    row(
        "mcp_protector_restart_needed",
        Type::Gauge,
        &[],
        "Whether the configuration says what only a restart brings into force",
        |it| Reading::one(u64::from(it.figures.restart > 0)),
    ),
    row(
        "mcp_protector_decisions",
        Type::Counter,
        &["kind", "decision", "stage", "direction"],
        "What was decided, as the audit records it",
        |it| {
            Reading::of(it.metrics.decided().map(|decided| {
                let labels = [
                    words::kind(decided.kind),
                    words::decision(decided.decision),
                    decided.stage,
                    words::direction(decided.direction),
                ];
                Sample::new(labels, decided.times)
            }))
        },
    ),
    row(
        "mcp_protector_decision_seconds",
        Type::Histogram,
        &["kind"],
        "From the arrival of a request or notification to its decision",
        |it| {
            let own = it.metrics.own();
            Reading::Spreads(
                own.map(|(kind, own)| (Some(words::kind(kind)), own))
                    .collect(),
            )
        },
    ),
    row(
        "mcp_protector_call_seconds",
        Type::Histogram,
        &[],
        "From the arrival of a tool call to its outcome, the time of the server included",
        |it| Reading::Spreads(vec![(None, it.metrics.calls())]),
    ),
    row(
        "mcp_protector_malformed_messages",
        Type::Counter,
        &["direction", "code"],
        "What was no message",
        |it| Reading::words(it.metrics.frames()),
    ),
    row(
        "mcp_protector_http_rejected",
        Type::Counter,
        &["listener", "status", "code"],
        "Requests that got no further than HTTP",
        |it| Reading::words(it.metrics.refusals()),
    ),
    row(
        "mcp_protector_requests_in_flight",
        Type::Gauge,
        &["asker"],
        "Requests that wait for their reply",
        |it| {
            let sessions = &it.figures.sessions;
            Reading::of([
                Sample::new(["agent"], count(sessions.in_flight)),
                Sample::new(["upstream"], count(sessions.asked)),
            ])
        },
    ),
    row(
        "mcp_protector_calls_parked",
        Type::Gauge,
        &[],
        "Requests that wait until it is known what the server speaks, or which tools there are, or until the agent's model has worked for the server",
        |it| Reading::one(count(it.figures.sessions.parked)),
    ),
    row(
        "mcp_protector_sessions",
        Type::Gauge,
        &["upstream"],
        "Conversations, by the state of their servers",
        |it| {
            let sessions = &it.figures.sessions;
            Reading::of([
                Sample::new(["up"], count(sessions.up)),
                Sample::new(["repeating"], count(sessions.repeating)),
                Sample::new(["down"], count(sessions.down)),
            ])
        },
    ),
    row(
        "mcp_protector_sessions_begun",
        Type::Counter,
        &[],
        "Conversations that have begun",
        |it| Reading::one(it.metrics.counts().sessions),
    ),
    row(
        "mcp_protector_ratchet_sessions",
        Type::Gauge,
        &[],
        "Sessions that are kept beyond their conversations",
        |it| {
            let kept = it.figures.kept.into_iter();
            Reading::of(kept.map(|kept| Sample::new([], count(kept.taken))))
        },
    ),
    row(
        "mcp_protector_ratchet_max_sessions",
        Type::Gauge,
        &[],
        "Sessions that can be kept: a further one has the highest sensitivity",
        |it| {
            let kept = it.figures.kept.into_iter();
            Reading::of(kept.map(|kept| Sample::new([], count(kept.most))))
        },
    ),
    row(
        "mcp_protector_connections",
        Type::Gauge,
        &[],
        "Connections of agents over HTTP",
        |it| {
            let open = it.figures.connections.into_iter();
            Reading::of(open.map(|open| Sample::new([], count(open))))
        },
    ),
    row(
        "mcp_protector_upstream_state_changes",
        Type::Counter,
        &["event"],
        "What happened to servers",
        |it| {
            let counts = it.metrics.counts();
            Reading::of([
                Sample::new(["started"], counts.started),
                Sample::new(["down"], counts.died),
                Sample::new(["restarted"], counts.restarted),
                Sample::new(["switched_to_isolated"], counts.isolated),
                Sample::new(["definition_changed"], counts.changed),
            ])
        },
    ),
    row(
        "mcp_protector_audit_working",
        Type::Gauge,
        &[],
        "Whether records can be written",
        |it| Reading::one(u64::from(it.figures.audit.state == LogState::Working)),
    ),
    row(
        "mcp_protector_audit_queued",
        Type::Gauge,
        &[],
        "Records that are not written yet",
        |it| Reading::one(it.figures.audit.queued),
    ),
    row(
        "mcp_protector_audit_records",
        Type::Counter,
        &["outcome"],
        "Records that were written or lost",
        |it| {
            let audit = &it.figures.audit;
            Reading::of([
                Sample::new(["written"], audit.written),
                Sample::new(["lost"], audit.lost),
            ])
        },
    ),
    row(
        "mcp_protector_audit_faults",
        Type::Counter,
        &[],
        "How often writing ceased to work",
        |it| Reading::one(it.figures.audit.faults),
    ),
    row(
        "mcp_protector_audit_rejections",
        Type::Counter,
        &[],
        "What did not happen because it could not be recorded",
        |it| Reading::one(it.metrics.counts().unrecorded),
    ),
    row(
        "mcp_protector_traced_messages",
        Type::Counter,
        &["outcome"],
        "Messages whose spans were exported or dropped",
        |it| {
            let traces = it.figures.traces.into_iter();
            Reading::of(traces.flat_map(|traces| {
                [
                    Sample::new(["exported"], traces.exported),
                    Sample::new(["dropped"], traces.dropped),
                ]
            }))
        },
    ),
];
