//! What the audit will say of a message: gathered step by step, written before it leaves.

mod call;
mod consent;
pub(super) mod content;
mod correlation;
mod ends;
mod kind;
mod related;
mod reply;
mod scope;
mod told;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::audit::{self, Kind, Record};
use crate::consent::Receipt;
use crate::memory::Reservation;
use crate::policy::{DefinitionFingerprint, MAX_LEVEL, PolicySnapshot, Reason, SessionSensitivity};
use crate::session::{
    About, Agreed, Attempt, AuditIds, CarriedFacts, Instance, Origin, Parked, Reception, Run,
    Session, StoreFault, Target,
};
use crate::wire::{
    ArrivalForm, KnownMethod, Limits, Message, Shape, Side, Stream, TransportHeaders,
};

use self::content::ContentRecorder;
pub(super) use self::ends::explain;
use super::arrival::{AnswerTo, Arrival, Waited};
use super::classified::{Role, asker, name_of_sender};
use super::consent::Brought;
use super::dues::{Counted, Ends};
use super::local::LocalAnswer;
use super::obliged::Obliged;
use super::own::Occasion;
use super::permit::Allowed;
use super::query::Understood;
use super::saver::SavedFile;
use super::sent::Sent;
use super::settings::Settings;
use super::talk::Talk;

/// One message on its way through the gate.
#[derive(Debug)]
pub(super) struct Trail {
    pub(super) ids: AuditIds,
    pub(super) received: Reception,
    pub(super) carried: CarriedFacts,
    pub(super) envelope: Envelope,
    pub(super) about: About,
    pub(super) server: ServerThen,
    pub(super) sensitivity: SensitivityFacts,
    pub(super) consent: ConsentFacts,
    pub(super) holds: Holds,
    pub(super) retry: Retry,
    pub(super) effects: Effects,
    record: Record,
}

/// The receiver and the method of its reply.
#[derive(Debug, Default)]
pub(super) struct Envelope {
    /// Who is told when the message does not pass.
    pub(super) answer_to: AnswerTo,
    /// The method that was asked for, if it was a known one.
    pub(super) method: Option<KnownMethod>,
    /// Set when the message was to be the reply to a request of the gate's own.
    pub(super) asked_by_gate: Option<Origin>,
}

/// The server that its session spoke to when the message came.
#[derive(Debug)]
pub(super) struct ServerThen {
    pub(super) run: Run,
    /// Where the session was, if it may move.
    pub(super) began_at: Option<Instance>,
    /// The server that says the message, where its session does not speak to that one.
    pub(super) other_speaker: Option<Instance>,
}

/// What is known of the data that its session has read.
#[derive(Debug, Default)]
pub(super) struct SensitivityFacts {
    /// What a request that was admitted will read.
    pub(super) brings: Arc<SessionSensitivity>,
    /// What its session has read from it on, if it was judged by that.
    pub(super) held: Option<Arc<SessionSensitivity>>,
    /// What its session has read once it was raised for it, if it is judged again.
    pub(super) raising: Option<Arc<SessionSensitivity>>,
    /// Why it is not known what its session has read.
    pub(super) store_fault: Option<StoreFault>,
}

/// A person's consent to the message.
#[derive(Debug, Default)]
pub(super) struct ConsentFacts {
    /// What it brings of a person's consent.
    pub(super) brought: Brought,
    /// What it has spent to begin.
    pub(super) begun_with: Option<Receipt>,
    /// What a person agreed to, if it is judged under that.
    pub(super) agreed: Option<Agreed>,
}

/// Memory and quota that the message holds.
#[derive(Debug, Default)]
pub(super) struct Holds {
    /// What it still has to pay for.
    pub(super) counted: Counted,
    pub(super) room: Option<Reservation>,
}

/// The second attempt of a call.
#[derive(Debug, Default)]
pub(super) struct Retry {
    /// Whether it was sent before: then it has its decision, and what comes of it is its outcome.
    pub(super) attempt: Attempt,
    /// What is made once more should the server not take it.
    pub(super) again: Option<Arc<Parked>>,
}

