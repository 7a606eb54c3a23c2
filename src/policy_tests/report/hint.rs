//! What an author probably wants to know next.

use super::super::actual::{ActualOutcome, RejectedPart};
use super::super::fixture::{Sends, TestStep};
use super::super::fixture_words::TestDecision;
use crate::gate::Stage;
use crate::wire::{KnownMethod, Side};

/// A hint for a message that did not become what was expected.
pub(super) fn hint(step: &TestStep, got: &ActualOutcome) -> Option<String> {
    if got.at == RejectedPart::Handshake {
        return Some(
            "the agent's `initialize` was refused, so that nothing it sends has a session to be in"
                .to_owned(),
        );
    }
    if got.fault.is_some() {
        return Some(
            "a fault denies, whatever the other policies say: guard the condition, or expect the \
             fault with `errors = [\"…\"]`"
                .to_owned(),
        );
    }
    match (step.expect.decision, got.decision) {
        (TestDecision::Allow, TestDecision::Deny) => refused(step, got),
        (TestDecision::Deny, TestDecision::Allow) => {
            let help = "nothing forbids it: a `forbid` wins over every `permit`, or narrow the \
                        `permit` above";
            Some(help.to_owned())
        }
        (TestDecision::Allow, TestDecision::Allow) => Some(shown(step, got)),
        (TestDecision::Deny, TestDecision::Deny) => denied_otherwise(step, got),
    }
}

fn refused(step: &TestStep, got: &ActualOutcome) -> Option<String> {
    let reason = got.reason.as_deref()?;
    Some(match reason {
        "not_permitted" => "no policy permits it; what is not permitted is denied".to_owned(),
        "unknown_tool" => {
            "the upstream does not offer it: add its name to `tools` of the fixture".to_owned()
        }
        "forbidden" => "a `forbid` wins over every `permit`".to_owned(),
        "unknown_method" => return unknown_method(step),
        _ if got.stage.as_deref() != Some(Stage::Decide.name()) => {
            "it was refused before any policy was asked".to_owned()
        }
        _ => return None,
    })
}

fn unknown_method(step: &TestStep) -> Option<String> {
    let Sends::Frame { from, frame } = &step.sends else {
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
        None => "the gate refuses methods that it does not know: one of an extension belongs into \
                 `extensions` of the fixture, or `[extensions]` of the configuration"
            .to_owned(),
    })
}

/// Of what is right to be allowed, something else is wrong.
fn shown(step: &TestStep, got: &ActualOutcome) -> String {
    let (Sends::List(_), Some(shown)) = (&step.sends, &got.shown) else {
        return "of what is allowed, every permit that holds has decided, and nothing else"
            .to_owned();
    };
    let visible = step.expect.listed.iter().flatten();
    let missing = visible.filter(|name| !shown.contains(name.get_ref()));
    let help = if missing.count() > 0 {
        "a list shows what can be used with some arguments: no policy permits any use of what is \
         missing, or one forbids every use"
    } else {
        "a list shows what can be used with some arguments; to hide more, forbid `list_tool`, \
         `list_resource` or `list_prompt`"
    };
    help.to_owned()
}

fn denied_otherwise(step: &TestStep, got: &ActualOutcome) -> Option<String> {
    if step.expect.policies.is_empty() || !got.policies.is_empty() {
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
