//! Roots that agents know by paths of their own: what an agent says of them is turned into what the server
//! knows before anything is judged, and what a server says comes back as the agent knows it.
//!
//! Names that a peer wants back as they are (cursors, states, tokens) stay as they are.

use std::borrow::Cow;

use crate::policy::{Labels, PolicySnapshot, Roots};
use crate::wire::{KnownMethod, Limits, Message, Method, Side, Value};

use super::Gate;
use super::canonical::values_at;
use super::identify::Identified;
use super::oblige;
use super::record::Trail;
use super::refuse::Refusal;
use super::resources;

/// Members whose text is another's to read.
const OPAQUE: [&str; 8] = [
    "requestState",
    "nextCursor",
    "cursor",
    "progressToken",
    "taskId",
    "id",
    "requestId",
    "blob",
];

impl Gate {
    /// A message in the server's words.
    pub(super) fn inward(
        &self,
        message: Message,
        from: Side,
        current: &PolicySnapshot,
        trail: &mut Trail,
    ) -> Result<Message, Refusal> {
        let inward = inward(&message, from, current.labels(), self.limits(from))?;
        Ok(inward.map_or(message, |(inward, places)| {
            trail.renamed(&places);
            inward
        }))
    }
}

/// A message of the agent's as the server would have to say it, and where it says something else
/// (RFC 6901); `None` where it is the same.
fn inward(
    message: &Message,
    from: Side,
    labels: &Labels,
    limits: &Limits,
) -> Result<Option<(Message, Vec<String>)>, Refusal> {
    if from == Side::Upstream || !labels.roots.have_guises() {
        return Ok(None);
    }
    let mut strings = Vec::new();
    let mut places = Vec::new();
    for (place, value) in paths_of(message, labels) {
        let said = value.as_str();
        if let Some(inward) = said.and_then(|said| labels.roots.inward(&said)) {
            strings.push((value, inward));
            places.push(place);
        }
    }
    let rewritten = oblige::rewritten(message, strings, limits)?;
    Ok(rewritten.map(|message| (message, places)))
}

/// What of a message of the agent's the gate knows to be a path or a URI, and where it stands.
fn paths_of<'m>(message: &'m Message, labels: &Labels) -> Vec<(String, Value<'m>)> {
    let params = message.params();
    let at = |path: &[&str]| params.and_then(|params| params.at(path));
    let Some(method) = message.method() else {
        return roots_of(message.result(), "/result");
    };
    let mut found = Vec::new();
    for (key, answer) in at(&["inputResponses"]).into_iter().flat_map(Value::entries) {
        let place = format!("/params/inputResponses/{}", oblige::escaped(&key));
        found.extend(roots_of(Some(answer), &place));
    }
    found.extend(named_in(method, params, labels));
    found
}

/// What the agent answers to `roots/list`.
pub(super) fn roots_of<'m>(answer: Option<Value<'m>>, place: &str) -> Vec<(String, Value<'m>)> {
    let roots = answer.and_then(|answer| answer.get("roots"));
    let roots = roots.into_iter().flat_map(Value::items).enumerate();
    let uri = |(index, root): (usize, Value<'m>)| {
        Some((format!("{place}/roots/{index}/uri"), root.get("uri")?))
    };
    roots.filter_map(uri).collect()
}

/// What the params of a method say of places.
fn named_in<'m>(
    method: &Method,
    params: Option<Value<'m>>,
    labels: &Labels,
) -> Vec<(String, Value<'m>)> {
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
            .flat_map(|(pointer, value)| {
                let of_items = pointer.clone();
                let items = value.items().enumerate();
                let items = items.map(move |(index, item)| (format!("{pointer}/{index}"), item));
                items.chain([(of_items, value)])
            })
            .map(|(pointer, value)| (format!("/params/arguments{pointer}"), value))
            .collect();
    }
    let named = resources::named_in(*method, params).into_iter();
    named.map(|(place, named)| (place, named.value)).collect()
}

/// The roots that have other names for whom a message goes to, if it may name any.
pub(super) fn outward<'s>(
    identified: &Identified<'_>,
    snapshot: &'s PolicySnapshot,
) -> Option<&'s Roots> {
    let roots = &snapshot.labels().roots;
    let may_name = || roots.may_be_named_in(identified.message.text());
    (identified.from == Side::Upstream && roots.have_guises() && may_name()).then_some(roots)
}

/// Every text of a message in which a root is named, with what it says instead and where it stands.
/// `said` is what it says by now.
pub(super) fn renamed<'m>(
    message: &'m Message,
    roots: &Roots,
    said: impl Fn(Value<'m>) -> Option<Cow<'m, str>>,
) -> Vec<(Value<'m>, String, String)> {
    let mut found = Vec::new();
    let parts = [
        ("/params", message.params()),
        ("/result", message.result()),
        ("/error", message.error()),
    ];
    let mut todo: Vec<(String, Value<'m>)> = parts
        .into_iter()
        .filter_map(|(place, value)| Some((place.to_owned(), value?)))
        .collect();
    while let Some((place, value)) = todo.pop() {
        if let Some(other) = said(value).and_then(|text| roots.outward(&text)) {
            found.push((value, other, place));
            continue;
        }
        let has_bytes = value.get("mimeType").is_some();
        for (key, member) in value.entries() {
            let is_opaque = OPAQUE.contains(&&*key) || has_bytes && key == "data";
            if !is_opaque {
                todo.push((format!("{place}/{}", oblige::escaped(&key)), member));
            }
        }
        for (index, item) in value.items().enumerate() {
            todo.push((format!("{place}/{index}"), item));
        }
    }
    found
}
