//! What the audit will say of a message: gathered step by step, written before it leaves.

use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::audit::{self, Kind, Record};
use crate::policy::PolicySnapshot;
use crate::policy::{Denial, DenialCause, OnDeny, Reason};
use crate::session::{Asker, Exchange, Origin, Target};
use crate::wire::{KnownMethod, Likeness, Message, Shape, Side, Stream, Value, WireError};

use super::decide::Allowed;
use super::identify::{Identified, Role, asker};
use super::oblige::Obliged;
use super::own::Occasion;
use super::refuse::Refusal;
use super::stage::Stage;
use super::talk::Talk;
use super::understand::Understood;

/// The keys of `_meta` by which an agent's own systems know a piece of work.
const CORRELATION: [&str; 6] = [
    "mcp-protector/job_id",
    "mcp-protector/trace_id",
    "mcp-protector/workflow_run_id",
    "mcp-protector/task_id",
    "mcp-protector/session_id",
    "traceparent",
];

/// How a message came.
#[derive(Debug, Clone, Copy)]
pub(super) struct Came {
    pub(super) from: Side,
    pub(super) stream: Stream,
    /// Time since the clock was made.
    pub(super) at: Duration,
}

/// One message on its way through the gate.
#[derive(Debug)]
pub(super) struct Trail {
    pub(super) reference: Arc<str>,
    /// Who is told when the message does not pass.
    pub(super) answer_to: AnswerTo,
    /// The method that was asked for, if it was a known one.
    pub(super) method: Option<KnownMethod>,
    /// Set when the message was to be the reply to a request of the gate's own.
    pub(super) asked_by_gate: Option<Origin>,
    /// What the agent's own systems call this piece of work: keys of [`CORRELATION`], and values.
    pub(super) correlation: Vec<(&'static str, String)>,
    /// The revision that its sender speaks.
    pub(super) version: Option<Arc<str>>,
    /// What it is about, once that is understood.
    pub(super) target: Target,
    /// When it came.
    pub(super) started: Duration,
    /// The stream on which an answer is waited for.
    pub(super) stream: Stream,
    record: Record,
}

/// Who is told when a message does not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AnswerTo {
    Nobody,
    /// The one who asked, under its own id.
    Asker(Side, Asker),
    /// The one who waits for the reply that the message was to be, under its own id.
    Waiting(Side, Asker),
    /// The sender of something whose id could not be read.
    Unreadable,
}

impl Trail {
    pub(super) fn begin<U, A>(talk: &Talk<U, A>, came: Came) -> Self {
        let Came { from, stream, at } = came;
        let reference = talk.next_reference();
        let record = Record::new(Kind::Frame)
            .within(&talk.scope())
            .reference(&reference)
            .direction(match from {
                Side::Agent => audit::Direction::AgentToUpstream,
                Side::Upstream => audit::Direction::UpstreamToAgent,
            });
        // A frame that cannot be read may have been a request of the agent's; an upstream that
        // cannot write has nothing to learn from an answer.
        let answer_to = match from {
            Side::Agent => AnswerTo::Unreadable,
            Side::Upstream => AnswerTo::Nobody,
        };
        Self {
            reference,
            answer_to,
            method: None,
            asked_by_gate: None,
            correlation: Vec::new(),
            version: None,
            target: Target::Server,
            started: at,
            stream,
            record,
        }
    }

    /// The outcome of a request that got no reply.
    pub(super) fn outcome<U, A>(talk: &Talk<U, A>, exchange: &Exchange) -> Self {
        let record = Record::new(outcome_kind(exchange.method)).within(&talk.scope());
        let mut trail = Self {
            reference: Arc::clone(&exchange.reference),
            answer_to: AnswerTo::Nobody,
            method: Some(exchange.method),
            asked_by_gate: None,
            correlation: Vec::new(),
            version: None,
            target: Target::Server,
            started: exchange.started,
            stream: exchange.stream,
            record,
        };
        trail.answers(exchange);
        trail
    }

    /// The message could be read; what it is stands in its envelope.
    pub(super) fn decoded<U, A>(&mut self, talk: &Talk<U, A>, message: &Message, from: Side) {
        let (kind, answer_to) = match message.shape() {
            Shape::Request { id, method } => (
                request_kind(method.name(), from),
                AnswerTo::Asker(from, asker(&talk.session, from, id, self.stream)),
            ),
            Shape::Notification { .. } => (Kind::Notification, AnswerTo::Nobody),
            Shape::Reply { .. } => (Kind::GateDecision, AnswerTo::Nobody),
        };
        self.record.kind = kind;
        self.answer_to = answer_to;
        self.record.method = message.method().map(|method| method.name().into());
        if let Some(meta) = message.meta() {
            self.correlate(meta);
        }
    }

    /// The answer cannot be given under the id of the request.
    pub(super) fn cannot_repeat_its_id(&mut self, from: Side) {
        self.answer_to = match from {
            Side::Agent => AnswerTo::Unreadable,
            Side::Upstream => AnswerTo::Nobody,
        };
    }

