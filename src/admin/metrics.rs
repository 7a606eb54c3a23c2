//! What has happened so far, in numbers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::agent::http::Health;
use crate::audit::{self, AuditFault, Decision, Direction, Event, Kind, Observe, Sighting};
use crate::memory;

use super::histogram::{Distribution, Histogram};
use super::words::{self, DECISIONS, DIRECTIONS, STAGES};

/// Microseconds: what the gate itself takes.
const OWN: [u64; 14] = [
    25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 1_000_000,
    10_000_000,
];

/// What comes of itself, and so has a time of its own.
const ASKED: [Kind; 5] = [
    Kind::ToolCall,
    Kind::ToolsList,
    Kind::Request,
    Kind::ServerRequest,
    Kind::Notification,
];

/// Microseconds: what calls take in all.
const WHOLE: [u64; 14] = [
    1_000, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    5_000_000, 10_000_000, 30_000_000, 60_000_000,
];

/// Counts what is recorded, and what never comes to a record.
#[derive(Debug)]
pub struct Metrics {
    /// By kind, decision, stage and direction; see [`slot`].
    decisions: Vec<AtomicU64>,
    /// By the kinds of [`ASKED`].
    own: [Histogram; 5],
    calls: Histogram,
    started: AtomicU64,
    died: AtomicU64,
    restarted: AtomicU64,
    isolated: AtomicU64,
    changed: AtomicU64,
    published: AtomicU64,
    rejected: AtomicU64,
    sessions: AtomicU64,
    unrecorded: AtomicU64,
    frames: Rare,
    refusals: Rare,
}

/// Counts what is rare, by words of which there are many, and so under a lock.
#[derive(Debug, Default)]
struct Rare(Mutex<BTreeMap<Vec<String>, u64>>);

/// The most that one of these tells apart. All words are ours, and there are fewer.
const MOST_WORDS: usize = 256;

/// Whose listener refused a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listening {
    Agents,
    Operators,
}

/// What is so at the moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    pub health: Health,
    /// Of the policies in force.
    pub revision: Arc<str>,
    /// Where there is a limit.
    pub memory: Option<memory::State>,
    /// Keys of the configuration that need a restart.
    pub restart: usize,
    pub sessions: Sessions,
    /// Sessions that are kept beyond their conversations, where there is an end to them.
    pub kept: Option<Places>,
    /// Of agents over HTTP, where they come so.
    pub connections: Option<usize>,
    pub audit: audit::Figures,
    /// Where traces are collected.
    pub traces: Option<Traces>,
    /// Since the gate started.
    pub seconds: f64,
}

/// How many of so many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Places {
    pub taken: usize,
    pub most: usize,
}

/// Messages whose spans reached the collector, or did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traces {
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

/// What was decided how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decided {
    pub(super) kind: Kind,
    pub(super) decision: Decision,
    pub(super) stage: &'static str,
    pub(super) direction: Option<Direction>,
    pub(super) times: u64,
}

/// Numbers without labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) started: u64,
    pub(super) died: u64,
    pub(super) restarted: u64,
    pub(super) isolated: u64,
    pub(super) changed: u64,
    pub(super) published: u64,
    pub(super) rejected: u64,
    pub(super) sessions: u64,
    pub(super) unrecorded: u64,
}

impl Default for Metrics {
    fn default() -> Self {
        let slots = Kind::ALL.len() * DECISIONS.len() * STAGES.len() * DIRECTIONS.len();
        let decisions = std::iter::repeat_with(AtomicU64::default);
        Self {
            decisions: decisions.take(slots).collect(),
            own: ASKED.map(|_| Histogram::new(&OWN)),
            calls: Histogram::new(&WHOLE),
            started: AtomicU64::default(),
            died: AtomicU64::default(),
            restarted: AtomicU64::default(),
            isolated: AtomicU64::default(),
            changed: AtomicU64::default(),
            published: AtomicU64::default(),
            rejected: AtomicU64::default(),
            sessions: AtomicU64::default(),
            unrecorded: AtomicU64::default(),
            frames: Rare::default(),
            refusals: Rare::default(),
        }
    }
}

impl Metrics {
    /// A request got no further than HTTP. The code is a word of ours.
    pub fn refused(&self, by: Listening, status: u16, code: &str) {
        let listener = match by {
            Listening::Agents => "agents",
            Listening::Operators => "admin",
        };
        self.refusals.count(&[listener, &status.to_string(), code]);
    }

