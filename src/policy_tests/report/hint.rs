//! What an author probably wants to know next.

use super::super::fixture::{Decision, Sends, Test};
use super::super::got::{At, Got};
use crate::gate::Stage;
use crate::wire::{KnownMethod, Side};

/// A hint for a test that failed.
pub(super) fn hint(test: &Test, got: &Got) -> Option<String> {
    if got.at == At::Handshake {
        return Some(
            "the agent's `initialize` was refused, so that nothing it sends has a session to be in"
                .to_owned(),
        );
    }
    if got.fault.is_some() {
        return Some(
            "what may be absent has to be asked for first, as in `x has y && x.y == …`; a fault \
             denies, whatever the other policies say"
                .to_owned(),
        );
    }
    match (test.expect.decision, got.decision) {
        (Decision::Allow, Decision::Deny) => refused(test, got),
        (Decision::Deny, Decision::Allow) => {
            let help = "nothing forbids it: a `forbid` wins over every `permit`, or narrow the \
                        `permit` above";
            Some(help.to_owned())
        }
        (Decision::Allow, Decision::Allow) => shown(test, got),
        (Decision::Deny, Decision::Deny) => denied_otherwise(test, got),
    }
}

fn refused(test: &Test, got: &Got) -> Option<String> {
    let reason = got.reason.as_deref()?;
    Some(match reason {
        "not-permitted" => "no policy permits it; what is not permitted is denied".to_owned(),
        "not-offered" => {
            "the upstream does not offer it: add its name to `tools` of the fixture".to_owned()
        }
        "forbidden" => "a `forbid` wins over every `permit`".to_owned(),
        "unknown-method" => return unknown_method(test),
        _ if got.stage.as_deref() != Some(Stage::Decide.name()) => {
            "it was refused before any policy was asked".to_owned()
        }
        _ => return None,
    })
}

fn unknown_method(test: &Test) -> Option<String> {
    let Sends::Frame { from, frame } = &test.sends else {
        return None;
    };
    let other = match from {
        Side::Agent => (Side::Upstream, "server"),
        Side::Upstream => (Side::Agent, "agent"),
    };
    let sent_by_other = KnownMethod::ALL.iter().find(|method| {
        method.sent_by(other.0) && frame.contains(&format!("\"method\":\"{}\"", method.name()))
    });
    Some(match sent_by_other {
        Some(method) => format!("`{method}` comes `from = \"{}\"`", other.1),
        None => "the gate refuses methods that it does not know".to_owned(),
    })
}

fn shown(test: &Test, got: &Got) -> Option<String> {
    match &test.sends {
        Sends::List(_) => Some(
            "a list shows what some call could be permitted of; `list_tool`, `list_resource` and \
             `list_prompt` can be forbidden to hide more"
                .to_owned(),
        ),
        Sends::Frame { .. } if got.policies.is_empty() => None,
        Sends::Frame { .. } => {
            Some("of what is allowed, the permits are the ones that decided".to_owned())
        }
    }
}

fn denied_otherwise(test: &Test, got: &Got) -> Option<String> {
    if test.expect.because.is_empty() || !got.policies.is_empty() {
        return None;
    }
    let by_policy = got.stage.as_deref() == Some(Stage::Decide.name());
    Some(if by_policy {
        "it is denied because no policy permits it; only a `forbid` can be the cause of a denial"
            .to_owned()
    } else {
        "it was refused before any policy was asked".to_owned()
    })
}
