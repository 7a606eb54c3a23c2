//! Why the gate rejects a message, and what it answers.
//!
//! The code that finds a cause builds its [`Rejection`] and says everything about it there. The causes
//! of the path itself stand in [`causes`]. JSON-RPC codes: JSON-RPC 2.0 §5.1 and MCP's own where the
//! protocol has one; [`DENIED`] for what policy rejects, since a gate must not invent a code in the
//! reserved range (−32768…−32000).

mod answers;
mod causes;
mod denials;

pub(super) use causes::versions;

use std::borrow::Cow;
use std::fmt;

use crate::audit;
use crate::policy::Denial;
use crate::wire::Fragment;

use super::stage::Stage;

/// The code of an answer that policy refused: an application code outside the reserved range.
pub const DENIED: i64 = 4030;
/// The code of an answer to what came too often, or beyond a budget. As above.
pub const RATE_LIMITED: i64 = 4290;

/// What is said of a denial, before its details.
pub(super) const DENIED_BY_POLICY: &str = "denied by policy";

/// How records begin to say what a person has not agreed to, and nothing else.
pub const UNCONSENTED: &str = "denied by policy: ";

/// Before the reason of a denial that says which path lies outside.
pub const OUTSIDE: &str = "denied by policy, because ";

/// How records end to say that a tool is closed to an agent that does not see it.
pub const HIDDEN: &str = "; the agent is told that there is no such tool";

/// How the answer to a call of a tool begins that the agent does not see; the tool's name follows.
pub const UNKNOWN_TOOL: &str = "Unknown tool: ";

pub(super) const INVALID_REQUEST: i64 = -32_600;
pub(super) const METHOD_NOT_FOUND: i64 = -32_601;
pub(super) const INVALID_PARAMS: i64 = -32_602;
pub(super) const INTERNAL: i64 = -32_603;
/// MCP 2026-07-28: basic/lifecycle, "Unsupported protocol versions".
pub(super) const UNSUPPORTED_VERSION: i64 = -32_022;
/// MCP 2026-07-28: basic/lifecycle, "Missing required capabilities".
pub(super) const MISSING_CAPABILITY: i64 = -32_021;
/// MCP 2026-07-28: basic/transports, "Server validation".
pub(super) const HEADER_MISMATCH: i64 = -32_020;

/// The answer to an unknown method, for agents and servers.
const NO_METHOD: &str = "Method not found";

/// Why a message does not pass, and how its sender is answered.
#[derive(Debug)]
pub struct Rejection(Box<Cause>);

#[derive(Debug)]
struct Cause {
    stage: Stage,
    reason: &'static str,
    code: i64,
    text: String,
    for_agents: Option<Cow<'static, str>>,
    data: Vec<(&'static str, Fragment)>,
    reference: Reference,
    for_requester: ForRequester,
    decision: audit::Decision,
    denial: Option<Denied>,
    consent: Option<audit::Consent>,
    properties: &'static [Property],
}

/// Whether the answer to an agent names the record in the audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reference {
    Named,
    Omitted,
}

/// The answer to a requester when the gate rejects the reply to its request.
#[derive(Debug)]
enum ForRequester {
    /// The same as to the sender of a rejected message.
    Same,
    /// This short problem alone: the gate withholds the text of the reply.
    Problem(Cow<'static, str>),
}

/// How policy denied the message.
#[derive(Debug)]
enum Denied {
    Openly(Denial),
    /// The agent must not learn that the tool exists.
    Hidden(Denial),
    /// A person's consent would have lifted it.
    Unconsented(Denial),
}

/// Properties of a rejection that other parts of the gate act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Property {
    /// A server learns only that there is no such method: it learns nothing of policies.
    HiddenFromServers,
    /// The model reads it, as the result of its call (MCP 2025-11-25, server/tools).
    ReadByModels,
    /// The same where the configuration asks for it.
    ReadByModelsIfConfigured,
    /// A person's consent to the request stays good for its repetition.
    KeepsConsent,
    /// Something is wrong with the server.
    BrokenServer,
    /// Another request waits under the same id.
    ReusedId,
    /// The agent asked for a revision that the gate or the server does not speak.
    UnknownRevision,
    /// Who asked has cancelled it, and expects no answer.
    Cancelled,
    /// The gate has no token of the agent's for the server.
    NoToken,
    /// The server needs a session, and the agent has none.
    NeedsSession,
}

/// The JSON-RPC error that answers a rejection.
#[derive(Debug)]
pub struct ErrorAnswer {
    pub code: i64,
    pub message: String,
    pub data: Option<Fragment>,
}

