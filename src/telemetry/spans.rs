//! From records to spans: a message that is answered is one span, from its arrival to the record of
//! what came of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::audit::{AuditEventSummary, AuditFault, AuditObserver, Decision, Kind};
use crate::clock::Clock;
use crate::wire::SpanId;

use super::queue::{ExportFigures, FinishedSpan, OpenSpan, SpanQueue};

/// Makes spans of what is recorded.
#[derive(Debug)]
pub struct Spans {
    open: Mutex<HashMap<SpanId, OpenSpan>>,
    queue: SpanQueue,
    clock: Arc<dyn Clock>,
}

/// Requests that wait for their reply. Beyond these no more are traced until some are answered.
const MOST_OPEN: usize = 16_384;

/// The stage at which the bridge settles what goes no further.
const SETTLED: &str = "bridge";

impl Spans {
    pub(super) fn new(queue: SpanQueue, clock: Arc<dyn Clock>) -> Self {
        Self {
            open: Mutex::default(),
            queue,
            clock,
        }
    }

    pub fn figures(&self) -> ExportFigures {
        self.queue.tally().figures()
    }

    fn open(&self) -> MutexGuard<'_, HashMap<SpanId, OpenSpan>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AuditObserver for Spans {
    fn observe(&self, sighting: &AuditEventSummary, fault: Option<&AuditFault>) {
        if sighting.kind == Kind::SessionEnd {
            // Every request has its outcome before; one that had none would be kept for ever.
            let ended = |asked: &OpenSpan| asked.sighting.session == sighting.session;
            self.open().retain(|_, asked| !ended(asked));
        }
        let Some(story) = &sighting.story else { return };
        // It does not happen, and what happens instead has a record too.
        if fault.is_some() && sighting.decision == Some(Decision::Allow) {
            return;
        }
        let now = self.clock.now().as_nanosecond();
        let took = Duration::from_micros(sighting.duration_us.unwrap_or_default());
        let came = now.saturating_sub(i128::try_from(took.as_nanos()).unwrap_or(i128::MAX));
        let seen = OpenSpan {
            sighting: sighting.clone(),
            story: story.clone(),
            came: u64::try_from(came).unwrap_or_default(),
            recorded: u64::try_from(now).unwrap_or_default(),
        };
        let id = story.traced.span.own.span;
        let mut open = self.open();
        if let Some(asked) = open.remove(&id) {
            drop(open);
            let outcome = Some(seen);
            self.queue.put(FinishedSpan { asked, outcome });
        } else if waits(sighting) {
            if open.len() < MOST_OPEN {
                open.insert(id, seen);
            } else {
                drop(open);
                self.queue.tally().lose(1);
            }
        } else {
            drop(open);
            let outcome = None;
            self.queue.put(FinishedSpan {
                asked: seen,
                outcome,
            });
        }
    }
}

/// Whether the record of an outcome follows.
fn waits(sighting: &AuditEventSummary) -> bool {
    let asks = matches!(
        sighting.kind,
        Kind::ToolCall | Kind::ToolsList | Kind::Request | Kind::ServerRequest
    );
    let settled = sighting
        .stage
        .as_ref()
        .is_some_and(|stage| *stage == SETTLED);
    asks && sighting.decision == Some(Decision::Allow) && !settled
}
