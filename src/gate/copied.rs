//! What the arguments of a call repeat: why it is denied.

use crate::policy::{FLOW_FILE, Reason};

use super::query::{Doing, Question};
use super::rejection::{DENIED_BY_POLICY, Rejection};

/// The servers whose results a question's arguments repeat.
pub(super) fn copied_from<'q>(question: &'q Question<'_>) -> &'q [String] {
    if let Doing::CallTool(_, targets) | Doing::Extend(_, targets) = &question.doing {
        &targets.copied_from
    } else {
        &[]
    }
}

/// Adds to a denial by `builtin.evidence` what the arguments repeat, for the agent and for operators.
pub(super) fn explained(denied: Rejection, question: &Question<'_>) -> Rejection {
    let is_ours = |reason: &Reason| {
        &*reason.origin.file == FLOW_FILE && reason.policy.as_str() == "builtin.evidence"
    };
    let denial = denied.open_denial();
    // Beside another policy's denial, that one is told.
    let first = denial.and_then(|denial| denial.first(Some));
    let Some(reason) = first.filter(|reason| is_ours(reason)) else {
        return denied;
    };
    let servers = copied_from(question).join("`, `");
    let advice = reason.advice.as_deref().unwrap_or_default();
    let told = format!("{DENIED_BY_POLICY}: {advice} They are results of `{servers}`.");
    denied
        .with_text(format!("the arguments repeat results of `{servers}`"))
        .with_text_for_agents(told)
}
