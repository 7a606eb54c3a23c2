//! Why a call is denied: because of what its arguments repeat.

use crate::policy::{FLOW_FILE, Reason};

use super::query::{Doing, Question};
use super::rejection::{DENIED_BY_POLICY, Rejection};

/// Adds to a denial by `builtin.evidence` what the arguments repeat, for the agent and for operators.
pub(super) fn explained(denied: Rejection, question: &Question<'_>) -> Rejection {
    let (Doing::CallTool(_, targets) | Doing::Extend(_, targets)) = &question.doing else {
        return denied;
    };
    let is_ours = |reason: &Reason| {
        &*reason.origin.file == FLOW_FILE && reason.policy.as_str() == "builtin.evidence"
    };
    let denial = denied.open_denial();
    let Some(denial) = denial.filter(|it| it.reasons.iter().any(is_ours)) else {
        return denied;
    };
    let copied = format!("of `{}`", targets.copied_from.join("`, `"));
    let advice = denial.first(|reason| reason.advice.as_deref());
    let told = format!(
        "{DENIED_BY_POLICY}: {} ({copied})",
        advice.unwrap_or_default()
    );
    denied
        .with_text(format!("the arguments repeat results {copied}"))
        .with_text_for_agents(told)
}
