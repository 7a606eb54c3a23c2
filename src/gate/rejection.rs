//! Why the gate rejects a message, and what it answers.
//!
//! The code that finds a cause builds its [`Rejection`] and says everything about it there. The causes
//! of the path itself stand in [`causes`]. JSON-RPC codes: JSON-RPC 2.0 §5.1 and MCP's own where the
//! protocol has one; [`DENIED`] for what policy rejects, since a gate must not invent a code in the
//! reserved range (−32768…−32000).

mod causes;

pub(super) use causes::versions;

use std::borrow::Cow;
use std::fmt;

use crate::audit;
use crate::policy::{Denial, DenialCause};
use crate::wire::{Fragment, Side};

use super::faults::UpstreamFault;
use super::stage::Stage;

/// The code of an answer that policy refused: an application code outside the reserved range.
pub const DENIED: i64 = 4030;
/// The code of an answer to what came too often, or beyond a budget. As above.
pub const RATE_LIMITED: i64 = 4290;

/// What is said of a denial, before its details.
pub(super) const DENIED_BY_POLICY: &str = "denied by policy";

/// How records begin to say what a person has not agreed to, and nothing else.
pub const UNCONSENTED: &str = "denied by policy: ";

/// How records end to say that a tool is closed to an agent that does not see it.
pub const HIDDEN: &str = "; the agent is told that there is no such tool";

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

/// What JSON-RPC calls an unknown method; the agent and the server learn no more of it.
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
    Told,
    Untold,
}

/// What a requester learns when the reply to its request is rejected.
#[derive(Debug)]
enum ForRequester {
    /// The same as the sender of the message would.
    Same,
    /// That the reply was refused, and this short problem: the text of the reply is withheld.
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

/// How parts of the gate that do not know the cause treat a rejection.
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
}

/// The JSON-RPC error that answers a rejection.
#[derive(Debug)]
pub struct ErrorAnswer {
    pub code: i64,
    pub message: String,
    pub data: Option<Fragment>,
}

