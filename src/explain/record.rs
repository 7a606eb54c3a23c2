//! What a gate has written down of a message, in place of the message.

mod selector;

use jiff::Timestamp;

use crate::audit::Body;
use crate::policy::{
    Agent, LOCK_DRIFT, Lock, Presence, RecordShape, RuleEffect, Scalar, ValueShape,
};
use crate::policy_tests::StartState;
use crate::session::Instance;
use crate::wire::{Document, Fragment, JsonError, Limits, Side, Value};

use super::level::{LevelChange, LevelIncrease, ReadServers};
use super::report::{ExplainedDecision, Explanation, PermittedMessage};
use super::request_frame::request;

pub use selector::RecordSelector;

/// One record of a decision about a message of an agent.
#[derive(Debug, Clone)]
pub struct RecordedMessage {
    pub seq: i64,
    pub agent: Agent,
    pub now: Timestamp,
    allowed: bool,
    method: String,
    target: String,
    /// The name of its server, or the key.
    upstream: String,
    /// The arguments as JSON text, if the record has them whole.
    arguments: Option<String>,
    policies: Vec<String>,
    revision: Option<String>,
    stage: Option<String>,
    reason: RecordedReason,
    passed: Option<LevelChange>,
    /// Absent where only the record itself is known.
    raises: Option<Vec<LevelIncrease>>,
    late: Option<LateRejection>,
}

/// Why a record cannot be explained.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("it is no JSON: {0}")]
    NotJson(#[from] JsonError),
    #[error("it is no record of version 1")]
    NotRecord,
    #[error(
        "a record of kind `{0}` is none of a call, of reading a resource or of getting a prompt"
    )]
    Kind(String),
    #[error("it has no readable `{0}`")]
    Missing(&'static str),
    #[error("no record has the {0}")]
    NoSuch(RecordSelector),
    #[error(
        "{0} records have the {1}, of different runs of the gate: send the line on standard input, or name a denial by its reference (`--record`)"
    )]
    Ambiguous(usize, RecordSelector),
    #[error(
        "the record {seq} has the {which} and tells only what came of the request, whose own record is \
         not in this log"
    )]
    OnlyOutcome { which: RecordSelector, seq: i64 },
}

/// What was refused of what came of a message that had been permitted.
#[derive(Debug, Clone)]
struct LateRejection {
    seq: i64,
    stage: Option<String>,
    reason: RecordedReason,
    policies: Vec<String>,
}

/// Why something was refused, as a record tells it.
#[derive(Debug, Clone, Default)]
struct RecordedReason {
    code: Option<String>,
    advice: Option<String>,
    text: Option<String>,
}

impl RecordedReason {
    fn read(record: Value<'_>) -> Self {
        let at = |key| text_at(record, &["reason", key]);
        Self {
            code: at("code"),
            advice: at("advice"),
            text: at("text"),
        }
    }
}

/// Methods whose target and nothing else makes the question, with the member that names it.
const METHODS: [(&str, &str); 3] = [
    ("tools/call", "name"),
    ("resources/read", "uri"),
    ("prompts/get", "name"),
];

/// What records call the decision that something passes.
const ALLOW: &str = "ALLOW";

