//! What is certain of a question, whatever a record does not tell.

use super::super::listing;
use crate::policy::{
    ActionName, Facts, PartialRequest, Pin, PolicySnapshot, Prompt, ResourceFacts, Tool, Tristate,
};

/// Whether a question is allowed, if that is certain. `facts` say what the message holds, if that is known.
pub(super) fn settled(
    question: &PartialRequest<'_>,
    facts: Option<&Facts<'_>>,
    snapshot: &PolicySnapshot,
) -> Option<bool> {
    let outlook = match facts {
        Some(facts) => snapshot.outlook_of(facts, question),
        None => snapshot.outlook(question),
    };
    let settled = outlook.settled();
    if question.action != ActionName::CallTool {
        return settled;
    }
    // What may be called but not listed is not there.
    let listing = PartialRequest {
        action: ActionName::ListTool,
        ..question.clone()
    };
    match snapshot.outlook(&listing).forbidden {
        Tristate::Always => Some(false),
        Tristate::Sometimes => settled.filter(|allowed| !allowed),
        Tristate::Never => settled,
    }
}

/// All questions of a message have to be allowed.
pub(super) fn both(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        (None, _) | (_, None) => None,
    }
}

/// The target, as each kind of thing that it may be.
pub(super) struct KnownTargets {
    pub(super) tool: Tool,
    pub(super) prompt: Prompt,
    pub(super) resource: ResourceFacts,
}

impl KnownTargets {
    pub(super) fn new(target: &str, pin: Pin, prompt: Pin) -> Self {
        Self {
            tool: Tool {
                pin,
                ..Tool::named(target)
            },
            prompt: Prompt {
                pin: prompt,
                ..Prompt::named(target)
            },
            resource: listing::resource(target.to_owned()),
        }
    }
}

/// Whether a policy may oblige to raise the level. Engines do not tell, and every language has the word.
pub(super) fn may_oblige_to_raise(snapshot: &PolicySnapshot) -> bool {
    let mut sources = snapshot.sources().iter();
    sources.any(|source| source.text.contains("raise"))
}