/// What filters make of the message that the path acts on.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// What the gate answers it with.
    pub(super) local_answer: Option<LocalAnswer>,
    /// The definitions in it that are not what was approved.
    pub(super) drifted: Vec<(String, DefinitionFingerprint)>,
    pub(super) ends_session: Ends,
    /// The files of its texts, which stay if it leaves.
    pub(super) files: Vec<SavedFile>,
}

impl Trail {
    pub(super) fn begin<U, A>(talk: &Talk<U, A>, arrival: Arrival) -> Self {
        let Arrival {
            from,
            stream,
            peer,
            trace,
            at,
            form: _,
            waited: _,
        } = arrival;
        let reference = talk.next_reference();
        let record = Record::new(Kind::MalformedMessage)
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
            Side::Upstream => AnswerTo::None,
        };
        let mut trail = Self::blank(talk.session.run(), reference, (at, stream), record);
        trail.envelope.answer_to = answer_to;
        trail.received.peer = peer;
        trail.carried.trace = trace;
        trail
    }

    /// Of a message of which only this much is known.
    fn blank(
        run: Run,
        reference: Arc<str>,
        (started, stream): (Duration, Stream),
        record: Record,
    ) -> Self {
        Self {
            ids: AuditIds {
                reference,
                ..AuditIds::default()
            },
            received: Reception {
                started,
                stream,
                peer: None,
            },
            carried: CarriedFacts::default(),
            envelope: Envelope::default(),
            about: About::default(),
            server: ServerThen {
                run,
                began_at: None,
                other_speaker: None,
            },
            sensitivity: SensitivityFacts::default(),
            consent: ConsentFacts::default(),
            holds: Holds::default(),
            retry: Retry::default(),
            effects: Effects::default(),
            record,
        }
    }

    /// The message is judged as if it had just come: what was found out about it is forgotten, but
    /// for what it brings of a person's consent.
    pub(super) fn begin_anew<U, A>(&mut self, talk: &Talk<U, A>, arrival: Arrival) {
        let begun = self.of_the_same(talk, arrival);
        let before = std::mem::replace(self, begun);
        self.consent.brought = before.consent.brought;
        self.consent.agreed = before.consent.agreed;
    }

    /// Of the same message before anything is known of it but what came with it: the name under which
    /// the audit knows it, and what headers said.
    pub(super) fn of_the_same<U, A>(&self, talk: &Talk<U, A>, arrival: Arrival) -> Self {
        let mut begun = Self::begin(talk, arrival).known_as(Arc::clone(&self.ids.reference));
        begun.record.consent.clone_from(&self.record.consent);
        begun.belongs_to(&self.ids.correlation);
        begun.carried.headers = self.carried.headers.clone();
        begun.retry.attempt = self.retry.attempt;
        begun
    }

    /// Headers say more of it.
    pub(super) fn carried_by(mut self, headers: TransportHeaders) -> Self {
        self.carried.headers = headers;
        self
    }

    /// The message could be read; what it is stands in its envelope.
    pub(super) fn decoded<U, A>(&mut self, talk: &Talk<U, A>, message: &Message, from: Side) {
        let (kind, answer_to) = match message.shape() {
            Shape::Request { id, method } => (
                kind::of_request(method.name(), from),
                AnswerTo::Asker(from, asker(&talk.session, from, id, self.received.stream)),
            ),
            Shape::Notification { .. } => (Kind::Notification, AnswerTo::None),
            Shape::Reply { .. } => (Kind::GateDecision, AnswerTo::None),
        };
        self.record.kind = kind;
        self.envelope.answer_to = answer_to;
        self.record.method = message.method().map(|method| method.name().into());
        if from == Side::Agent {
            self.record.target = named_by(message).map(Into::into);
            let name = name_of_sender(message, &self.carried.headers, &talk.session.state());
            self.sent_by(&name);
        }
        self.correlate(message.meta());
        self.tells(message);
    }

    /// The name that the client gives itself which sends the message or waits for it; empty without one.
    fn sent_by(&mut self, name: &str) {
        if let Some(agent) = self.record.agent.as_mut().filter(|_| !name.is_empty()) {
            agent.asserted_name = Some(name.into());
        }
    }

    /// It is a message that the audit has met already.
    pub(super) fn known_as(mut self, reference: Arc<str>) -> Self {
        self.record.reference = Some((&reference).into());
        self.ids.reference = reference;
        self
    }

    /// A record of something else in the same session.
    pub(super) fn beside(&self, kind: Kind) -> Record {
        Record::new(kind).within_that_of(&self.record)
    }

    /// The record of a question about this message.
    pub(super) fn record_of_consent(&self) -> Record {
        let mut record = self.record.clone();
        record.kind = Kind::Consent;
        record
    }

    /// Whether it is an answer of the server's, or what could be one.
    pub(super) fn is_an_answer(&self) -> bool {
        let comes = self.record.direction == Some(audit::Direction::UpstreamToAgent);
        let answers = matches!(
            self.record.kind,
            Kind::MalformedMessage | Kind::ToolResult | Kind::GateDecision
        );
        answers && (comes || self.envelope.asked_by_gate.is_some())
    }

    /// The method that it names, or answers.
    pub(super) fn record_method(&self) -> Option<&str> {
        self.record.method.as_ref().map(audit::Text::as_str)
    }

    /// The answer cannot be given under the id of the request.
    pub(super) fn cannot_repeat_its_id(&mut self, from: Side) {
        self.envelope.answer_to = match from {
            Side::Agent => AnswerTo::Unreadable,
            Side::Upstream => AnswerTo::None,
        };
    }

    /// What the gate says of its own accord.
    pub(super) fn own<U, A>(talk: &Talk<U, A>, occasion: &Occasion<'_>, started: Duration) -> Self {
        let arrival = Arrival {
            from: Side::Agent,
            stream: Stream::MAIN,
            form: ArrivalForm::Whole,
            peer: None,
            trace: None,
            at: started,
            waited: Waited::No,
        };
        let mut trail = Self::begin(talk, arrival);
        let method = occasion.method();
        trail.envelope.answer_to = AnswerTo::None;
        trail.envelope.method = Some(method);
        trail.record.kind = if method.is_request() {
            Kind::GateDecision
        } else {
            Kind::Notification
        };
        trail.record.method = Some(method.name().into());
        trail.record.direction = None;
        if let Some(ids) = occasion.work() {
            trail.belongs_to(ids);
        }
        if let Some(message) = occasion.message() {
            trail.tells(&message);
        }
        trail.record.reason = audit::Reason {
            code: Some("gate_initiated".into()),
            text: occasion.text().map(Into::into),
            advice: None,
        };
        trail
    }

    /// The message will get no reply, whatever was begun for it.
    pub(super) fn forget<U, A>(&self, talk: &Talk<U, A>) {
        if let AnswerTo::Asker(side, asker) = &self.envelope.answer_to {
            let mut state = talk.session.state();
            let table = match side {
                Side::Agent => &mut state.waiting.to_upstream,
                Side::Upstream => &mut state.waiting.to_agent,
            };
            table.take_by_asker(asker);
        }
    }

    pub(super) fn shadowed(&mut self, shadow: Option<audit::Shadow>) {
        self.record.shadow = shadow;
    }

    pub(super) fn understood(
        &mut self,
        understood: &Understood<'_>,
        session: &Session,
        snapshot: &PolicySnapshot,
        settings: &Settings,
    ) {
        match &understood.identified.role {
            Role::Request { .. } => {
                self.needs(&understood.target, session, snapshot);
                let recorder = ContentRecorder::new(settings, snapshot);
                self.asks(&understood.target, understood.identified.message, recorder);
            }
            Role::Notification { .. } | Role::Reply(_) => self.about(&understood.target),
        }
    }

    /// A request about this.
    pub(super) fn asks(
        &mut self,
        target: &Target,
        message: &Message,
        recorder: ContentRecorder<'_>,
    ) {
        self.about(target);
        recorder.record(target, message, &mut self.record);
    }

    /// The message says that a tool has failed.
    pub(super) fn is_error(&mut self, class: audit::ErrorClass) {
        self.record.error_class = Some(class);
    }

    pub(super) fn judged_under(&mut self, snapshot: &PolicySnapshot) {
        self.record.revision = Some(snapshot.revision().as_str().into());
    }

    pub(super) fn allowed(&mut self, allowed: &Allowed) {
        let reasons = allowed
            .allowances
            .iter()
            .flat_map(|allowance| &allowance.reasons);
        self.record.policies = named_once(reasons);
        if let Some(standing) = &allowed.standing {
            self.stands_approved(standing);
        }
    }

    /// What guards found and let pass.
    pub(super) fn found(&mut self, findings: Vec<audit::Finding>) {
        self.record.findings.extend(findings);
    }

    /// What was written in the server's words before anything was judged.
    pub(super) fn edited(&mut self, edits: Vec<audit::Edit>) {
        self.record.edits.extend(edits);
    }

    /// What the message is as it will leave.
    pub(super) fn obliged(
        &mut self,
        (limits, recorder): (&Limits, ContentRecorder<'_>),
        obliged: &mut Obliged,
    ) {
        let has_result = self.record.kind == Kind::ToolResult && recorder.records_results();
        if (self.record.params.is_some() || has_result)
            && let Some(sent) = Sent::new(obliged.permit.line(), limits).read()
        {
            self.tells(&sent);
            if has_result {
                recorder.record_result(&sent, &mut self.record);
            }
        }
        self.record.edits.append(&mut obliged.edits);
        let obligations = std::mem::take(&mut obliged.obligations);
        self.record.obligations = obligations.into_iter().map(Into::into).collect();
        let redactions = std::mem::take(&mut obliged.redactions);
        let redactions = redactions.into_iter().map(Into::into);
        self.record.redactions.extend(redactions);
        self.found(std::mem::take(&mut obliged.findings));
        let saved = std::mem::take(&mut obliged.saved);
        self.found(saved.findings);
        self.effects.files = saved.files;
    }

    /// What the session had read before the message, and what it has read from it on. Nothing is told of
    /// a session that has read nothing.
    pub(super) fn raised(&mut self, before: &SessionSensitivity, after: &Arc<SessionSensitivity>) {
        self.sensitivity.held = Some(Arc::clone(after));
        if let Some(sensitivity) = sensitivity(before, after) {
            self.record.sensitivity = Some(sensitivity);
        }
    }

    fn about(&mut self, target: &Target) {
        self.record.target = target.name().map(Into::into);
        self.about.target = target.clone();
    }
}

