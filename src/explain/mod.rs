//! Why one message is allowed or denied.
//!
//! The message goes through a gate of its own, as a policy test does (`policy_tests`), with a
//! witness beside the rules; its observations are reported policy by policy and part by part, with
//! where each value comes from (`origin`) and what would have to be otherwise (`change`).

mod build;
mod change;
mod consent_channels;
mod human;
mod level;
mod origin;
mod reach;
mod record;
mod report;
mod request;
mod request_frame;
#[cfg(test)]
mod tests;
mod untraced_rules;

use jiff::Timestamp;

use self::request::SessionOrigin;
use crate::loading;
use crate::policy::{Agent, PolicyErrors};
use crate::policy_tests::{ConfiguredServer, DryRun, StartState};

pub use consent_channels::ConsentChannels;
pub use reach::{ToolReach, tool_reach};
pub use record::{RecordError, RecordSelector, RecordedMessage};
pub use report::{
    ExplainOutcome, ExplainProblem, ExplainedDecision, Explanation, ExplanationDepth, PartReport,
    PermittedMessage, PolicyReport, PolicyScope, QuestionReport, ReadValue, SCHEMA,
    SuggestedChange,
};
pub use request::{ExplainRequest, HypotheticalMessage};

/// What explains, beside the message.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the policies come from.
    pub policies: loading::Settings,
    /// The server that the message goes to, or comes from, and the gate that judges.
    pub server: ConfiguredServer,
    /// Who could be asked.
    pub people: ConsentChannels,
}

/// Who sends the message, and when.
#[derive(Debug, Clone)]
pub struct SenderContext {
    pub agent: Agent,
    pub now: Timestamp,
    /// What the session has been through, and what a human has answered.
    pub start: StartState,
}

/// Why there is no explanation.
#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    #[error(transparent)]
    Policies(#[from] PolicyErrors),
    #[error("the message could not be judged: {0}")]
    NotJudged(String),
}

/// Explains what becomes of a message under the policies.
pub fn explain(
    settings: &Settings,
    request: &ExplainRequest,
    circumstances: SenderContext,
) -> Result<Explanation, ExplainError> {
    // Twice: the rules that the witness hears belong to the gate.
    let judging = loading::load(&settings.policies)?.snapshot;
    let telling = loading::load(&settings.policies)?.snapshot;
    let server = &settings.server.server;
    let sent = request.sent(telling.of_server(server.key.as_ref()).lock());
    let servers = &settings.policies.servers;
    let origin = SessionOrigin::of(request, &circumstances.start, &telling, servers);
    let rehearsal = DryRun {
        agent: circumstances.agent,
        server: server.clone(),
        now: circumstances.now,
        start: circumstances.start,
        sent,
    };
    let rehearsed = rehearsal.run(&judging, &settings.server.gate);
    let rehearsed = rehearsed.map_err(ExplainError::NotJudged)?;
    Ok(build::explanation(
        &telling,
        request,
        rehearsed,
        origin,
        &settings.people,
    ))
}
