//! A story is data: files, chapters, and requests with the statements that must be true of each.

use super::failure::DemoFailure;
use super::logs::JsonLine;
use super::traces::RequestTraces;

/// One demo, with a directory and a gate of its own.
pub(super) struct DemoStory {
    /// The name of its directory.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) introduction: &'static str,
    pub(super) drawing: &'static str,
    pub(super) setting: DemoSetting,
    /// The directory of its policies and its configuration, in the source tree and in its own directory.
    pub(super) pack: &'static str,
    /// The files there, as the program contains them.
    pub(super) files: &'static [(&'static str, &'static str)],
    /// What each of its servers receives: the label of a row, and the log.
    pub(super) servers: &'static [(&'static str, &'static str)],
    pub(super) chapters: &'static [DemoChapter],
    /// Lines in the log of the gate.
    pub(super) logged: &'static [&'static str],
    /// The records of calls in the whole audit log, which the last chapter shows.
    pub(super) records: &'static [&'static str],
}

/// Where a story plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DemoSetting {
    /// The agent starts the gate, which starts the server.
    Stdio,
    /// The agent comes over HTTP with a token, and the servers are sandboxed, before a port that stands for
    /// the network.
    Sandboxed,
}

pub(super) struct DemoChapter {
    pub(super) title: &'static str,
    /// A paragraph under the title; may be empty.
    pub(super) introduction: &'static str,
    pub(super) requests: &'static [DemoRequest],
}

/// A request of the agent, and what becomes of it.
pub(super) struct DemoRequest {
    pub(super) method: &'static str,
    /// Parameters, made from the previous answer.
    pub(super) params: fn(&JsonLine) -> String,
    /// What the agent sends after the answer.
    pub(super) then: &'static [&'static str],
    pub(super) token: DemoToken,
    pub(super) evidence: DemoEvidence,
    pub(super) before: &'static [BeforeRequest],
    pub(super) rows: &'static [DemoRow],
    pub(super) checks: &'static [DemoCheck],
}

/// Whether a request over HTTP has the agent's token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DemoToken {
    Sent,
    Missing,
}

/// Evidence for a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DemoEvidence {
    /// All logs, up to a ping that follows the request.
    Logs,
    /// The answer, and what the servers received. There is no session for a ping: records follow with a
    /// later request.
    Answer,
}

/// What the page shows before a request.
pub(super) enum BeforeRequest {
    Row(&'static str, &'static str),
    Policy(&'static str),
}

/// What the page shows after a request.
pub(super) enum DemoRow {
    /// The decision in the first record of this kind, with its policies.
    Decision(&'static str),
    /// What the servers received, and the answer.
    Messages,
    /// The lines that reached the network.
    Network,
    Text(&'static str, FromTraces<String>),
}

/// A statement, the expected texts, and the texts found.
pub(super) struct DemoCheck(
    pub(super) &'static str,
    pub(super) &'static [&'static str],
    pub(super) FromTraces<Vec<String>>,
);

pub(super) type FromTraces<T> = fn(&RequestTraces) -> Result<T, DemoFailure>;

/// A call with the agent's token and all evidence, from which others differ.
pub(super) const CALL: DemoRequest = DemoRequest {
    method: "tools/call",
    params: |_| "{}".to_owned(),
    then: &[],
    token: DemoToken::Sent,
    evidence: DemoEvidence::Logs,
    before: &[],
    rows: &[DemoRow::Decision("tool_call"), DemoRow::Messages],
    checks: &[],
};

pub(super) const INITIALIZE: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"demo","version":"1.0.0"}}"#;
pub(super) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
