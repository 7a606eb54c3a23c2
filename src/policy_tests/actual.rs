//! What became of a message, as the gate recorded it.

use crate::audit::{self, Record};
use crate::gate::Stage;

use super::fixture_words::{ServerInstance, TestDecision};

/// What became of a message.
#[derive(Debug)]
pub(super) struct ActualOutcome {
    pub(super) decision: TestDecision,
    pub(super) at: RejectedPart,
    /// The policies that decided.
    pub(super) policies: Vec<String>,
    /// What the decision asked of the gate.
    pub(super) obligations: Vec<String>,
    /// What the gate changed in it: what asked for that, and where.
    pub(super) edits: Vec<String>,
    /// The server that it reached, where there are two.
    pub(super) upstream_received: Option<ServerInstance>,
    /// The `@code` of the policy that refused.
    pub(super) code: Option<String>,
    /// The `@advice` of the policy that refused.
    pub(super) advice: Option<String>,
    /// The gate's own word for the cause of a refusal.
    pub(super) reason: Option<String>,
    /// The step of the gate that refused.
    pub(super) stage: Option<String>,
    /// The cause of a refusal in a sentence.
    pub(super) text: Option<String>,
    /// An engine could not judge.
    pub(super) fault: Option<String>,
    /// What a list showed.
    pub(super) shown: Option<Vec<String>>,
}

/// What was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RejectedPart {
    Message,
    /// The session could not begin, so that the message has no place in it.
    Handshake,
    /// What was answered to the message.
    Answer,
}

/// What happened is no decision about the message, so that no expectation can be met by it.
#[derive(Debug, thiserror::Error)]
pub(super) enum InvalidRun {
    #[error("the gate recorded nothing of the message")]
    NotRecorded,
    #[error("the gate recorded {recorded:?}, but the message {}", if *.arrived { "arrived" } else { "did not arrive" })]
    Disagree {
        recorded: audit::Decision,
        arrived: bool,
    },
    #[error("the message could not be judged: {0}")]
    NotJudged(String),
}

impl ActualOutcome {
    /// Reads a decision off its record. `arrived`: the message reached the other end.
    pub(super) fn of(record: &Record, at: RejectedPart, arrived: bool) -> Result<Self, InvalidRun> {
        let recorded = record.decision.ok_or(InvalidRun::NotRecorded)?;
        let allowed = recorded == audit::Decision::Allow;
        if allowed != arrived {
            return Err(InvalidRun::Disagree { recorded, arrived });
        }
        let text = |text: &Option<audit::Text>| text.as_ref().map(|text| text.as_str().to_owned());
        let stage = text(&record.stage);
        let said = text(&record.reason.text);
        let by_policy = stage.as_deref() == Some(Stage::Decide.name());
        let failed = recorded == audit::Decision::Error;
        // A gate that fell over has judged nothing, at whatever step it was.
        let fell = text(&record.reason.code).as_deref() == Some(PANIC);
        if failed && (!by_policy || fell) {
            return Err(InvalidRun::NotJudged(said.unwrap_or_default()));
        }
        let policies: Vec<String> = record
            .policies
            .iter()
            .map(|id| id.as_str().to_owned())
            .collect();
        // A policy's own `@code` stands where the gate's word would.
        let word = text(&record.reason.code);
        let forbidden = by_policy && !failed && !policies.is_empty();
        let (code, reason) = match word {
            Some(word) if forbidden && word != FORBIDDEN => {
                (Some(word), Some(FORBIDDEN.to_owned()))
            }
            word => (None, word),
        };
        Ok(Self {
            decision: if allowed {
                TestDecision::Allow
            } else {
                TestDecision::Deny
            },
            at,
            obligations: record
                .obligations
                .iter()
                .map(|obligation| obligation.as_str().to_owned())
                .collect(),
            edits: record.edits.iter().map(told).collect(),
            upstream_received: None,
            policies,
            code,
            advice: text(&record.reason.advice),
            reason,
            stage,
            fault: said.clone().filter(|_| failed),
            text: said,
            shown: None,
        })
    }

    /// Of what the endpoint gives to no server.
    pub(super) fn unrouted(reason: &str, text: &str) -> Self {
        Self {
            decision: TestDecision::Deny,
            at: RejectedPart::Message,
            policies: Vec::new(),
            obligations: Vec::new(),
            edits: Vec::new(),
            upstream_received: None,
            code: None,
            advice: None,
            reason: Some(reason.to_owned()),
            stage: Some(Stage::Identify.name().to_owned()),
            text: Some(text.to_owned()),
            fault: None,
            shown: None,
        }
    }

    /// This of one server and that of another, of a list of both: one that is permitted counts.
    pub(super) fn beside(self, other: Self) -> Self {
        let (mut first, other) = match (self.allowed(), other.allowed()) {
            (false, true) => (other, self),
            (true | false, _) => (self, other),
        };
        if first.allowed() == other.allowed() {
            for (all, more) in [
                (&mut first.policies, other.policies),
                (&mut first.obligations, other.obligations),
                (&mut first.edits, other.edits),
            ] {
                let new: Vec<String> = more.into_iter().filter(|it| !all.contains(it)).collect();
                all.extend(new);
            }
        }
        let shown = other.shown.into_iter().flatten();
        if let Some(all) = &mut first.shown {
            all.extend(shown);
        }
        first.fault = first.fault.or(other.fault);
        first
    }

    pub(super) fn allowed(&self) -> bool {
        self.decision == TestDecision::Allow
    }
}

fn told(edit: &audit::Edit) -> String {
    let pointer = edit.pointer.as_str();
    match &edit.reason {
        Some(because) => format!("{}: {pointer}", because.as_str()),
        None => pointer.to_owned(),
    }
}

/// The gate's word for a message over which it fell.
const PANIC: &str = "panic";

/// The gate's word for what a policy forbids.
const FORBIDDEN: &str = "forbidden";
