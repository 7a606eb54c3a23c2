//! `@obligation_canonical("paths")`: what a server reads as a path is what was judged as one.
//!
//! Labels compare paths in one spelling, and a server reads the one that the agent wrote: `/srv/x/../a`
//! is below `/srv` for both, until `x` is a symbolic link. So the call goes on with the one spelling.
//! Conditions on the text of arguments would then have been asked of another text, so that the call is
//! judged again as it will be sent, and both have to be allowed. Where the gate has followed links, the one
//! spelling is that of the place to which they lead.
//!
//! `@obligation_canonical("uris")` does the same for what a message names by URI.

use crate::policy::{
    AllowDecision, CanonicalPathError, CanonicalPaths, Obligation, PolicySnapshot,
};
use crate::wire::{Fragment, Value};

use super::query::{About, Doing, Question, Respelled, Understood};
use super::rejection::Rejection;
use super::resources;

/// What a message names by paths and URIs, as it will be sent.
pub(super) fn respelled(paths: &CanonicalPaths, uris: Respelled) -> Respelled {
    let mut respelled = uris;
    for (pointer, path) in paths {
        respelled.insert(format!("{ARGUMENTS}{pointer}"), path.clone());
    }
    respelled
}

/// What obliges to write it so.
pub(super) fn cause(pointer: &str) -> Obligation {
    if pointer.starts_with(ARGUMENTS) {
        Obligation::CanonicalPaths
    } else {
        Obligation::CanonicalUris
    }
}

/// Where the arguments of a call stand in it.
pub(super) const ARGUMENTS: &str = "/params/arguments";

/// The URIs of a message that are to be written otherwise, if allowances ask for that. All of them have
/// been judged in the one spelling as well, or are links that nobody is asked about.
///
/// # Errors
/// [`Rejection`]: what an allowance obliges to is done, or the message does not pass.
pub(super) fn due_uris(
    understood: &Understood<'_>,
    allowances: &[AllowDecision],
) -> Result<Respelled, Rejection> {
    let mut respelled = Respelled::new();
    if !asks_for(&Obligation::CanonicalUris, allowances) {
        return Ok(respelled);
    }
    for (pointer, named) in resources::named(understood) {
        let text = named.value.as_str();
        let elsewhere = understood.followed.elsewhere.get(&pointer).cloned();
        let canonical = || text.as_deref().and_then(|text| named.kind.canonical(text));
        let canonical = elsewhere.or_else(canonical);
        let Some(canonical) = canonical else {
            return Err(resources::no_uri(pointer, text.as_deref()).into());
        };
        if text.as_deref() != Some(&canonical) {
            respelled.insert(pointer, canonical);
        }
    }
    Ok(respelled)
}

fn asks_for(wanted: &Obligation, allowances: &[AllowDecision]) -> bool {
    let mut obligations = allowances.iter().flat_map(|it| &it.obligations);
    obligations.any(|it| it == wanted)
}

/// Whether the gate could look at all paths of a call. It is asked of calls that policies permit, so that
/// the answer shows no tool that the agent does not see.
///
/// # Errors
/// [`Rejection`] for more or longer paths than the gate looks at.
pub(super) fn bounded(
    understood: &Understood<'_>,
    snapshot: &PolicySnapshot,
) -> Result<(), Rejection> {
    let labels = snapshot.labels();
    for question in &understood.questions {
        if let (About::Tool(tool), Doing::CallTool(arguments, _)) =
            (&question.about, &question.doing)
        {
            labels.bound_paths(&tool.name, arguments)?;
        }
    }
    Ok(())
}

/// The paths of a call that are to be written otherwise, if allowances ask for that. Messages that are
/// no calls have none.
///
/// # Errors
/// [`Rejection`]: what an allowance obliges to is done, or the message does not pass.
pub(super) fn due(
    understood: &Understood<'_>,
    snapshot: &PolicySnapshot,
    allowances: &[AllowDecision],
) -> Result<CanonicalPaths, Rejection> {
    if !asks_for(&Obligation::CanonicalPaths, allowances) {
        return Ok(CanonicalPaths::new());
    }
    let Some(name) = understood.called_tool() else {
        return Ok(CanonicalPaths::new());
    };
    if let Some(pointer) = &understood.followed.astray {
        return Err(CanonicalPathError::Astray(pointer.clone()).into());
    }
    let mut paths = CanonicalPaths::new();
    for question in &understood.questions {
        if let Doing::CallTool(arguments, _) = &question.doing {
            paths.extend(snapshot.labels().canonical_paths(name, arguments)?);
        }
    }
    for (pointer, place) in &understood.followed.elsewhere {
        if let Some(pointer) = pointer.strip_prefix(ARGUMENTS) {
            paths.insert(pointer.to_owned(), place.clone());
        }
    }
    Ok(paths)
}

/// The question of a call as it will be sent.
pub(super) fn asked_again<'m>(
    question: &Question<'m>,
    arguments: Option<Value<'m>>,
    paths: &CanonicalPaths,
) -> Option<Question<'m>> {
    let (About::Tool(tool), Doing::CallTool(said, targets)) = (&question.about, &question.doing)
    else {
        return None;
    };
    let mut targets = targets.clone();
    for (pointer, path) in paths {
        let before = arguments.and_then(|all| value_at(all, pointer));
        let before = before.map_or(0, |value| value.text().len());
        let length = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
        let after = length(Fragment::string(path).into_string().len());
        targets.bytes = targets
            .bytes
            .saturating_add(after.saturating_sub(length(before)));
    }
    Some(Question {
        asks: question.asks,
        about: About::Tool(tool.clone()),
        doing: Doing::CallTool(said.with(paths), targets),
    })
}

/// The values at a JSON pointer in which `*` is each member.
pub(super) fn values_at<'m>(value: Value<'m>, pointer: &str) -> Vec<Value<'m>> {
    let mut found = vec![value];
    for step in pointer.split('/').skip(1) {
        let next = found.into_iter().flat_map(|value| {
            if step == "*" {
                let members = value.entries().map(|(_, member)| member);
                return members.chain(value.items()).collect();
            }
            let step_on = value_at(value, &format!("/{step}"));
            step_on.into_iter().collect::<Vec<_>>()
        });
        found = next.collect();
    }
    found
}

/// The value at a JSON pointer (RFC 6901).
pub(super) fn value_at<'m>(value: Value<'m>, pointer: &str) -> Option<Value<'m>> {
    pointer.split('/').skip(1).try_fold(value, |value, step| {
        let step = step.replace("~1", "/").replace("~0", "~");
        match value.get(&step) {
            Some(member) => Some(member),
            None => value.items().nth(step.parse().ok()?),
        }
    })
}
