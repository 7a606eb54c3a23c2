//! What has happened so far, in numbers. Every label has words of ours alone, or the key of a server in the
//! configuration, so that no peer makes a time series.

use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use prometheus_client::encoding::{EncodeLabel, EncodeLabelSet, LabelSetEncoder};
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

/// The same of one server.
pub(super) type ServerLabels<const N: usize> = (MetricLabels<N>, ServerLabel);

/// The key of a server, where there are several.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServerLabel(pub Option<Arc<str>>);

impl EncodeLabelSet for ServerLabel {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> fmt::Result {
        match &self.0 {
            Some(key) => ("server", &**key).encode(encoder.encode_label()),
            None => Ok(()),
        }
    }
}

/// Counts what is recorded, and what never comes to a record.
#[derive(Debug)]
pub struct Metrics {
    /// The keys of several servers, those included that are gone.
    keys: RwLock<Vec<Arc<str>>>,
    pub(super) decisions: Family<ServerLabels<4>, Counter>,
    /// From the arrival of what a peer sent to the decision, for each of [`ASKED`].
    pub(super) own: Family<ServerLabels<1>, Histogram>,
    /// From the arrival of a call to its outcome.
    pub(super) calls: Family<ServerLabels<0>, Histogram>,
    pub(super) servers: Family<ServerLabels<1>, Counter>,
    pub(super) reloads: Family<ServerLabels<1>, Counter>,
    pub(super) sessions: Family<ServerLabels<0>, Counter>,
    pub(super) unrecorded: Counter,
    pub(super) frames: Family<ServerLabels<2>, Counter>,
    /// Time series of `frames`.
    frame_words: AtomicUsize,
    pub(super) refusals: Family<ServerLabels<3>, Counter>,
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
    /// Of each server.
    pub sessions: Vec<(ServerLabel, Sessions)>,
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

impl Metrics {
    /// Those of a gate before servers with these keys; none where there is one server without a key.
    pub fn of_servers(keys: Vec<Arc<str>>) -> Self {
        let labels = labels_of(&keys);
        let of_words = |label: &'static str, words: &[&'static str]| {
            let counts = Family::<ServerLabels<1>, Counter>::default();
            for (word, server) in each(words, &labels) {
                drop(counts.get_or_create(&([(label, word.into())], server)));
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
        for (word, server) in each(&ASKED.map(Kind::as_str), &labels) {
            drop(own.get_or_create(&([("kind", word.into())], server)));
        }
        let calls = Family::new_with_constructor((|| Histogram::new(WHOLE)) as fn() -> Histogram);
        let sessions = Family::<ServerLabels<0>, Counter>::default();
        for server in &labels {
            drop(calls.get_or_create(&([], server.clone())));
            drop(sessions.get_or_create(&([], server.clone())));
        }
        Self {
            decisions: Family::default(),
            own,
            calls,
            servers: of_words("event", &servers.map(Event::as_str)),
            reloads: of_words("outcome", &["published", "rejected"]),
            sessions,
            unrecorded: Counter::default(),
            frames: Family::default(),
            frame_words: AtomicUsize::default(),
            refusals: Family::default(),
            keys: RwLock::new(keys),
        }
    }

    /// Counts for a server that is added, too.
    pub fn add_server(&self, key: Arc<str>) {
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }

    /// The label of each server: none if there is one.
    pub fn server_labels(&self) -> Vec<ServerLabel> {
        labels_of(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// That of the server that a record names, as the open one or as an isolated one.
    fn label(&self, upstream: Option<&audit::Text>) -> ServerLabel {
        let is_of = |key: &str| {
            let rest = upstream.and_then(|name| name.as_str().strip_prefix(key));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        ServerLabel(keys.iter().find(|key| is_of(key)).cloned())
    }

    /// A request got no further than HTTP, at the endpoint of one of several servers or at none. The code is a word of
    /// ours.
    pub fn refused(&self, by: Listening, server: ServerLabel, status: u16, code: &'static str) {
        let listener = match by {
            Listening::Agents => "agents",
            Listening::Operators => "admin",
        };
        let labels = [
            ("listener", listener.into()),
            ("status", status.to_string().into()),
            ("code", code.into()),
        ];
        self.refusals.get_or_create(&(labels, server)).inc();
    }

    fn count_event(&self, event: Event, server: &ServerLabel) {
        let word = event.as_str();
        match event {
            Event::Started
            | Event::Down
            | Event::Restarted
            | Event::SwitchedToIsolated
            | Event::DefinitionChanged => {
                let labels = ([("event", word.into())], server.clone());
                self.servers.get_or_create(&labels).inc();
            }
            Event::Published | Event::Rejected => {
                let labels = ([("outcome", word.into())], server.clone());
                self.reloads.get_or_create(&labels).inc();
            }
            Event::ConsentRequested
            | Event::ConsentGranted
            | Event::ConsentDenied
            | Event::ConsentTimeout
            | Event::Cancelled => {}
        }
    }

    /// The codes of malformed messages are listed nowhere, so their number has a limit.
    fn count_frame(&self, labels: &ServerLabels<2>) {
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
        let server = self.label(sighting.upstream.as_ref());
        if let Some(event) = sighting.event {
            self.count_event(event, &server);
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
            let labels = (labels, server.clone());
            self.decisions.get_or_create(&labels).inc();
        }
        let seconds = sighting.duration_us.map(seconds);
        // Rejections by HTTP count separately, since not all of them have a record.
        if kind == Kind::MalformedMessage && stage != "http" {
            let code = sighting.code.as_ref().map_or("other", |code| code.as_str());
            let code = code.to_owned().into();
            let labels = [("direction", direction.into()), ("code", code)];
            self.count_frame(&(labels, server));
        } else if kind == Kind::SessionStart {
            self.sessions.get_or_create(&([], server)).inc();
        } else if let Some(seconds) = seconds {
            if kind == Kind::ToolResult {
                self.calls.get_or_create(&([], server)).observe(seconds);
            } else if ASKED.contains(&kind) {
                let labels = ([("kind", kind.as_str().into())], server);
                self.own.get_or_create(&labels).observe(seconds);
            }
        }
    }
}

fn labels_of(keys: &[Arc<str>]) -> Vec<ServerLabel> {
    match keys {
        [] => vec![ServerLabel(None)],
        keys => keys.iter().cloned().map(Some).map(ServerLabel).collect(),
    }
}

/// Each word with each server.
fn each<'w>(
    words: &'w [&'static str],
    servers: &'w [ServerLabel],
) -> impl Iterator<Item = (&'static str, ServerLabel)> + use<'w> {
    let of_word = |word: &'w &'static str| servers.iter().map(|server| (*word, server.clone()));
    words.iter().flat_map(of_word)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "exact up to 285 years of microseconds"
)]
fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}
