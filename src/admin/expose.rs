//! The numbers as OpenMetrics text, which Prometheus and its kin read. The metrics are in the order of
//! `docs/operating.md`.

use std::fmt;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::{Metric, Registry};

use super::metrics::{Gauges, MetricLabels, Metrics, ServerLabels, Sessions};
use crate::agent::http::Health;
use crate::audit::LogState;

/// The media type of what [`expose`] gives.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All of it, at this moment.
pub(super) fn expose(metrics: &Metrics, figures: &Gauges) -> Result<String, fmt::Error> {
    let mut all = Exposition(Registry::default());
    all.of_gate(metrics, figures);
    all.of_messages(metrics, figures);
    all.of_sessions(metrics, figures);
    all.of_records(metrics, figures);
    let mut written = String::with_capacity(16 * 1024);
    text::encode(&mut written, &all.0)?;
    // What may be of a server, and is of the only one.
    Ok(written.replace("{} ", " "))
}

struct Exposition(Registry);

impl Exposition {
    fn of_gate(&mut self, metrics: &Metrics, figures: &Gauges) {
        let health = figures.health;
        self.gauge(
            "mcp_protector_ready",
            "1 if GET /health returns 200",
            health == Health::Ready,
        );
        let words = Health::ALL.map(|word| (word.word(), u64::from(word == health)));
        let help = "1 for the current status of GET /health, 0 for the others";
        self.add("mcp_protector_health", help, gauges("status", words));
        let uptime = ConstGauge::new(figures.seconds);
        self.add(
            "mcp_protector_uptime_seconds",
            "Time since the gate started",
            uptime,
        );
        if let Some(memory) = &figures.memory {
            let parts = [
                ("allocated", count(memory.allocated)),
                ("limit", count(memory.limit)),
            ];
            let help = "Bytes that the gate has allocated, and the limit of its process (limits.max_memory)";
            self.add("mcp_protector_memory_bytes", help, gauges("what", parts));
        }
        let revision = gauges("revision", [(&*figures.revision, 1)]);
        self.add(
            "mcp_protector_policy_info",
            "1, with the revision in force",
            revision,
        );
        let help = "New policies, shadow policies and configurations, published or rejected";
        self.add(
            "mcp_protector_policy_reloads",
            help,
            metrics.reloads.clone(),
        );
        let help = "1 while the configuration has changes that need a restart";
        self.gauge("mcp_protector_restart_needed", help, figures.restart > 0);
    }

    fn of_messages(&mut self, metrics: &Metrics, figures: &Gauges) {
        let help = "Records with a decision, by fields of the same name; messages of the gate itself have the direction gate";
        self.add("mcp_protector_decisions", help, metrics.decisions.clone());
        let help = "Time from the arrival of a request or notification to its decision, with the wait for the list of tools";
        self.add("mcp_protector_decision_seconds", help, metrics.own.clone());
        let help = "Time from the arrival of a forwarded tool call to its outcome, with the time of the server";
        self.add("mcp_protector_call_seconds", help, metrics.calls.clone());
        let help = "Invalid messages, by reason.code";
        self.add(
            "mcp_protector_malformed_messages",
            help,
            metrics.frames.clone(),
        );
        let help = "Requests rejected at HTTP, by reason.code, also unrecorded ones";
        self.add(
            "mcp_protector_http_rejected",
            help,
            metrics.refusals.clone(),
        );
        let waiting = of_servers(figures, |it| {
            let words = [("agent", it.in_flight), ("upstream", it.asked)];
            words.map(|(word, waiting)| ([("asker", word.into())], waiting))
        });
        let help = "Requests that wait for a reply, by sender";
        self.add("mcp_protector_requests_in_flight", help, waiting);
        let help = "Requests that wait for the server's revision, its list of tools, or the end of the agent model's work for the server";
        let parked = of_servers(figures, |it| [([], it.parked)]);
        self.add("mcp_protector_calls_parked", help, parked);
    }

