//! What a server may ask an agent for, by what the agent has declared.

use crate::policy::{UNREADABLE_HOST, page_host};
use crate::session::{Extension, Spoken};
use crate::wire::{KnownMethod, Value};

use crate::gate::query::{Doing, Elicitation, Unaskable};
use crate::gate::rejection::Rejection;

use super::form;

/// What a server wants of the agent's user.
pub(in crate::gate) fn elicit(params: Option<Value<'_>>) -> Doing<'_> {
    let get = |key| params.and_then(|params| params.get(key)?.as_str());
    let mode = get("mode").unwrap_or("form".into());
    if mode != "url" {
        let form::Form { fields, problem } = form::read(params);
        return Doing::Elicit(Elicitation {
            mode,
            fields,
            host: String::new(),
            id: None,
            problem,
        });
    }
    let host = get("url").and_then(|url| page_host(&url));
    let has_form = params.is_some_and(|params| params.get("requestedSchema").is_some());
    Doing::Elicit(Elicitation {
        mode,
        fields: Vec::new(),
        host: host.unwrap_or(UNREADABLE_HOST.to_owned()),
        id: get("elicitationId"),
        problem: has_form.then_some(Unaskable::Form("it stands beside a page")),
    })
}

/// Whether the agent has said that it answers what a server asks or tells.
///
/// # Errors
/// [`Rejection`] if it has not said so of the method, or of something in the request.
pub(in crate::gate) fn negotiated(
    method: KnownMethod,
    spoken: &Spoken,
    params: Option<Value<'_>>,
) -> Result<(), Rejection> {
    let within = &spoken.within;
    let declares = |what: Extension| what == Extension::Declared;
    let needs = [
        (KnownMethod::CreateMessage, spoken.sampling),
        (KnownMethod::Elicit, knows_mode(spoken, params)),
        (KnownMethod::ElicitationComplete, declares(spoken.pages)),
        (KnownMethod::RootsList, spoken.roots),
        (KnownMethod::TasksGet, declares(within.tasks)),
        (KnownMethod::TasksResult, declares(within.tasks)),
        (KnownMethod::TasksList, declares(within.task_lists)),
        (KnownMethod::TasksCancel, declares(within.task_ends)),
    ];
    if needs.contains(&(method, false)) {
        return Err(Rejection::not_negotiated(method.name()));
    }
    let has = |key: &str| params.is_some_and(|params| params.get(key).is_some());
    let (is_sample, is_form) = (
        method == KnownMethod::CreateMessage,
        method == KnownMethod::Elicit,
    );
    let finer = [
        (
            is_sample && (has("tools") || has("toolChoice")),
            within.sample_tools,
            "sampling.tools",
        ),
        (
            is_sample && has("task"),
            within.sample_tasks,
            "tasks.requests.sampling.createMessage",
        ),
        (
            is_form && has("task"),
            within.elicit_tasks,
            "tasks.requests.elicitation.create",
        ),
    ];
    let undeclared = finer
        .into_iter()
        .find(|(asks, declared, _)| *asks && *declared == Extension::Undeclared);
    match undeclared {
        Some((_, _, what)) => Err(Rejection::undeclared(what)),
        None => Ok(()),
    }
}

/// Whether the agent has said that it answers questions of this mode.
pub(super) fn knows_mode(spoken: &Spoken, params: Option<Value<'_>>) -> bool {
    let mode = params.and_then(|params| params.get("mode")?.as_str());
    match mode.as_deref() {
        Some("url") => spoken.pages == Extension::Declared,
        Some(_) | None => spoken.elicitation,
    }
}