    /// The frame could not be read. If its id could, its sender learns of it; and if it was to be
    /// the reply to a request, the one who asked does.
    pub(super) fn undecodable<U, A>(&mut self, talk: &Talk<U, A>, from: Side, error: &WireError) {
        let Some(id) = &error.id else { return };
        let taken = match (from, error.likeness) {
            // Ids of the two sides may be equal: what asks, or may have been meant to, answers
            // nothing; and what answers is not itself answered.
            (Side::Upstream, Likeness::Reply | Likeness::Neither) => {
                talk.session.state().to_upstream.take(id)
            }
            (Side::Upstream, Likeness::Question | Likeness::Nothing) => None,
            (Side::Agent, Likeness::Reply) => {
                self.answer_to = AnswerTo::Nobody;
                talk.session.state().to_agent.take(id)
            }
            (Side::Agent, Likeness::Question | Likeness::Neither | Likeness::Nothing) => {
                let asker = talk.session.asker(id, self.stream);
                self.answer_to = AnswerTo::Asker(Side::Agent, asker);
                None
            }
        };
        if let Some(taken) = taken {
            self.record.kind = outcome_kind(taken.exchange.method);
            self.replies(&taken.exchange, from);
        }
    }

    /// What the gate says of its own accord.
    pub(super) fn own<U, A>(talk: &Talk<U, A>, occasion: &Occasion<'_>, started: Duration) -> Self {
        let came = Came {
            from: Side::Agent,
            stream: Stream::MAIN,
            at: started,
        };
        let mut trail = Self::begin(talk, came);
        let method = occasion.method();
        trail.answer_to = AnswerTo::Nobody;
        trail.method = Some(method);
        trail.record.kind = if method.is_request() {
            Kind::GateDecision
        } else {
            Kind::Notification
        };
        trail.record.method = Some(method.name().into());
        trail.record.direction = None;
        trail.record.reason = audit::Reason {
            code: Some(occasion.code().into()),
            text: occasion.text().map(Into::into),
            advice: None,
        };
        trail
    }

    /// The message will get no reply, whatever was begun for it.
    pub(super) fn forget<U, A>(&self, talk: &Talk<U, A>) {
        if let AnswerTo::Asker(side, asker) = &self.answer_to {
            let mut state = talk.session.state();
            let table = match side {
                Side::Agent => &mut state.to_upstream,
                Side::Upstream => &mut state.to_agent,
            };
            table.take_by_asker(asker);
        }
    }

    pub(super) fn shadowed(&mut self, shadow: Option<audit::Shadow>) {
        self.record.shadow = shadow;
    }

    /// The message has its place: a reply speaks for the request that it answers.
    pub(super) fn identified(&mut self, identified: &Identified<'_>, from: Side) {
        match &identified.role {
            Role::Request { method, .. } | Role::Notification { method } => {
                self.method = Some(*method);
                self.version = Some(Arc::clone(&identified.scene.spoken.version));
            }
            Role::Reply(taken) => {
                self.record.kind = outcome_kind(taken.exchange.method);
                self.replies(&taken.exchange, from);
                let error = identified.message.error();
                let code = error
                    .and_then(|error| error.get("code"))
                    .and_then(Value::as_i64);
                self.record.error_code = code;
            }
        }
    }

    pub(super) fn understood(&mut self, understood: &Understood<'_>) {
        match &understood.identified.role {
            Role::Request { .. } => self.asks(&understood.target, understood.identified.message),
            Role::Notification { .. } | Role::Reply(_) => self.about(&understood.target),
        }
    }

    /// A request about this.
    pub(super) fn asks(&mut self, target: &Target, message: &Message) {
        self.about(target);
        if let Target::Tool(_) | Target::Prompt(_) = target {
            let arguments = message.params().and_then(|params| params.get("arguments"));
            self.record.arguments_digest = arguments.map(|value| digest(value.text()).into());
        }
    }

    pub(super) fn judged_under(&mut self, snapshot: &PolicySnapshot) {
        self.record.revision = Some(snapshot.revision().as_str().into());
    }

    pub(super) fn allowed(&mut self, allowed: &Allowed) {
        let reasons = allowed
            .allowances
            .iter()
            .flat_map(|allowance| &allowance.reasons);
        self.record.policies = reasons
            .map(|reason| reason.policy.as_str().into())
            .collect();
    }

    pub(super) fn obliged(&mut self, obliged: &mut Obliged) {
        self.record.edits = std::mem::take(&mut obliged.edits);
        let obligations = std::mem::take(&mut obliged.obligations);
        self.record.obligations = obligations.into_iter().map(Into::into).collect();
        self.record.redactions = obliged.redactions.iter().map(|&rule| rule.into()).collect();
    }

    /// The record of a message that is about to leave.
    pub(super) fn passed(&self, to: Side, now: Duration) -> Record {
        let stage = match to {
            Side::Agent => Stage::Deliver,
            Side::Upstream => Stage::Forward,
        };
        let mut record = self.record.clone();
        record.decision = Some(audit::Decision::Allow);
        record.stage = Some(stage.name().into());
        record.duration_us = Some(self.micros(now));
        record
    }

