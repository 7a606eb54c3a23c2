//! What an answer says for programs, beside its words.

use crate::gate::tasks::EXTENSION;
use crate::policy::Denial;
use crate::wire::Fragment;

use super::Refusal;

pub(super) fn pointer_to_audit(reference: &str, denial: Option<&Denial>) -> Fragment {
    let code = denial.and_then(|denial| denial.first(|reason| reason.code.as_deref()));
    let advice = denial.and_then(|denial| denial.first(|reason| reason.advice.as_deref()));
    let members = [
        ("audit", Some(reference)),
        ("code", code),
        ("advice", advice),
    ];
    Fragment::object(
        members
            .into_iter()
            .filter_map(|(key, text)| Some((key, Fragment::string(text?)))),
    )
}

pub(super) fn versions(requested: &str) -> Fragment {
    let supported = rmcp::model::ProtocolVersion::KNOWN_VERSIONS;
    Fragment::object([
        (
            "supported",
            Fragment::array(supported.iter().map(|one| Fragment::string(one.as_str()))),
        ),
        ("requested", Fragment::string(requested)),
    ])
}

/// When to come back, or that there is no coming back, for programs.
pub(super) fn limited(refusal: &Refusal, reference: &str) -> Option<Fragment> {
    let (reason, rest) = if let Refusal::TooOften {
        limit,
        retry_after_ms,
    } = refusal
    {
        let limit = ("limit", Fragment::string(limit.name()));
        let after = ("retryAfterMs", Fragment::integer(*retry_after_ms));
        ("rate_limited", vec![limit, after])
    } else if matches!(refusal, Refusal::Spent(_)) {
        ("budget_spent", Vec::new())
    } else if matches!(refusal, Refusal::Ended { .. }) {
        ("session_ended", Vec::new())
    } else if matches!(refusal, Refusal::WhileSampling) {
        ("while_sampling", Vec::new())
    } else {
        return None;
    };
    let audit = ("audit", Fragment::string(reference));
    let members = [audit, ("reason", Fragment::string(reason))];
    Some(Fragment::object(members.into_iter().chain(rest)))
}

/// What an agent must say it can do, as it would say it.
pub(super) fn tasks_extension() -> Fragment {
    let tasks = Fragment::object([(EXTENSION, Fragment::object([]))]);
    let capabilities = Fragment::object([("extensions", tasks)]);
    Fragment::object([("requiredCapabilities", capabilities)])
}
