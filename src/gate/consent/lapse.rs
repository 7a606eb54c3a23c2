//! Ends questions that agents have taken along and do not bring back.

use tracing::error;

use crate::audit::{self, Event};
use crate::consent::{Outcome, TicketId};
use crate::session::Session;

use crate::gate::Gate;
use crate::gate::faults::UpstreamFault;
use crate::gate::rejection::Rejection;

use super::along::settled;

impl Gate {
    /// Records the ends of questions with which no agent comes back in time, until the gate has stopped.
    /// Then it ends all of them, since no agent can come back.
    pub async fn end_questions_until(&self, stopped: impl Future<Output = ()>) {
        tokio::pin!(stopped);
        let Some(desk) = &self.people.desk else {
            return stopped.await;
        };
        loop {
            // What is being recorded is not given up.
            tokio::select! {
                () = &mut stopped => break,
                () = self.people.along.may_lapse() => {}
            }
            self.end_along(desk.take_lapsed()).await;
        }
        desk.stop();
        self.end_along(desk.take_along()).await;
    }

    pub(in crate::gate) async fn end_along(&self, ended: Vec<(TicketId, Outcome)>) {
        for (ticket, outcome) in ended {
            if let Some(record) = self.people.along.take(&ticket) {
                self.end_question(settled(*record, &outcome)).await;
            }
        }
    }

    /// Ends those of a session that is over, whose agent cannot come back.
    pub(in crate::gate) async fn end_questions_of(&self, session: &Session) {
        let Some(desk) = &self.people.desk else {
            return;
        };
        let why = Rejection::from(UpstreamFault::SessionOver);
        for ticket in self.people.along.of_session(session.id.as_str()) {
            let Some(mut record) = self.people.along.take(&ticket) else {
                continue;
            };
            if let Some(outcome) = desk.withdraw(&ticket) {
                self.end_question(settled(*record, &outcome)).await;
            } else {
                record.event = Some(Event::Cancelled);
                record.reason = audit::Reason::code(why.reason()).with_text(why.to_string());
                self.end_question(*record).await;
            }
        }
    }

    async fn end_question(&self, record: audit::Record) {
        if let Err(fault) = self.recorder.record(record).await {
            error!("the end of a question could not be recorded: {fault}");
        }
    }
}