    /// Those that happened.
    pub(super) fn decided(&self) -> impl Iterator<Item = Decided> + '_ {
        let all = Kind::ALL.into_iter().flat_map(|kind| {
            DECISIONS.into_iter().flat_map(move |decision| {
                STAGES.into_iter().flat_map(move |stage| {
                    DIRECTIONS
                        .into_iter()
                        .map(move |direction| (kind, decision, stage, direction))
                })
            })
        });
        all.zip(&self.decisions)
            .map(|((kind, decision, stage, direction), times)| Decided {
                kind,
                decision,
                stage,
                direction,
                times: times.load(Ordering::Relaxed),
            })
            .filter(|decided| decided.times > 0)
    }

    /// From the arrival of what a peer sent to the decision.
    pub(super) fn own(&self) -> impl Iterator<Item = (Kind, Distribution)> + '_ {
        ASKED.into_iter().zip(self.own.iter().map(Histogram::read))
    }

    /// From the arrival of a call to its outcome.
    pub(super) fn calls(&self) -> Distribution {
        self.calls.read()
    }

    /// By direction and code.
    pub(super) fn frames(&self) -> Vec<(Vec<String>, u64)> {
        self.frames.read()
    }

    /// By listener, status and code.
    pub(super) fn refusals(&self) -> Vec<(Vec<String>, u64)> {
        self.refusals.read()
    }

    pub(super) fn counts(&self) -> Counts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts {
            started: read(&self.started),
            died: read(&self.died),
            restarted: read(&self.restarted),
            isolated: read(&self.isolated),
            changed: read(&self.changed),
            published: read(&self.published),
            rejected: read(&self.rejected),
            sessions: read(&self.sessions),
            unrecorded: read(&self.unrecorded),
        }
    }

    fn count_event(&self, event: Event) {
        let count = match event {
            Event::Started => &self.started,
            Event::Down => &self.died,
            Event::Restarted => &self.restarted,
            Event::SwitchedToIsolated => &self.isolated,
            Event::DefinitionChanged => &self.changed,
            Event::Published => &self.published,
            Event::Rejected => &self.rejected,
            Event::ConsentRequested
            | Event::ConsentGranted
            | Event::ConsentDenied
            | Event::ConsentTimeout
            | Event::Cancelled => {
                return;
            }
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

impl Observe for Metrics {
    fn observe(&self, sighting: &Sighting, fault: Option<&AuditFault>) {
        if fault.is_some() {
            self.unrecorded.fetch_add(1, Ordering::Relaxed);
            return;
        }
        if let Some(event) = sighting.event {
            self.count_event(event);
        }
        if let Some(times) = slot(sighting).and_then(|slot| self.decisions.get(slot)) {
            times.fetch_add(1, Ordering::Relaxed);
        }
        match sighting.kind {
            Kind::ToolsList
            | Kind::ToolCall
            | Kind::Request
            | Kind::ServerRequest
            | Kind::Notification => {
                let asked = ASKED.iter().position(|kind| *kind == sighting.kind);
                let own = asked.and_then(|asked| self.own.get(asked));
                if let Some((own, micros)) = own.zip(sighting.duration_us) {
                    own.observe(micros);
                }
            }
            Kind::ToolResult => {
                if let Some(micros) = sighting.duration_us {
                    self.calls.observe(micros);
                }
            }
            Kind::SessionStart => {
                self.sessions.fetch_add(1, Ordering::Relaxed);
            }
            // Rejections by HTTP count separately, since not all of them have a record.
            Kind::MalformedMessage
                if STAGES.get(words::stage(sighting.stage.as_ref())) != Some(&"http") =>
            {
                let code = sighting.code.as_ref().map_or("other", |code| code.as_str());
                self.frames
                    .count(&[words::direction(sighting.direction), code]);
            }
            Kind::MalformedMessage
            | Kind::Startup
            | Kind::GateDecision
            | Kind::Consent
            | Kind::UpstreamState
            | Kind::PolicyReload
            | Kind::AuditGap
            | Kind::SessionEnd
            | Kind::Shutdown => {}
        }
    }
}

impl Rare {
    fn count(&self, words: &[&str]) {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let mut counts = self.lock();
        if counts.len() < MOST_WORDS || counts.contains_key(&words) {
            *counts.entry(words).or_default() += 1;
        }
    }

    fn read(&self) -> Vec<(Vec<String>, u64)> {
        let counts = self.lock();
        let copied = counts.iter().map(|(words, count)| (words.clone(), *count));
        copied.collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Vec<String>, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a decision is counted; the order is that of [`Metrics::decided`].
fn slot(sighting: &Sighting) -> Option<usize> {
    let decision = sighting.decision?;
    let kind = Kind::ALL.iter().position(|it| *it == sighting.kind)?;
    let decision = DECISIONS.iter().position(|it| *it == decision)?;
    let stage = words::stage(sighting.stage.as_ref());
    let direction = DIRECTIONS.iter().position(|it| *it == sighting.direction)?;
    let kind = kind * DECISIONS.len() + decision;
    Some((kind * STAGES.len() + stage) * DIRECTIONS.len() + direction)
}