impl RecordedMessage {
    /// One line of an audit log.
    pub fn read(line: &str) -> Result<Self, RecordError> {
        let document = Document::decode(line.trim().as_bytes(), &Limits::default())?;
        let record = document.root();
        if record.get("version").and_then(Value::as_i64) != Some(1) {
            return Err(RecordError::NotRecord);
        }
        let text = |key: &'static str| text_at(record, &[key]);
        let need = |key: &'static str| text(key).ok_or(RecordError::Missing(key));
        let method = text("method").unwrap_or_default();
        if !METHODS.iter().any(|(known, _)| *known == method)
            || text("kind").is_some_and(|kind| kind == "tool_result")
        {
            return Err(RecordError::Kind(need("kind")?));
        }
        let timestamp = need("timestamp")?.parse::<Timestamp>();
        let roles = record
            .at(&["agent", "roles"])
            .into_iter()
            .flat_map(Value::items);
        let mut agent = Agent {
            id: text_at(record, &["agent", "id"]).ok_or(RecordError::Missing("agent"))?,
            roles: roles.filter_map(owned).collect(),
            user: text_at(record, &["agent", "user"]),
            ..Agent::default()
        };
        agent.client.name = text_at(record, &["agent", "asserted_name"]).unwrap_or_default();
        Ok(Self {
            seq: seq_of(record)?,
            agent,
            now: timestamp.map_err(|_| RecordError::Missing("timestamp"))?,
            allowed: need("decision")? == ALLOW,
            method,
            target: need("target")?,
            upstream: Instance::server_of(&text("upstream").unwrap_or_default()).to_owned(),
            arguments: record
                .get("arguments")
                .map(|arguments| arguments.text().to_owned())
                .filter(|text| Body::is_whole(text)),
            policies: policies_of(record),
            revision: text("revision"),
            stage: text("stage"),
            reason: RecordedReason::read(record),
            passed: LevelChange::read(record),
            raises: None,
            late: None,
        })
    }

    /// The message, without what the record leaves out. Of a locked tool it has the arguments that
    /// such a call cannot be without, or no policy would be asked; what looks at them is told as
    /// unknown.
    pub(super) fn frame(&self, lock: &Lock) -> (Side, String) {
        let key = METHODS.iter().find(|(method, _)| *method == self.method);
        let key = key.map_or("name", |(_, key)| key);
        let locked = lock
            .tool(&self.target)
            .filter(|_| self.method == "tools/call");
        let record = locked.and_then(|tool| tool.arguments.as_ref().ok());
        let least = record.map(|record| least(record).into_string());
        let arguments = self.arguments.clone().or(least);
        let frame = request(&self.method, key, &self.target, arguments.as_deref());
        (Side::Agent, frame)
    }

    /// The server that it was about: of several, its key.
    pub fn upstream(&self) -> &str {
        &self.upstream
    }

    /// What its session had been through, as far as the record tells.
    pub fn start(&self) -> StartState {
        match &self.passed {
            Some(passed) => {
                let start = StartState::at(passed.before).having_read(passed.datasets.clone());
                match passed.servers.clone() {
                    Some(read) => start.having_read_from(read.sources, read.untrusted_from),
                    None => start,
                }
            }
            None => StartState::at(0),
        }
    }

    /// The number of the record that says what was refused of what came of it.
    #[cfg(test)]
    pub(super) fn refused(&self) -> Option<i64> {
        self.late.as_ref().map(|late| late.seq)
    }

    pub(super) fn passed(&self) -> Option<&LevelChange> {
        self.passed.as_ref()
    }

    pub(super) fn raises(&self) -> Option<&[LevelIncrease]> {
        self.raises.as_deref()
    }

    /// The policies that decided then.
    pub(super) fn policies(&self) -> &[String] {
        &self.policies
    }

    /// How the tool was defined then, as far as the record tells.
    pub(super) fn definition(&self) -> DefinitionApproval {
        if self.policies.iter().any(|policy| policy == LOCK_DRIFT) {
            DefinitionApproval::NotApproved
        } else {
            DefinitionApproval::Approved
        }
    }

    /// The arguments as JSON text, if the record has them whole.
    pub(super) fn arguments(&self) -> Option<&str> {
        self.arguments.as_deref()
    }

    pub(super) fn effect(&self) -> RuleEffect {
        if self.allowed {
            RuleEffect::Permit
        } else {
            RuleEffect::Forbid
        }
    }

