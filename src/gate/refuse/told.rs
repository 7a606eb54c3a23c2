//! What an answer says for programs, beside its words.

use crate::gate::consent::Unconsented;
use crate::gate::eras::Lack;
use crate::gate::outside::Outside;
use crate::mcp::{TASKS, revisions};
use crate::policy::{Denial, DenialCause, Reason};
use crate::wire::{Fragment, JsonErrorKind, WireError, WireErrorKind};

use super::{DENIED, ErrorAnswer, Refusal};

pub(super) fn denied(denial: &Denial, outside: Option<&Outside>, reference: &str) -> ErrorAnswer {
    let advice = denial.first(|reason| reason.advice.as_deref());
    // Whatever it is about, the answer is the same whether the thing exists or not: policy was asked
    // about its name alone.
    let message = match (advice, outside) {
        (Some(advice), Some(outside)) => format!("denied by policy: {advice} ({outside})"),
        (Some(advice), None) => format!("denied by policy: {advice}"),
        (None, Some(outside)) => format!("denied by policy: {outside}"),
        (None, None) => "denied by policy".to_owned(),
    };
    let code = DENIED;
    let argument = outside.and_then(|outside| outside.argument.as_deref());
    let place = [
        ("reason", outside.map(Outside::code)),
        ("argument", argument),
    ];
    ErrorAnswer {
        code,
        message,
        data: Some(members(reference, Some(denial), &place)),
    }
}

/// What became of the question is no secret to whoever asked, and tells a program whether to ask again.
pub(super) fn unconsented(denial: &Denial, why: &Unconsented, reference: &str) -> ErrorAnswer {
    let first = |says: fn(&Reason) -> Option<&str>| denial.first(says);
    let members = [
        ("audit", Some(reference)),
        ("reason", Some(why.code())),
        ("code", first(|reason| reason.code.as_deref())),
        ("advice", first(|reason| reason.advice.as_deref())),
    ];
    let members = members.into_iter();
    ErrorAnswer {
        code: DENIED,
        message: format!("denied by policy: {}", why.told()),
        data: Some(Fragment::object(
            members.filter_map(|(key, text)| Some((key, Fragment::string(text?)))),
        )),
    }
}

pub(super) fn pointer_to_audit(reference: &str, denial: Option<&Denial>) -> Fragment {
    members(reference, denial, &[])
}

fn members(
    reference: &str,
    denial: Option<&Denial>,
    more: &[(&'static str, Option<&str>)],
) -> Fragment {
    let code = denial.and_then(|denial| denial.first(|reason| reason.code.as_deref()));
    let advice = denial.and_then(|denial| denial.first(|reason| reason.advice.as_deref()));
    let members = [
        ("audit", Some(reference)),
        ("code", code),
        ("advice", advice),
    ];
    let members = members.iter().chain(more);
    Fragment::object(members.filter_map(|(key, text)| Some((*key, Fragment::string((*text)?)))))
}

/// Which limit of the configuration a frame is beyond, with its value.
pub(super) fn limit(error: &WireError) -> String {
    let WireErrorKind::Json(kind) = &error.kind else {
        return String::new();
    };
    // What is too long is no message yet: its reader tells.
    if let JsonErrorKind::TooManyNodes { limit } = kind {
        format!(" (`limits.max_nodes` is {limit})")
    } else if let JsonErrorKind::TooDeep { limit } = kind {
        format!(" (`limits.max_depth` is {limit})")
    } else {
        String::new()
    }
}

pub(super) fn versions(requested: &str, supported: &[String]) -> Fragment {
    if supported.is_empty() {
        return unsupported(requested, revisions::known());
    }
    unsupported(requested, supported.iter().map(String::as_str))
}

/// Of a server that does not say what it speaks instead: an agent's `initialize` may name any of these,
/// and the server answers with its own.
pub(super) fn needs_session(requested: &str, lack: &Lack) -> Fragment {
    unsupported(requested, lack.instead().iter().map(String::as_str))
}

fn unsupported<'v>(requested: &str, supported: impl Iterator<Item = &'v str>) -> Fragment {
    let supported = Fragment::array(supported.map(Fragment::string));
    Fragment::object([
        ("supported", supported),
        ("requested", Fragment::string(requested)),
    ])
}

/// When to come back, or that there is no coming back, for programs.
pub(super) fn limited(refusal: &Refusal, reference: &str) -> Option<Fragment> {
    let rest = if let Refusal::TooOften {
        limit,
        retry_after_ms,
    } = refusal
    {
        let limit = ("limit", Fragment::string(limit.name()));
        let after = ("retryAfterMs", Fragment::integer(*retry_after_ms));
        vec![limit, after]
    } else if let Refusal::Spent { retry_after_ms, .. } = refusal {
        let after = retry_after_ms.map(|after| ("retryAfterMs", Fragment::integer(after)));
        after.into_iter().collect()
    } else if matches!(
        refusal,
        Refusal::Ended { .. } | Refusal::NoRoom | Refusal::WhileSampling
    ) {
        Vec::new()
    } else {
        return None;
    };
    let audit = ("audit", Fragment::string(reference));
    let members = [audit, ("reason", Fragment::string(refusal.code()))];
    Some(Fragment::object(members.into_iter().chain(rest)))
}

/// What an agent must say it can do, as it would say it.
pub(super) fn tasks_extension() -> Fragment {
    let tasks = Fragment::object([(TASKS, Fragment::object([]))]);
    let capabilities = Fragment::object([("extensions", tasks)]);
    Fragment::object([("requiredCapabilities", capabilities)])
}

/// A stable word for what decided.
pub(super) fn denial_code(denial: &Denial) -> &'static str {
    match denial.cause {
        DenialCause::Forbidden => "forbidden",
        DenialCause::NotPermitted => "not_permitted",
        DenialCause::Fault(_) => "engine_fault",
    }
}
