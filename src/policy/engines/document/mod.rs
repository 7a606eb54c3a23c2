//! What an engine without our schema is asked: the facts as one document.
//!
//! The words are those of the Cedar schema, so that a rule says the same thing in each language; the
//! shape is published as `docs/schema/input.schema.json`. What a number or a pointer cannot say
//! faithfully is not said at all: the engine has a fault.

mod arguments;
mod known_names;
mod node;
mod numbers;
mod parts;
mod samples;
#[cfg(test)]
mod tests;

pub(super) use self::known_names::KnownNames;
pub(super) use self::node::{DocumentEncodingError, DocumentNode, Object};
pub(super) use self::samples::samples;

use self::node::{object, text, texts};
use self::parts::{context, principal, resource};
use super::cedar::ToolGroups;
use crate::policy::{
    Action, ActionName, EngineFault, Facts, ListFacts, Resource, Verdict, Visibility,
};

/// The members of the document: `action`, `actionGroups`, `principal`, `resource`, `context`.
pub(super) fn of<'a>(
    facts: &'a Facts<'_>,
    groups: &'a ToolGroups,
) -> Result<Object<'a>, DocumentEncodingError> {
    let name = facts.action.name();
    Ok(object([
        ("action", text(name.as_str())),
        ("actionGroups", texts(action_groups(name))),
        ("principal", principal(facts.principal)),
        (
            "resource",
            resource(facts.resource, facts.env.server, groups),
        ),
        ("context", context(&facts.action, &facts.env)?),
    ]))
}

/// Each item is shown, hidden or passed over as `judge` answers whether it may be listed.
pub(super) fn visible(
    list: &ListFacts<'_>,
    items: &[Resource<'_>],
    judge: impl Fn(&Facts<'_>) -> Result<Verdict, EngineFault>,
) -> Vec<Result<Visibility, EngineFault>> {
    let items = items.iter();
    items
        .map(|item| match listing(list, *item) {
            Some(asked) => judge(&asked).map(Visibility::from),
            None => Ok(Visibility::Hidden),
        })
        .collect()
}

/// The question whether an item may be listed; nothing for what is in no list.
fn listing<'a>(list: &ListFacts<'a>, item: Resource<'a>) -> Option<Facts<'a>> {
    let action = match item {
        Resource::Tool(_) => Action::ListTool,
        Resource::Resource(_) => Action::ListResource,
        Resource::Prompt(_) => Action::ListPrompt,
        Resource::Method(_) | Resource::Server(_) | Resource::Client(_) | Resource::Host(_) => {
            return None;
        }
    };
    Some(Facts {
        principal: list.principal,
        action,
        resource: item,
        env: list.env.clone(),
    })
}

/// The groups of the Cedar schema that an action is in, near and far.
pub(super) const fn action_groups(name: ActionName) -> &'static [&'static str] {
    match name {
        ActionName::Initialize | ActionName::Ping | ActionName::Cancel | ActionName::Notify => {
            &["lifecycle", "any"]
        }
        ActionName::ListTool | ActionName::ListResource | ActionName::ListPrompt => {
            &["discover", "any"]
        }
        ActionName::SetLevel
        | ActionName::Listen
        | ActionName::CallTool
        | ActionName::ReadResource
        | ActionName::Subscribe
        | ActionName::GetPrompt
        | ActionName::Complete
        | ActionName::Extension => &["use", "any"],
        ActionName::Sample | ActionName::Elicit | ActionName::ListRoots => {
            &["server_request", "any"]
        }
        ActionName::ReceiveResult | ActionName::ConnectHost => &["any"],
    }
}
