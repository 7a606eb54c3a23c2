//! What has happened so far, in numbers. Every label has words of ours alone, so that no peer makes a
//! time series.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;

use crate::agent::http::Health;
use crate::audit::{self, AuditEventSummary, AuditFault, AuditObserver, Event, Kind};
use crate::memory;

/// Seconds: what the gate itself takes.
const OWN: [f64; 14] = [
    25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 1.0,
    10.0,
];

/// What comes of itself, and so has a time of its own.
const ASKED: [Kind; 5] = [
    Kind::ToolCall,
    Kind::ToolsList,
    Kind::Request,
    Kind::ServerRequest,
    Kind::Notification,
];

/// Seconds: what calls take in all.
const WHOLE: [f64; 14] = [
    1e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];

/// The steps that records name (`docs/audit-log-schema.md`); any other is `other`.
const STAGES: [&str; 15] = [
    "decode",
    "correlate",
    "classify",
    "decide",
    "limit",
    "rewrite",
    "record",
    "forward",
    "cached_result",
    "egress",
    "bridge",
    "inspect",
    "deliver",
    "http",
    "reload",
];

/// The most time series of one metric whose words are not all listed here.
const MOST_WORDS: usize = 256;

/// Labels with their values.
pub(super) type MetricLabels<const N: usize> = [(&'static str, Cow<'static, str>); N];

/// Counts what is recorded, and what never comes to a record.
#[derive(Debug)]
pub struct Metrics {
    pub(super) decisions: Family<MetricLabels<4>, Counter>,
    /// From the arrival of what a peer sent to the decision, for each of [`ASKED`].
    pub(super) own: Family<MetricLabels<1>, Histogram>,
    /// From the arrival of a call to its outcome.
    pub(super) calls: Histogram,
    pub(super) servers: Family<MetricLabels<1>, Counter>,
    pub(super) reloads: Family<MetricLabels<1>, Counter>,
    pub(super) sessions: Counter,
    pub(super) unrecorded: Counter,
    pub(super) frames: Family<MetricLabels<2>, Counter>,
    /// Time series of `frames`.
    frame_words: AtomicUsize,
    pub(super) refusals: Family<MetricLabels<3>, Counter>,
}

/// Whose listener refused a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listening {
    Agents,
    Operators,
}

/// What is so at the moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Gauges {
    pub health: Health,
    /// Of the policies in force.
    pub revision: Arc<str>,
    /// Where there is a limit.
    pub memory: Option<memory::MemoryState>,
    /// Keys of the configuration that need a restart.
    pub restart: usize,
    pub sessions: Sessions,
    /// Sessions that are kept beyond their conversations, where there is an end to them.
    pub kept: Option<Occupancy>,
    /// Of agents over HTTP, where they come so.
    pub connections: Option<usize>,
    pub audit: audit::LogFigures,
    /// Where traces are collected.
    pub traces: Option<TraceCounts>,
    /// Since the gate started.
    pub seconds: f64,
}

/// How many of so many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occupancy {
    pub taken: usize,
    pub most: usize,
}

/// Messages whose spans reached the collector, or did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TraceCounts {
    pub exported: u64,
    pub dropped: u64,
}

/// Conversations of the moment, by what can be said of their servers; and what waits in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sessions {
    pub up: usize,
    pub repeating: usize,
    pub down: usize,
    /// Requests of agents that wait for their reply.
    pub in_flight: usize,
    /// Requests that wait until it is known what the server speaks, or which tools there are, or until the agent's model has worked for the server.
    pub parked: usize,
    /// Requests of servers that wait for their reply.
    pub asked: usize,
}