impl Rejection {
    /// `reason` is a stable word for records, and `code` that of the JSON-RPC error. Operators read
    /// `text`; agents read it too, unless [`Self::with_text_for_agents`] replaces it.
    pub(super) fn new(
        stage: Stage,
        reason: &'static str,
        code: i64,
        text: impl Into<String>,
    ) -> Self {
        Self(Box::new(Cause {
            stage,
            reason,
            code,
            text: text.into(),
            for_agents: (code == METHOD_NOT_FOUND).then_some(Cow::Borrowed(NO_METHOD)),
            data: Vec::new(),
            reference: if code == INTERNAL {
                Reference::Named
            } else {
                Reference::Omitted
            },
            for_requester: ForRequester::Problem(reason.into()),
            decision: audit::Decision::Block,
            denial: None,
            consent: None,
            properties: &[],
        }))
    }

    /// INVARIANT: an unknown tool has one answer whatever hides it, or a denial tells that the tool
    /// exists.
    pub(super) fn unknown_tool(name: &str, reason: &'static str) -> Self {
        let text = format!("unknown tool: {name}");
        let told = format!("{UNKNOWN_TOOL}{name}");
        Self::new(Stage::Decide, reason, INVALID_PARAMS, text).with_text_for_agents(told)
    }

    /// Sets the text for agents.
    pub(super) fn with_text_for_agents(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.0.for_agents = Some(message.into());
        self
    }

    /// Replaces the text for operators.
    pub(super) fn with_text(mut self, text: String) -> Self {
        self.0.text = text;
        self
    }

    /// Replaces the stable word.
    pub(super) fn with_reason(mut self, reason: &'static str) -> Self {
        self.0.reason = reason;
        self
    }

    /// Names the audit record in the answer to an agent.
    pub(super) fn with_reference(mut self) -> Self {
        self.0.reference = Reference::Named;
        self
    }

    /// Adds members to the data of the answer to an agent. A member of the same name is replaced.
    pub(super) fn with_data(
        mut self,
        members: impl IntoIterator<Item = (&'static str, Fragment)>,
    ) -> Self {
        for (key, value) in members {
            let known = self.0.data.iter_mut().find(|(known, _)| *known == key);
            match known {
                Some(known) => known.1 = value,
                None => self.0.data.push((key, value)),
            }
        }
        self
    }

    /// Gives a requester whose reply is rejected the same answer as a sender.
    pub(super) fn with_same_answer_for_requesters(mut self) -> Self {
        self.0.for_requester = ForRequester::Same;
        self
    }

    /// Sets the problem that a requester reads when its reply is rejected.
    pub(super) fn with_problem_for_requesters(
        mut self,
        problem: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.0.for_requester = ForRequester::Problem(problem.into());
        self
    }

    /// Sets the decision of the record to `ERROR`; otherwise it is `BLOCK`.
    pub(super) fn into_error(mut self) -> Self {
        self.0.decision = audit::Decision::Error;
        self
    }

    pub(super) fn with_properties(mut self, properties: &'static [Property]) -> Self {
        self.0.properties = properties;
        self
    }

    /// A stable word for the cause, in records.
    pub fn reason(&self) -> &'static str {
        self.0.reason
    }

    /// Whether the message was forbidden, or something failed.
    pub fn decision(&self) -> audit::Decision {
        self.0.decision
    }

    /// The step that rejected.
    pub fn stage(&self) -> Stage {
        self.0.stage
    }

    /// Another request waits under the same id.
    pub fn is_reused_id(&self) -> bool {
        self.has(Property::ReusedId)
    }

    pub(super) fn has(&self, property: Property) -> bool {
        self.0.properties.contains(&property)
    }

    /// The policies that decided, if policy did.
    pub fn denial(&self) -> Option<&Denial> {
        match &self.0.denial {
            Some(Denied::Openly(denial) | Denied::Hidden(denial) | Denied::Unconsented(denial)) => {
                Some(denial)
            }
            None => None,
        }
    }

    /// The policies that decided, if the sender may learn it.
    pub(super) fn open_denial(&self) -> Option<&Denial> {
        match &self.0.denial {
            Some(Denied::Openly(denial)) => Some(denial),
            Some(Denied::Hidden(_) | Denied::Unconsented(_)) | None => None,
        }
    }

    /// What the record says of the consent that is missing.
    pub(super) fn missing_consent(&self) -> Option<&audit::Consent> {
        self.0.consent.as_ref()
    }
}

/// For operators.
impl fmt::Display for Rejection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0.text)
    }
}

impl std::error::Error for Rejection {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_reused_id_is_taken_for_one() {
        assert!(Rejection::reused_id().is_reused_id());
        assert!(!Rejection::stray().is_reused_id());
    }
}