/// What a request names, before anything else is known of it.
fn named_by(message: &Message) -> Option<Cow<'_, str>> {
    let member = match message.method()?.name() {
        "tools/call" | "prompts/get" => "name",
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => "uri",
        _ => return None,
    };
    message.params()?.get(member)?.as_str()
}

/// The policies of these reasons, each once: one may answer several questions of a message.
pub(super) fn named_once<'r>(reasons: impl IntoIterator<Item = &'r Reason>) -> Vec<audit::Text> {
    let mut known = HashSet::new();
    let named = reasons.into_iter().map(|reason| reason.policy.as_str());
    let once = named.filter(|policy| known.insert(*policy));
    once.map(Into::into).collect()
}

/// A level as the audit calls it.
/// What a record says of what its session had read before, and has after. `None` if that is nothing.
pub(super) fn sensitivity(
    before: &SessionSensitivity,
    after: &SessionSensitivity,
) -> Option<audit::Sensitivity> {
    let added = after.datasets.difference(&before.datasets);
    let told = audit::Sensitivity {
        before: level(before),
        after: level(after),
        datasets: after.datasets.iter().map(audit::Text::from).collect(),
        added: added.map(audit::Text::from).collect(),
        sources: after.sources.iter().map(audit::Text::from).collect(),
        untrusted_from: after.untrusted_from.iter().map(audit::Text::from).collect(),
    };
    let says_more = !told.datasets.is_empty() || !told.sources.is_empty();
    (told.after != audit::Level::Public || says_more).then_some(told)
}

fn level(held: &SessionSensitivity) -> audit::Level {
    match held.level {
        ..=0 => audit::Level::Public,
        1 => audit::Level::Internal,
        2 => audit::Level::Confidential,
        MAX_LEVEL.. => audit::Level::Secret,
    }
}
