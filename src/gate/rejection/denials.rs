//! The rejections by policy.

use std::fmt;

use crate::audit;
use crate::policy::{Denial, DenialCause};
use crate::wire::Fragment;

use crate::gate::stage::Stage;

use super::{DENIED, DENIED_BY_POLICY, Denied, HIDDEN, Property, Rejection, UNCONSENTED};

impl Rejection {
    /// By policy.
    pub(in crate::gate) fn denied(denial: Denial) -> Self {
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
            .with_same_answer_for_requesters()
            .with_properties(&[
                Property::HiddenFromServers,
                Property::ReadByModelsIfConfigured,
            ])
            .decided(decision, Denied::Openly(denial))
    }

    /// By policy, although a person could have lifted it.
    pub(in crate::gate) fn unconsented(
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
        .with_same_answer_for_requesters()
        .with_properties(&[
            Property::HiddenFromServers,
            Property::ReadByModelsIfConfigured,
        ])
        .decided(decision, Denied::Unconsented(denial));
        rejection.0.consent = Some(consent);
        rejection
    }

    /// By policy, of a tool that the agent does not see.
    pub(in crate::gate) fn hidden(name: &str, denial: Denial) -> Self {
        let why = match denial.cause {
            DenialCause::NotPermitted => "not permitted",
            DenialCause::Forbidden | DenialCause::Fault(_) => "forbidden",
        };
        let decision = decision(&denial);
        Self::unknown_tool(name, denial_code(&denial))
            .with_text(format!("{why}: {name}{HIDDEN}"))
            .decided(decision, Denied::Hidden(denial))
    }

    fn decided(mut self, decision: audit::Decision, denial: Denied) -> Self {
        self.0.decision = decision;
        self.0.denial = Some(denial);
        self
    }
}

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
