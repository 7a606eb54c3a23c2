//! The records that a message may come to.

use std::sync::Arc;
use std::time::Duration;

use crate::audit::{self, Kind, Record, TargetStatus, Text};
use crate::policy::{Denial, DenialCause, OnDeny, Reason};
use crate::session::Attempt;
use crate::wire::{KnownMethod, Side};

use crate::gate::rejection::Rejection;
use crate::gate::stage::Stage;

use super::{AnswerTo, Trail, kind};

const NO_CONSENT_SECTION: &str =
    "a person's approval would lift this, but the gate cannot ask: there is no `[consent]`";

/// What records call a call that the server does not take because of headers that the gate has made, and
/// that it is made once more.
const NOT_TAKEN: &str = "headers_refused";
const CALLED_AGAIN: &str = "retried";

impl Trail {
    /// The record of a message that is about to leave.
    pub(in crate::gate) fn passed(&self, to: Side, now: Duration) -> Record {
        let stage = match to {
            Side::Agent => Stage::Deliver,
            Side::Upstream => Stage::Forward,
        };
        let mut record = self.record.clone();
        if self.retry.attempt == Attempt::Second {
            record.kind = Kind::GateDecision;
            record.reason = audit::Reason::code(CALLED_AGAIN);
        }
        record.decision = Some(audit::Decision::Allow);
        record.consent = self.consent_of_passing();
        record.stage = Some(stage.name().into());
        record.duration_us = Some(self.micros(now));
        record.traced = self.traced(None, TargetStatus::Known);
        record
    }

    /// The record of a reply to the gate itself.
    pub(in crate::gate) fn taken_in(&self, now: Duration) -> Record {
        let mut record = self.passed(Side::Agent, now);
        record.stage = Some(Stage::Inspect.name().into());
        record
    }

    /// The record of a reply that says that a call was not taken: no outcome, since it is made once more.
    pub(in crate::gate) fn not_taken(&self, now: Duration) -> Record {
        let mut record = self.passed(Side::Agent, now);
        record.kind = Kind::GateDecision;
        record.stage = Some(Stage::Inspect.name().into());
        record.reason = audit::Reason::code(NOT_TAKEN);
        record
    }

    /// The record of a message that the bridge settles: it was judged, and goes no further.
    pub(in crate::gate) fn settled(&self, now: Duration) -> Record {
        let mut record = self.passed(Side::Upstream, now);
        record.stage = Some(Stage::Bridge.name().into());
        record
    }

    /// The record of a message that the gate answers with what it keeps.
    pub(in crate::gate) fn kept(&self, now: Duration) -> Record {
        let mut record = self.passed(Side::Upstream, now);
        record.stage = Some(Stage::Kept.name().into());
        record
    }

    /// The message was recorded as allowed. What still goes wrong is its outcome.
    pub(in crate::gate) fn departed(&mut self) {
        if let (Some(method), Kind::ToolCall | Kind::ToolsList | Kind::Request) =
            (self.envelope.method, self.record.kind)
        {
            self.record.kind = kind::of_outcome(method);
        }
    }

    /// The record of a message that does not leave.
    pub(in crate::gate) fn refused(&self, refusal: &Rejection, now: Duration) -> Record {
        let mut record = self.record.clone();
        if self.retry.attempt == Attempt::Second {
            let method = KnownMethod::ToolsCall;
            record.kind = kind::of_outcome(method);
            // Without memory it has not been decoded.
            record.method = Some(method.name().into());
        }
        // The agent does not get it.
        record.result = None;
        record.decision = Some(refusal.decision());
        record.consent = self.consent_of_refusal(refusal);
        record.duration_us = Some(self.micros(now));
        record.stage = Some(refusal.stage().name().into());
        record.reason.code = Some(refusal.reason().into());
        record.reason.text = Some(refusal.to_string().into());
        record.error_code = self.answered(refusal);
        if let Some(denial) = refusal.denial() {
            explain(&mut record, denial);
        }
        if refusal.missing_consent().is_some() {
            record.reason.code = Some(refusal.reason().into());
            record.reason.text = Some(refusal.to_string().into());
        }
        // A tool that does not exist is answered otherwise, and what else is named may be anything.
        let denied = refusal.open_denial().is_some();
        let named = if denied && self.envelope.method == Some(KnownMethod::ToolsCall) {
            TargetStatus::Known
        } else {
            TargetStatus::Unproven
        };
        let method = self.record.method.as_ref().map(Text::as_str);
        record.traced = self.traced(method, named);
        record
    }

    /// The code of the error that is answered, if anybody is.
    fn answered(&self, refusal: &Rejection) -> Option<i64> {
        let answer = match &self.envelope.answer_to {
            AnswerTo::None => return None,
            AnswerTo::Asker(side, _) => refusal.answer(*side, &self.ids.reference),
            AnswerTo::Waiting(side, _) => refusal.answer_waiting(*side, &self.ids.reference),
            AnswerTo::Unreadable => refusal.answer(Side::Agent, &self.ids.reference),
        };
        Some(answer.code)
    }

    fn micros(&self, now: Duration) -> u64 {
        u64::try_from(now.saturating_sub(self.received.started).as_micros()).unwrap_or(u64::MAX)
    }
}

/// Why policy denies it.
pub(in crate::gate) fn explain(record: &mut Record, denial: &Denial) {
    let first = |get: fn(&Reason) -> Option<&Arc<str>>| denial.first(get);
    record.policies = super::named_once(&denial.reasons);
    record.reason.advice = first(|reason| reason.advice.as_ref()).map(Into::into);
    if let Some(code) = first(|reason| reason.code.as_ref()) {
        record.reason.code = Some(code.into());
    }
    match denial.remedy() {
        Some(OnDeny::AskConsent) => record.reason.text = Some(NO_CONSENT_SECTION.into()),
        None => {}
    }
    if let DenialCause::Fault(fault) = &denial.cause {
        record.reason.code = Some("engine_fault".into());
        record.reason.text = Some(fault.to_string().into());
    }
}