    /// What the gate decided then stands; what is said of parts is said of the policies now.
    pub(super) fn correct(&self, mut explanation: Explanation) -> Explanation {
        explanation.decision = Some(if self.allowed && self.late.is_none() {
            ExplainedDecision::Allow
        } else {
            ExplainedDecision::Deny
        });
        explanation.recorded = true;
        explanation.at = None;
        let (stage, reason, policies) = match &self.late {
            Some(late) => (&late.stage, &late.reason, &late.policies),
            None => (&self.stage, &self.reason, &self.policies),
        };
        explanation.stage.clone_from(stage);
        explanation.reason.clone_from(&reason.code);
        explanation.code.clone_from(&reason.code);
        explanation.advice.clone_from(&reason.advice);
        explanation.text.clone_from(&reason.text);
        explanation.policies.clone_from(policies);
        explanation.permitted = self.late.as_ref().map(|late| PermittedMessage {
            record: self.seq,
            policies: self.policies.clone(),
            refused: late.seq,
        });
        let same = self.revision == explanation.revision;
        for policy in explanation
            .questions
            .iter_mut()
            .flat_map(|it| &mut it.policies)
        {
            policy.decided = self.policies.contains(&policy.id);
        }
        let mut questions = explanation.questions.iter();
        let is_denied_again = questions.any(|it| it.decision == ExplainedDecision::Deny);
        if explanation.was_forbidden() && !is_denied_again {
            // The policies may permit it now: the record lacks the arguments, or the policies have changed.
            for question in &mut explanation.questions {
                if question.decision == ExplainedDecision::Allow {
                    question.decision = ExplainedDecision::Unknown;
                }
            }
        }
        if !same {
            let then = self.revision.as_deref().unwrap_or("none");
            explanation.unknown.push(format!(
                "whether these policies decide so too: the decision is that of revision {then}, and they \
                 are of another; `test-policy --replay` judges anew"
            ));
        }
        if self.arguments.is_none() && self.method != "resources/read" {
            explanation.unknown.push(
                "the record does not have the arguments: parts that look at them are unknown; \
                 `audit.arguments = \"redacted\"` records them, unless they are long or have secrets"
                    .to_owned(),
            );
        }
        if self.definition() == DefinitionApproval::NotApproved {
            explanation.unknown.push(
                "the definition of the tool was not the approved one, and how it differed is not in \
                 the record"
                    .to_owned(),
            );
        }
        explanation.unknown.push(match &self.passed {
            Some(LevelChange { servers: None, .. }) => {
                "of what the session had been through the record has the level and data sets only; it has the \
                 servers that the session had read from after this message, this one among them"
                    .to_owned()
            }
            Some(passed) if passed.servers != Some(ReadServers::default()) => {
                "of what the session had been through the record has the level, data sets and servers only"
                    .to_owned()
            }
            Some(_) => {
                "of what the session had been through the record has the level and data sets only"
                    .to_owned()
            }
            None => "what the session had been through is not in the record".to_owned(),
        });
        explanation.changes.clear();
        explanation
    }
}

/// Whether a tool was defined as the host had approved it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DefinitionApproval {
    Approved,
    NotApproved,
}

/// The least that a call must have.
fn least(record: &RecordShape) -> Fragment {
    let required = record
        .members
        .iter()
        .filter(|member| member.presence == Presence::Required);
    let value = |shape: &ValueShape| match shape {
        ValueShape::One(Scalar::String) => Some(Fragment::string("")),
        ValueShape::One(Scalar::Integer | Scalar::Number) => Some(Fragment::integer(0)),
        ValueShape::One(Scalar::Boolean) => Fragment::decode("false").ok(),
        ValueShape::Many(_) => Some(Fragment::array([])),
        ValueShape::Record(record) => Some(least(record)),
    };
    let members = required.filter_map(|member| Some((member.name.as_str(), value(&member.shape)?)));
    Fragment::object(members)
}

fn seq_of(record: Value<'_>) -> Result<i64, RecordError> {
    let seq = record.get("seq").and_then(Value::as_i64);
    seq.ok_or(RecordError::Missing("seq"))
}

fn policies_of(record: Value<'_>) -> Vec<String> {
    let policies = record.get("policies").into_iter().flat_map(Value::items);
    policies.filter_map(owned).collect()
}

fn text_at(record: Value<'_>, path: &[&str]) -> Option<String> {
    record.at(path).and_then(owned)
}

fn owned(value: Value<'_>) -> Option<String> {
    value.as_str().map(std::borrow::Cow::into_owned)
}