impl Default for Metrics {
    fn default() -> Self {
        let of_words = |label: &'static str, words: &[&'static str]| {
            let counts = Family::<MetricLabels<1>, Counter>::default();
            for word in words {
                drop(counts.get_or_create(&[(label, Cow::Borrowed(*word))]));
            }
            counts
        };
        let servers = [
            Event::Started,
            Event::Down,
            Event::Restarted,
            Event::SwitchedToIsolated,
            Event::DefinitionChanged,
        ];
        let own = Family::new_with_constructor((|| Histogram::new(OWN)) as fn() -> Histogram);
        for kind in ASKED {
            drop(own.get_or_create(&[("kind", kind.as_str().into())]));
        }
        Self {
            decisions: Family::default(),
            own,
            calls: Histogram::new(WHOLE),
            servers: of_words("event", &servers.map(Event::as_str)),
            reloads: of_words("outcome", &["published", "rejected"]),
            sessions: Counter::default(),
            unrecorded: Counter::default(),
            frames: Family::default(),
            frame_words: AtomicUsize::default(),
            refusals: Family::default(),
        }
    }
}

impl Metrics {
    /// A request got no further than HTTP. The code is a word of ours.
    pub fn refused(&self, by: Listening, status: u16, code: &'static str) {
        let listener = match by {
            Listening::Agents => "agents",
            Listening::Operators => "admin",
        };
        let labels = [
            ("listener", listener.into()),
            ("status", status.to_string().into()),
            ("code", code.into()),
        ];
        self.refusals.get_or_create(&labels).inc();
    }

    fn count_event(&self, event: Event) {
        let word = event.as_str();
        match event {
            Event::Started
            | Event::Down
            | Event::Restarted
            | Event::SwitchedToIsolated
            | Event::DefinitionChanged => {
                self.servers.get_or_create(&[("event", word.into())]).inc();
            }
            Event::Published | Event::Rejected => {
                self.reloads
                    .get_or_create(&[("outcome", word.into())])
                    .inc();
            }
            Event::ConsentRequested
            | Event::ConsentGranted
            | Event::ConsentDenied
            | Event::ConsentTimeout
            | Event::Cancelled => {}
        }
    }

    /// The codes of malformed messages are listed nowhere, so their number has a limit.
    fn count_frame(&self, labels: &MetricLabels<2>) {
        let is_new = self.frames.get(labels).is_none();
        if !is_new || self.frame_words.fetch_add(1, Ordering::Relaxed) < MOST_WORDS {
            self.frames.get_or_create(labels).inc();
        }
    }
}

impl AuditObserver for Metrics {
    fn observe(&self, sighting: &AuditEventSummary, fault: Option<&AuditFault>) {
        if fault.is_some() {
            self.unrecorded.inc();
            return;
        }
        if let Some(event) = sighting.event {
            self.count_event(event);
        }
        let kind = sighting.kind;
        let named = sighting.stage.as_ref();
        let named = named.and_then(|named| STAGES.iter().find(|stage| *named == ***stage));
        let stage = named.copied().unwrap_or("other");
        let direction = sighting.direction.map_or("gate", audit::Direction::as_str);
        if let Some(decision) = sighting.decision {
            let labels = [
                ("kind", kind.as_str().into()),
                ("decision", decision.as_str().into()),
                ("stage", stage.into()),
                ("direction", direction.into()),
            ];
            self.decisions.get_or_create(&labels).inc();
        }
        let seconds = sighting.duration_us.map(seconds);
        // Rejections by HTTP count separately, since not all of them have a record.
        if kind == Kind::MalformedMessage && stage != "http" {
            let code = sighting.code.as_ref().map_or("other", |code| code.as_str());
            let code = code.to_owned().into();
            self.count_frame(&[("direction", direction.into()), ("code", code)]);
        } else if kind == Kind::SessionStart {
            self.sessions.inc();
        } else if let Some(seconds) = seconds {
            if kind == Kind::ToolResult {
                self.calls.observe(seconds);
            } else if ASKED.contains(&kind) {
                let own = self.own.get_or_create(&[("kind", kind.as_str().into())]);
                own.observe(seconds);
            }
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "exact up to 285 years of microseconds"
)]
fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}