    fn of_sessions(&mut self, metrics: &Metrics, figures: &Gauges) {
        let states = of_servers(figures, |it| {
            let words = [
                ("up", it.up),
                ("repeating", it.repeating),
                ("down", it.down),
            ];
            words.map(|(word, are)| ([("upstream", word.into())], are))
        });
        self.add(
            "mcp_protector_sessions",
            "Conversations, by their server: up, repeating the handshake after a restart, down",
            states,
        );
        let help = "Conversations that have begun";
        self.add(
            "mcp_protector_sessions_begun",
            help,
            metrics.sessions.clone(),
        );
        if let Some(kept) = &figures.kept {
            let help = "Sessions whose state is kept beyond their conversations";
            self.gauge("mcp_protector_ratchet_sessions", help, count(kept.taken));
            let help = "The most sessions that are kept (ratchet.max_sessions); a further one has the highest level";
            self.gauge("mcp_protector_ratchet_max_sessions", help, count(kept.most));
        }
        if let Some(open) = figures.connections {
            let help = "Connections of agents over HTTP; absent on standard streams";
            self.gauge("mcp_protector_connections", help, count(open));
        }
        let help = "Servers that started, went down or were restarted, sessions that switched to the isolated server, changed definitions";
        self.add(
            "mcp_protector_upstream_state_changes",
            help,
            metrics.servers.clone(),
        );
    }

    fn of_records(&mut self, metrics: &Metrics, figures: &Gauges) {
        let audit = &figures.audit;
        let works = audit.state == LogState::Working;
        self.gauge(
            "mcp_protector_audit_working",
            "1 if records can be written",
            works,
        );
        let help = "Records that are not yet written";
        self.gauge("mcp_protector_audit_queued", help, audit.queued);
        let outcomes = [("written", audit.written), ("lost", audit.lost)];
        let help = "Records that were written, or lost during a fault";
        self.add(
            "mcp_protector_audit_records",
            help,
            counters("outcome", outcomes),
        );
        let faults = ConstCounter::new(audit.faults);
        self.add(
            "mcp_protector_audit_faults",
            "How often writing began to fail",
            faults,
        );
        let help = "Actions refused because they could not be recorded";
        self.add(
            "mcp_protector_audit_rejections",
            help,
            metrics.unrecorded.clone(),
        );
        if let Some(traces) = figures.traces {
            let outcomes = [("exported", traces.exported), ("dropped", traces.dropped)];
            let help = "Messages whose spans were exported, or dropped because the collector did not accept them in time";
            self.add(
                "mcp_protector_traced_messages",
                help,
                counters("outcome", outcomes),
            );
        }
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Into<u64>) {
        self.add(name, help, ConstGauge::new(value.into()));
    }

    fn add(&mut self, name: &str, help: &str, metric: impl Metric) {
        self.0.register(name, help, metric);
    }
}

type Numbers<N> = Family<MetricLabels<1>, N>;

/// What is so at each server.
fn of_servers<const LABELS: usize, const VALUES: usize>(
    figures: &Gauges,
    values: fn(&Sessions) -> [(MetricLabels<LABELS>, usize); VALUES],
) -> Family<ServerLabels<LABELS>, Gauge<u64, AtomicU64>> {
    let all = Family::<ServerLabels<LABELS>, Gauge<u64, AtomicU64>>::default();
    for (server, sessions) in &figures.sessions {
        for (labels, value) in values(sessions) {
            let labels = (labels, server.clone());
            all.get_or_create(&labels).set(count(value));
        }
    }
    all
}

fn gauges<const N: usize>(
    label: &'static str,
    values: [(&str, u64); N],
) -> Numbers<Gauge<u64, AtomicU64>> {
    let all = Numbers::<Gauge<u64, AtomicU64>>::default();
    for (word, value) in values {
        all.get_or_create(&[(label, word.to_owned().into())])
            .set(value);
    }
    all
}

fn counters<const N: usize>(label: &'static str, values: [(&str, u64); N]) -> Numbers<Counter> {
    let all = Numbers::<Counter>::default();
    for (word, value) in values {
        all.get_or_create(&[(label, word.to_owned().into())])
            .inc_by(value);
    }
    all
}

fn count(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}
