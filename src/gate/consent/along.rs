//! Questions that their agents have taken along. An agent without a session may never come back with
//! one; its end is in the audit all the same.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::audit::{self, Event};
use crate::consent::{Outcome, TicketId};

use super::why::Unconsented;

/// How often is looked whether the time of one is over.
const LOOK: Duration = Duration::from_secs(1);

/// The record that each question ends with, at most as many as questions may wait. The caller that takes a
/// record out writes it.
#[derive(Debug, Default)]
pub struct Along {
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

    /// Takes out the record of a question that ends; `None` when it has ended already.
    pub(super) fn take(&self, ticket: &TicketId) -> Option<Box<audit::Record>> {
        self.records().remove(ticket)
    }

    /// Ends a question with which its agent has come back: what it brings is the end. `false` when the
    /// question has ended already.
    pub(super) fn has_come_back(&self, ticket: &TicketId) -> bool {
        self.take(ticket).is_some()
    }

    /// Waits until one of them may be over.
    pub(super) async fn may_lapse(&self) {
        while self.records().is_empty() {
            self.some.notified().await;
        }
        tokio::time::sleep(LOOK).await;
    }

    pub(super) fn of_session(&self, session: &str) -> Vec<TicketId> {
        let records = self.records();
        let is_its = |record: &audit::Record| {
            let id = record.session_id.as_ref();
            id.is_some_and(|id| id.as_str() == session)
        };
        let its = records.iter().filter(|(_, record)| is_its(record));
        its.map(|(ticket, _)| ticket.clone()).collect()
    }
}

/// The record of a question that came to this.
pub(super) fn settled(mut record: audit::Record, outcome: &Outcome) -> audit::Record {
    let (event, by) = match outcome {
        Outcome::Granted(receipt) => (Event::ConsentGranted, Some(receipt.by())),
        Outcome::Denied(by) => (Event::ConsentDenied, Some(by)),
        Outcome::TimedOut => (Event::ConsentTimeout, None),
        Outcome::Withdrawn(void) => {
            let code = Unconsented::withdrawn(*void).code();
            record.reason = audit::Reason::code(code).with_text(void.to_string());
            (Event::Cancelled, None)
        }
    };
    record.event = Some(event);
    if let Some(consent) = &mut record.consent {
        consent.by = by.map(|by| by.to_string().into());
    }
    record
}
