//! What a sample of the agent's model needs beside a policy that permits it: an agent that is agentic,
//! and a person's approval.
//!
//! Looked at after the engines, so that where no policy permits a sample, that is what a denial says,
//! without a question about it.

use super::action::{Action, ActionName};
use super::decision::{Decision, Denial, DenialCause, OnDeny, PolicyId, PolicyOrigin, Reason};
use super::facts::Facts;
use super::partial::{PartialDecision, Tristate};
use super::source::PolicyEntry;

/// The name under which a sample of an agent is refused that is not agentic.
pub const AGENTIC: &str = "sampling.agentic";

/// The name under which a sample is refused until a person agrees.
pub const APPROVED: &str = "sampling.approved";

/// Where both are said to be written.
const FILE: &str = "<agents.toml>";

/// What decides about samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Samples {
    /// Engines, and the agent's terms.
    OnTerms,
    /// Engines alone.
    #[cfg(test)]
    ByEngines,
}

impl Samples {
    pub(super) fn judge(self, decision: Decision, facts: &Facts<'_>) -> Decision {
        match self {
            Self::OnTerms => judge(decision, facts),
            #[cfg(test)]
            Self::ByEngines => decision,
        }
    }

    /// What stands beside the engines where only a part of the message is known.
    pub(super) fn outlook(self, action: ActionName) -> PartialDecision {
        match (action, self) {
            (ActionName::Sample, Self::OnTerms) => OPEN,
            _ => PartialDecision::SILENT,
        }
    }
}

/// What can be said of a sample of which the agent is not known.
const OPEN: PartialDecision = PartialDecision {
    permitted: Tristate::Never,
    forbidden: Tristate::Sometimes,
};

/// What stands for them among the policies.
pub(super) fn entries() -> [PolicyEntry; 2] {
    [
        (AGENTIC, "// A sample needs `agentic = true` of the agent or one of its roles in agents.toml."),
        (APPROVED, "// A sample needs a person's approval, or a standing `consent` of the agent in agents.toml."),
    ]
    .map(|(id, text)| PolicyEntry {
        id: PolicyId::new(id),
        origin: origin(),
        text: text.into(),
        server: None,
    })
}

/// What becomes of a sample that policies allow. The facts are labelled.
fn judge(decision: Decision, facts: &Facts<'_>) -> Decision {
    let (Decision::Allow(_), Action::Sample { agent, .. }) = (&decision, facts.action) else {
        return decision;
    };
    let terms = &agent.sampling;
    let reason = if !terms.agentic {
        Reason {
            policy: PolicyId::new(AGENTIC),
            origin: origin(),
            code: Some("not_agentic".into()),
            advice: Some("Servers may not use the model of this agent.".into()),
            on_deny: None,
        }
    } else if !facts.env.consent.granted && terms.standing.is_none() {
        Reason {
            policy: PolicyId::new(APPROVED),
            origin: origin(),
            code: Some("consent_required".into()),
            advice: Some("A person has to agree to this sample.".into()),
            on_deny: Some(OnDeny::AskConsent),
        }
    } else {
        return decision;
    };
    Decision::Deny(Denial {
        cause: DenialCause::Forbidden,
        reasons: vec![reason],
    })
}

fn origin() -> PolicyOrigin {
    PolicyOrigin {
        file: FILE.into(),
        line: 0,
    }
}
