//! Questions that their agents have taken along. An agent without a session may never come back with
//! one; its end is in the audit all the same.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tracing::error;

use crate::audit;
use crate::consent::{Outcome, TicketId};

use super::super::Gate;
use super::answers::settled;

/// How often is looked whether the time of one is over.
const LOOK: Duration = Duration::from_secs(1);

/// The record that each of them ends with; as many as questions may wait.
#[derive(Debug, Default)]
pub(in crate::gate) struct Along {
    records: Mutex<BTreeMap<TicketId, Box<audit::Record>>>,
    some: Notify,
}

impl Along {
    fn records(&self) -> MutexGuard<'_, BTreeMap<TicketId, Box<audit::Record>>> {
        // A map is whole between its calls.
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, ticket: TicketId, record: audit::Record) {
        self.records().insert(ticket, Box::new(record));
        self.some.notify_one();
    }

    /// Somebody has come back with it; `false` when its end is recorded already.
    pub(super) fn has_come_back(&self, ticket: &TicketId) -> bool {
        self.records().remove(ticket).is_some()
    }
}

impl Gate {
    /// Records the ends of questions with which nobody has come back in time.
    pub async fn keep_ending_questions(&self) -> Infallible {
        let Some(desk) = &self.desk else {
            return pending().await;
        };
        loop {
            self.along.some.notified().await;
            while !self.along.records().is_empty() {
                tokio::time::sleep(LOOK).await;
                self.end_questions_along(desk.take_lapsed()).await;
            }
        }
    }

    /// Records the ends of all questions with which nobody has come back: nobody can any more.
    pub async fn end_all_questions(&self) {
        if let Some(desk) = &self.desk {
            self.end_questions_along(desk.take_along()).await;
        }
    }

    pub(in crate::gate) async fn end_questions_along(&self, ended: Vec<(TicketId, Outcome)>) {
        for (ticket, outcome) in ended {
            let Some(record) = self.along.records().remove(&ticket) else {
                continue;
            };
            let record = self.concealed(settled(*record, &outcome));
            if let Err(fault) = self.audit.record(record).await {
                error!("the end of a question could not be recorded: {fault}");
            }
        }
    }
}
