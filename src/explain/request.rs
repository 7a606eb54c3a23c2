//! What is to be explained.

use crate::policy::{Host, Lock, PolicySnapshot, ServerKey};
use crate::policy_tests::{DryRunMessage, StartState};
use crate::wire::Side;

use super::level::{LevelIncrease, word};
use super::record::RecordedMessage;
use super::request_frame::request;

/// What is to be explained.
#[derive(Debug, Clone)]
pub enum ExplainRequest {
    /// A message that somebody might send.
    Message(HypotheticalMessage),
    /// What a gate has written down of one.
    Recorded(Box<RecordedMessage>),
}

/// A message that somebody might send.
#[derive(Debug, Clone)]
pub enum HypotheticalMessage {
    /// A tool and its arguments, as JSON text.
    Call { tool: String, arguments: String },
    /// A resource, by its URI.
    Read(String),
    /// A prompt and its arguments, as JSON text.
    Prompt { name: String, arguments: String },
    /// One frame, byte for byte.
    Frame { from: Side, frame: String },
    /// No message: a connection that the server wants of the egress proxy.
    Connection(Host),
}

impl ExplainRequest {
    /// What is judged.
    pub(super) fn sent(&self, lock: &Lock) -> DryRunMessage {
        match self {
            Self::Message(message) => message.sent(),
            Self::Recorded(recorded) => {
                let (from, frame) = recorded.frame(lock);
                DryRunMessage::Frame { from, frame }
            }
        }
    }
}

impl HypotheticalMessage {
    fn sent(&self) -> DryRunMessage {
        let frame = match self {
            Self::Call { tool, arguments } => request("tools/call", "name", tool, Some(arguments)),
            Self::Read(uri) => request("resources/read", "uri", uri, None),
            Self::Prompt { name, arguments } => {
                request("prompts/get", "name", name, Some(arguments))
            }
            Self::Frame { from, frame } => {
                let (from, frame) = (*from, frame.clone());
                return DryRunMessage::Frame { from, frame };
            }
            Self::Connection(host) => return DryRunMessage::Connection(host.clone()),
        };
        let from = Side::Agent;
        DryRunMessage::Frame { from, frame }
    }
}

/// Where what a session has read comes from, in sentences.
#[derive(Debug, Default)]
pub(super) struct SessionOrigin {
    pub(super) level: Vec<String>,
    pub(super) datasets: Vec<String>,
    pub(super) sources: Vec<String>,
}

impl SessionOrigin {
    pub(super) fn of(
        request: &ExplainRequest,
        start: &StartState,
        policies: &PolicySnapshot,
        servers: &[ServerKey],
    ) -> Self {
        Self {
            level: level_told(request, start, policies, servers),
            datasets: datasets_told(request, start),
            sources: sources_told(request, start).into_iter().collect(),
        }
    }
}

/// What is known of where the level comes from, in sentences; none while it is public.
fn level_told(
    request: &ExplainRequest,
    start: &StartState,
    policies: &PolicySnapshot,
    servers: &[ServerKey],
) -> Vec<String> {
    let recorded = match request {
        ExplainRequest::Message(_) if start.level() > 0 => {
            return vec![format!(
                "{} before this message: `--session` says so",
                word(start.level())
            )];
        }
        ExplainRequest::Message(_) => return Vec::new(),
        ExplainRequest::Recorded(recorded) => recorded,
    };
    let Some(passed) = recorded.passed().filter(|it| it.before > 0) else {
        return Vec::new();
    };
    let level = word(passed.before);
    let mut told = vec![format!("{level} before this message: the record says so")];
    let Some(raises) = recorded.raises() else {
        told.push(
            "what raised it is in earlier records of its session: `--audit` and `--seq` find them"
                .to_owned(),
        );
        return told;
    };
    let mut reached = 0;
    for raise in raises.iter().filter(|it| it.after > it.before) {
        if raise.before > reached {
            told.push(elsewhere(raise.before));
        }
        told.push(raise.told(policies, servers));
        reached = raise.after;
    }
    if reached < passed.before {
        told.push(elsewhere(passed.before));
    }
    told
}

fn elsewhere(level: i64) -> String {
    format!("what raised it to {} {ELSEWHERE}", word(level))
}

/// The servers that the session has read from, and who says so.
fn sources_told(request: &ExplainRequest, start: &StartState) -> Option<String> {
    let all = start.sources();
    let strangers = match start.untrusted_from() {
        [] => String::new(),
        some => format!(" (content of strangers from {})", some.join(", ")),
    };
    let by = match request {
        ExplainRequest::Message(_) => "`--session`",
        ExplainRequest::Recorded(_) => "the record",
    };
    let all = all.join(", ");
    (!all.is_empty()).then(|| format!("{all}{strangers} before this message: {by} says so"))
}

/// The same of the data sets.
fn datasets_told(request: &ExplainRequest, start: &StartState) -> Vec<String> {
    let names = start.datasets();
    if names.is_empty() {
        return Vec::new();
    }
    let (by, raises) = match request {
        ExplainRequest::Message(_) => ("`--session`", Some(&[][..])),
        ExplainRequest::Recorded(recorded) => ("the record", recorded.raises()),
    };
    let mut told = vec![format!(
        "{} before this message: {by} says so",
        names.join(", ")
    )];
    let ExplainRequest::Recorded(_) = request else {
        return told;
    };
    let Some(raises) = raises else {
        told.push(
            "what added them is in earlier records of its session: `--audit` and `--seq` find them"
                .to_owned(),
        );
        return told;
    };
    let mut left: Vec<&String> = names.iter().collect();
    for (added, sentence) in raises.iter().filter_map(LevelIncrease::added) {
        left.retain(|name| !added.contains(name));
        told.push(sentence);
    }
    told.extend(
        left.into_iter()
            .map(|name| format!("what added {name} {ELSEWHERE}")),
    );
    told
}

const ELSEWHERE: &str = "is not in this log: another session that counts together with this one, or an \
                         earlier log";