    /// The record of a reply to the gate itself.
    pub(super) fn taken_in(&self, now: Duration) -> Record {
        let mut record = self.passed(Side::Agent, now);
        record.stage = Some(Stage::Inspect.name().into());
        record
    }

    /// The message was recorded as allowed. What still goes wrong is its outcome.
    pub(super) fn departed(&mut self) {
        if let (Some(method), Kind::ToolCall | Kind::ToolsList | Kind::Request) =
            (self.method, self.record.kind)
        {
            self.record.kind = outcome_kind(method);
        }
    }

    /// The record of a message that does not leave.
    pub(super) fn refused(&self, refusal: &Refusal, now: Duration) -> Record {
        let mut record = self.record.clone();
        record.decision = Some(refusal.decision());
        record.duration_us = Some(self.micros(now));
        record.stage = Some(refusal.stage().name().into());
        record.reason.code = Some(refusal.code().into());
        record.reason.text = Some(refusal.to_string().into());
        record.error_code = Some(refusal.answer(Side::Agent, &self.reference).code);
        if let Some(denial) = refusal.denial() {
            explain(&mut record, denial);
        }
        record
    }

    /// The message replies to a request: what becomes of it is told to the one who asked.
    fn replies(&mut self, exchange: &Exchange, from: Side) {
        self.reference = Arc::clone(&exchange.reference);
        self.started = exchange.started;
        self.stream = exchange.stream;
        self.method = Some(exchange.method);
        self.answers(exchange);
        let side = match from {
            Side::Agent => Side::Upstream,
            Side::Upstream => Side::Agent,
        };
        match &exchange.origin {
            Origin::Peer(waiting) => {
                self.answer_to = AnswerTo::Waiting(side, waiting.clone());
            }
            own @ (Origin::Catalogue | Origin::Handshake) => {
                self.asked_by_gate = Some(own.clone());
                // It goes no further than the gate.
                self.record.direction = None;
            }
        }
    }

    fn answers(&mut self, exchange: &Exchange) {
        self.record.reference = Some((&exchange.reference).into());
        self.record.method = Some(exchange.method.name().into());
        self.record.revision = Some(exchange.snapshot.revision().as_str().into());
        self.record.correlation = correlation(&exchange.correlation);
        self.about(&exchange.target);
    }

    fn about(&mut self, target: &Target) {
        self.record.target = target.name().map(Into::into);
        self.target = target.clone();
    }

    fn correlate(&mut self, meta: Value<'_>) {
        let named = |key: &'static str| Some((key, meta.get(key)?.as_str()?.into_owned()));
        self.correlation = CORRELATION.into_iter().filter_map(named).collect();
        self.record.correlation = correlation(&self.correlation);
    }

    fn micros(&self, now: Duration) -> u64 {
        u64::try_from(now.saturating_sub(self.started).as_micros()).unwrap_or(u64::MAX)
    }
}

fn correlation(named: &[(&'static str, String)]) -> audit::Correlation {
    let get = |key: &str| {
        named
            .iter()
            .find(|(name, _)| name.ends_with(key))
            .map(|(_, value)| value.into())
    };
    audit::Correlation {
        job_id: get("/job_id"),
        trace_id: get("/trace_id"),
        workflow_run_id: get("/workflow_run_id"),
        task_id: get("/task_id"),
        session_id: get("/session_id"),
        traceparent: get("traceparent"),
    }
}

fn explain(record: &mut Record, denial: &Denial) {
    let first = |get: fn(&Reason) -> Option<&Arc<str>>| denial.first(get);
    record.policies = denial
        .reasons
        .iter()
        .map(|one| one.policy.as_str().into())
        .collect();
    record.reason.advice = first(|reason| reason.advice.as_ref()).map(Into::into);
    if let Some(code) = first(|reason| reason.code.as_ref()) {
        record.reason.code = Some(code.into());
    }
    match denial.remedy() {
        Some(OnDeny::AskConsent) => record.reason.text = Some(NOBODY_TO_ASK.into()),
        None => {}
    }
    if let DenialCause::Fault(fault) = &denial.cause {
        record.reason.code = Some("engine-fault".into());
        record.reason.text = Some(fault.to_string().into());
    }
}

const NOBODY_TO_ASK: &str =
    "a human who agrees to it would lift this, and there is no way to ask one";

fn request_kind(method: &str, from: Side) -> Kind {
    match (from, method) {
        (Side::Upstream, _) => Kind::ServerRequest,
        (Side::Agent, "tools/call") => Kind::ToolCall,
        (Side::Agent, "tools/list") => Kind::ToolsList,
        (Side::Agent, _) => Kind::Request,
    }
}

fn outcome_kind(method: KnownMethod) -> Kind {
    if method == KnownMethod::ToolsCall {
        Kind::ToolResult
    } else {
        Kind::GateDecision
    }
}

/// SHA-256 of the arguments as they are sent, in hexadecimal.
fn digest(text: &str) -> String {
    let mut hex = String::from("sha256:");
    for byte in Sha256::digest(text.as_bytes()) {
        let digits = [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16));
        hex.extend(digits.into_iter().flatten());
    }
    hex
}
