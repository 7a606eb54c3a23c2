//! Roots that agents know by paths of their own: what an agent says of them is turned into what the server
//! knows before anything is judged, and what a server says comes back as the agent knows it.
//!
//! Names that a peer wants back as they are (cursors, states, tokens) stay as they are.

use crate::audit;
use crate::policy::{Labels, PolicySnapshot};
use crate::wire::{KnownMethod, Limits, Message, Method, Side, Value};

use super::canonical::values_at;
use super::record::Trail;
use super::rejection::Rejection;
use super::renaming::note_renamed;
use super::{Gate, oblige, resources};

impl Gate {
    /// A message in the server's words.
    pub(super) fn inward(
        &self,
        message: Message,
        from: Side,
        current: &PolicySnapshot,
        trail: &mut Trail,
    ) -> Result<Message, Rejection> {
        let inward = inward(&message, from, current.labels(), self.limits(from))?;
        Ok(inward.map_or(message, |(inward, edits)| {
            trail.edited(edits);
            inward
        }))
    }
}

/// A message of the agent's as the server would have to say it, and where it says something else; `None`
/// where it is the same.
fn inward(
    message: &Message,
    from: Side,
    labels: &Labels,
    limits: &Limits,
) -> Result<Option<(Message, Vec<audit::Edit>)>, Rejection> {
    if from == Side::Upstream || !labels.roots.have_guises() {
        return Ok(None);
    }
    let mut strings = Vec::new();
    for value in paths_of(message, labels) {
        let said = value.as_str();
        if let Some(inward) = said.and_then(|said| labels.roots.inward(&said)) {
            strings.push((value, inward));
        }
    }
    let mut edits = Vec::new();
    note_renamed(&strings, &mut edits);
    let rewritten = oblige::rewritten(message, strings, limits)?;
    Ok(rewritten.map(|message| (message, edits)))
}

/// What of a message of the agent's the gate knows to be a path or a URI.
fn paths_of<'m>(message: &'m Message, labels: &Labels) -> Vec<Value<'m>> {
    let params = message.params();
    let at = |path: &[&str]| params.and_then(|params| params.at(path));
    let Some(method) = message.method() else {
        return roots_of(message.result()).collect();
    };
    let answers = at(&["inputResponses"]).into_iter().flat_map(Value::entries);
    let mut found: Vec<_> = answers.flat_map(|(_, it)| roots_of(Some(it))).collect();
    found.extend(named_in(method, params, labels));
    found
}

/// What the agent answers to `roots/list`.
pub(super) fn roots_of(answer: Option<Value<'_>>) -> impl Iterator<Item = Value<'_>> {
    let roots = answer.and_then(|answer| answer.get("roots"));
    let roots = roots.into_iter().flat_map(Value::items);
    roots.filter_map(|root| root.get("uri"))
}

/// What the params of a method say of places.
fn named_in<'m>(method: &Method, params: Option<Value<'m>>, labels: &Labels) -> Vec<Value<'m>> {
    let at = |path: &[&str]| params.and_then(|params| params.at(path));
    let Method::Known(method) = method else {
        return Vec::new();
    };
    if *method == KnownMethod::ToolsCall {
        let name = at(&["name"]).and_then(Value::as_str).unwrap_or_default();
        let pointers = labels.path_pointers(&name).iter();
        let arguments = at(&["arguments"]);
        return pointers
            .flat_map(|pointer| arguments.map_or_else(Vec::new, |all| values_at(all, pointer)))
            .flat_map(|value| value.items().chain([value]))
            .collect();
    }
    let named = resources::named_in(*method, params).into_iter();
    named.map(|(_, named)| named.value).collect()
}