impl Rejection {
    /// `reason` is a stable word for records, `code` that of the JSON-RPC error, and `text` is for
    /// operators, and for agents where nothing else is said to them.
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
                Reference::Told
            } else {
                Reference::Untold
            },
            for_requester: ForRequester::Problem(reason.into()),
            decision: audit::Decision::Block,
            denial: None,
            consent: None,
            properties: &[],
        }))
    }

    /// By policy.
    pub(super) fn denied(denial: Denial) -> Self {
        let text = DENIED_BY_POLICY;
        let message = match denial.first(|reason| reason.advice.as_deref()) {
            Some(advice) => format!("{text}: {advice}"),
            None => text.to_owned(),
        };
        let decision = decision(&denial);
        Self::new(Stage::Decide, denial_code(&denial), DENIED, text)
            .with_text_for_agents(message)
            .with_reference()
            .with_data(words_of(&denial))
            .told_to_requesters_alike()
            .with(&[
                Property::HiddenFromServers,
                Property::ReadByModelsIfConfigured,
            ])
            .decided(decision, Denied::Openly(denial))
    }

    /// By policy, although a person could have lifted it.
    pub(super) fn unconsented(
        denial: Denial,
        reason: &'static str,
        text: impl fmt::Display,
        told: impl fmt::Display,
        consent: audit::Consent,
    ) -> Self {
        let decision = decision(&denial);
        let mut rejection = Self::new(
            Stage::Decide,
            reason,
            DENIED,
            format!("{UNCONSENTED}{text}"),
        )
        .with_text_for_agents(format!("{DENIED_BY_POLICY}: {told}"))
        .with_reference()
        .with_data([("reason", Fragment::string(reason))])
        .with_data(words_of(&denial))
        .told_to_requesters_alike()
        .with(&[
            Property::HiddenFromServers,
            Property::ReadByModelsIfConfigured,
        ])
        .decided(decision, Denied::Unconsented(denial));
        rejection.0.consent = Some(consent);
        rejection
    }

    /// By policy, of a tool that the agent does not see.
    pub(super) fn hidden(name: &str, denial: Denial) -> Self {
        let why = match denial.cause {
            DenialCause::NotPermitted => "not permitted",
            DenialCause::Forbidden | DenialCause::Fault(_) => "forbidden",
        };
        let decision = decision(&denial);
        Self::unknown_tool(name, denial_code(&denial))
            .with_text(format!("{why}: {name}{HIDDEN}"))
            .decided(decision, Denied::Hidden(denial))
    }

    /// INVARIANT: an unknown tool has one answer whatever hides it, or a denial tells that the tool
    /// exists.
    pub(super) fn unknown_tool(name: &str, reason: &'static str) -> Self {
        let text = format!("unknown tool: {name}");
        let told = format!("Unknown tool: {name}");
        Self::new(Stage::Decide, reason, INVALID_PARAMS, text).with_text_for_agents(told)
    }

    /// The agent reads this instead of what operators do.
    pub(super) fn with_text_for_agents(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.0.for_agents = Some(message.into());
        self
    }

    /// Operators read this instead.
    pub(super) fn with_text(mut self, text: String) -> Self {
        self.0.text = text;
        self
    }

    /// The stable word is another.
    pub(super) fn with_reason(mut self, reason: &'static str) -> Self {
        self.0.reason = reason;
        self
    }

    /// The answer to an agent names the record in the audit.
    pub(super) fn with_reference(mut self) -> Self {
        self.0.reference = Reference::Told;
        self
    }

    /// The answer to an agent has these members in its data; one of the same name is replaced.
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

    /// A requester whose reply is rejected learns the same as the sender of a rejected message.
    pub(super) fn told_to_requesters_alike(mut self) -> Self {
        self.0.for_requester = ForRequester::Same;
        self
    }

    /// A requester whose reply is rejected learns this of it.
    pub(super) fn with_problem_for_requesters(
        mut self,
        problem: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.0.for_requester = ForRequester::Problem(problem.into());
        self
    }

    /// Records call it an error, and no block.
    pub(super) fn into_error(mut self) -> Self {
        self.0.decision = audit::Decision::Error;
        self
    }

    pub(super) fn with(mut self, properties: &'static [Property]) -> Self {
        self.0.properties = properties;
        self
    }

    fn decided(mut self, decision: audit::Decision, denial: Denied) -> Self {
        self.0.decision = decision;
        self.0.denial = Some(denial);
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

    /// What the refused party is told. Never rule text: the audit has the reasons, and `reference`
    /// leads an operator to them.
    pub fn answer(&self, to: Side, reference: &str) -> ErrorAnswer {
        match to {
            Side::Agent => ErrorAnswer {
                code: self.0.code,
                message: self.text_for_agents().to_owned(),
                data: self.data(reference),
            },
            Side::Upstream if self.has(Property::HiddenFromServers) => ErrorAnswer {
                code: METHOD_NOT_FOUND,
                message: NO_METHOD.to_owned(),
                data: None,
            },
            Side::Upstream => ErrorAnswer {
                code: self.0.code,
                message: self.text_for_agents().to_owned(),
                data: None,
            },
        }
    }

    /// What the one who waits is told when the reply does not pass. What was wrong with the reply is
    /// no fault of the request; and its text, which was withheld, must not come by this way.
    pub fn answer_waiting(&self, to: Side, reference: &str) -> ErrorAnswer {
        let problem = match &self.0.for_requester {
            ForRequester::Same => return self.answer(to, reference),
            ForRequester::Problem(problem) => problem,
        };
        let (message, data) = match to {
            Side::Agent => (
                UpstreamFault::BadReply(problem.clone().into_owned()).to_string(),
                Some(Fragment::object([("audit", Fragment::string(reference))])),
            ),
            Side::Upstream => (format!("the agent's answer was refused: {problem}"), None),
        };
        ErrorAnswer {
            code: INTERNAL,
            message,
            data,
        }
    }

    pub(super) fn text_for_agents(&self) -> &str {
        self.0.for_agents.as_deref().unwrap_or(&self.0.text)
    }

    fn data(&self, reference: &str) -> Option<Fragment> {
        let audit = match self.0.reference {
            Reference::Told => Some(("audit", Fragment::string(reference))),
            Reference::Untold => None,
        };
        let members: Vec<_> = audit
            .into_iter()
            .chain(self.0.data.iter().cloned())
            .collect();
        (!members.is_empty()).then(|| Fragment::object(members))
    }
}

/// For operators.
impl fmt::Display for Rejection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0.text)
    }
}

impl std::error::Error for Rejection {}

/// What a program may read of a denial: the code and the advice that the policy gives it.
fn words_of(denial: &Denial) -> Vec<(&'static str, Fragment)> {
    let code = denial.first(|reason| reason.code.as_deref());
    let advice = denial.first(|reason| reason.advice.as_deref());
    let words = [("code", code), ("advice", advice)];
    let words = words.into_iter();
    words
        .filter_map(|(key, text)| Some((key, Fragment::string(text?))))
        .collect()
}

/// A stable word for what decided.
fn denial_code(denial: &Denial) -> &'static str {
    match denial.cause {
        DenialCause::Forbidden => "forbidden",
        DenialCause::NotPermitted => "not_permitted",
        DenialCause::Fault(_) => "engine_fault",
    }
}

/// An engine that failed denies, and has judged nothing.
fn decision(denial: &Denial) -> audit::Decision {
    match denial.cause {
        DenialCause::Fault(_) => audit::Decision::Error,
        DenialCause::Forbidden | DenialCause::NotPermitted => audit::Decision::Block,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_reused_id_is_taken_for_one() {
        assert!(Rejection::reused_id().is_reused_id());
        assert!(!Rejection::stray().is_reused_id());
    }
}
