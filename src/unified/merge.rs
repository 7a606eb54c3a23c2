//! One answer out of those of several servers: pieces of what each gate has permitted.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

use super::cursor::{Continued, cursor};
use super::name_map::NameMap;
use super::rename::name_for_agent;
use super::server_names;
use crate::wire::{Edits, Fragment, KnownMethod, Message, Value};

/// In `_meta` of a list: the keys of the servers whose part is missing.
const UNAVAILABLE: &str = "mcp-protector/unavailable";

/// Bytes of one server's instructions.
const MAX_INSTRUCTIONS_BYTES: usize = 4096;

/// What one server's gate has permitted.
pub(super) struct ServerAnswer {
    pub(super) server: usize,
    pub(super) message: Message,
}

/// The member of a result that is a list.
pub(super) fn list_of(method: KnownMethod) -> Option<&'static str> {
    const LISTS: [(KnownMethod, &str); 5] = [
        (KnownMethod::ToolsList, "tools"),
        (KnownMethod::PromptsList, "prompts"),
        (KnownMethod::ResourcesList, "resources"),
        (KnownMethod::ResourceTemplatesList, "resourceTemplates"),
        (KnownMethod::TasksList, "tasks"),
    ];
    let found = LISTS.iter().find(|(of, _)| *of == method);
    found.map(|(_, list)| *list)
}

/// A page: those of all servers, one after the other. What it has beside its items is of the first one.
pub(super) fn list(
    method: KnownMethod,
    parts: &[ServerAnswer],
    (missing, again): (&[usize], Continued),
    names: &NameMap,
) -> Option<String> {
    let list = list_of(method)?;
    let results = || {
        let parts = parts.iter();
        parts.filter_map(|part| Some((part, part.message.result()?)))
    };
    let (first, first_result) = results().next()?;
    let mut items = Vec::new();
    let mut continued = again;
    for (part, result) in results() {
        let mut edits = part.message.edits();
        for place in server_names::in_server_message(&part.message, method) {
            name_for_agent(&mut edits, place, part.server, names);
        }
        let list = result.get(list).into_iter().flat_map(Value::items);
        let is_shown = |item: &Value<'_>| {
            let name = item.get("name").and_then(Value::as_str);
            let name = name.unwrap_or_default();
            method != KnownMethod::ToolsList || names.shows_tool(part.server, &name)
        };
        items.extend(edits.fragments_of(list.filter(is_shown)));
        let next = result.get("nextCursor").and_then(Value::as_str);
        // A server that was removed meanwhile has no other page.
        let next = next.filter(|_| names.is_there(part.server));
        continued.extend(next.map(|next| (part.server, next.into_owned())));
    }
    let mut edits = first.message.edits();
    edits.insert(first_result, list, Fragment::array(items));
    if !continued.is_empty() {
        let next = Fragment::string(&cursor(&continued, names));
        edits.insert(first_result, "nextCursor", next);
    }
    set_least_lifetime(&mut edits, first_result, results().map(|(_, it)| it));
    if !missing.is_empty() {
        let keys = missing.iter().map(|it| Fragment::string(names.key(*it)));
        let keys = Fragment::array(keys);
        if let Some(meta) = first_result.get("_meta") {
            edits.insert(meta, UNAVAILABLE, keys);
        } else {
            let meta = Fragment::object([(UNAVAILABLE, keys)]);
            edits.insert(first_result, "_meta", meta);
        }
    }
    Some(edits.finish())
}

/// The answer to `initialize` or `server/discover`: what any of the servers can do.
pub(super) fn greeting(
    parts: &[ServerAnswer],
    missing: &[usize],
    names: &NameMap,
) -> Option<String> {
    let results = || {
        let parts = parts.iter();
        parts.filter_map(|part| Some((part, part.message.result()?)))
    };
    let (first, first_result) = results().next()?;
    let newest = results().filter_map(|(_, it)| it.get("protocolVersion")?.as_str());
    let newest = newest.max();
    let supported = results().filter_map(|(_, it)| it.get("supportedVersions"));
    let supported = supported.flat_map(Value::items).filter_map(Value::as_str);
    let supported: BTreeSet<_> = supported.collect();
    let capabilities = results().filter_map(|(_, it)| it.get("capabilities"));
    let mut capabilities = union(&capabilities.collect::<Vec<_>>());
    // Servers come later, and go.
    let all = !missing.is_empty();
    for list in ["tools", "prompts", "resources"] {
        if all && capabilities.member(list).is_none() {
            capabilities.put(list, Json::Object(Vec::new()));
        }
        if let Some(capability) = capabilities.member(list) {
            capability.put("listChanged", Json::Other(Fragment::truth()));
        }
    }
    let instructions = results().filter_map(|(part, it)| {
        let text = it.get("instructions")?.as_str()?;
        let text = text.get(..text.floor_char_boundary(MAX_INSTRUCTIONS_BYTES))?;
        Some(format!("## {}\n\n{text}", names.key(part.server)))
    });
    let instructions: Vec<String> = instructions.collect();
    let mut edits = first.message.edits();
    if let Some(newest) = newest {
        edits.insert(first_result, "protocolVersion", Fragment::string(&newest));
    }
    if first_result.get("serverInfo").is_some() {
        edits.insert(first_result, "serverInfo", own_name());
    }
    if !supported.is_empty() {
        let supported = supported.iter().rev().map(|it| Fragment::string(it));
        edits.insert(
            first_result,
            "supportedVersions",
            Fragment::array(supported),
        );
    }
    edits.insert(first_result, "capabilities", capabilities.into());
    set_least_lifetime(&mut edits, first_result, results().map(|(_, it)| it));
    if !instructions.is_empty() {
        let text = Fragment::string(&instructions.join("\n\n"));
        edits.insert(first_result, "instructions", text);
    }
    Some(edits.finish())
}

/// What is of several servers is kept for one agent, and no longer than any of them allows (since 2026-07-28).
fn set_least_lifetime<'d, 'r>(
    edits: &mut Edits<'d>,
    merged: Value<'d>,
    results: impl Iterator<Item = Value<'r>>,
) {
    let lifetimes = results.filter_map(|result| result.get("ttlMs")?.as_i64());
    if let Some(least) = lifetimes.min() {
        edits.insert(merged, "ttlMs", Fragment::integer(least));
        edits.insert(merged, "cacheScope", Fragment::string("private"));
    }
}

fn own_name() -> Fragment {
    Fragment::object([
        ("name", Fragment::string(env!("CARGO_PKG_NAME"))),
        ("version", Fragment::string(env!("CARGO_PKG_VERSION"))),
    ])
}

/// Capabilities while they are merged.
pub(super) enum Json {
    Object(Vec<(String, Json)>),
    Other(Fragment),
}

impl Json {
    fn member(&mut self, key: &str) -> Option<&mut Self> {
        match self {
            Self::Object(members) => {
                let mut members = members.iter_mut();
                let found = members.find(|(known, _)| known == key);
                found.map(|(_, value)| value)
            }
            Self::Other(_) => None,
        }
    }

    pub(super) fn put(&mut self, key: &str, value: Self) {
        if let Some(member) = self.member(key) {
            *member = value;
        } else if let Self::Object(members) = self {
            members.push((key.to_owned(), value));
        }
    }
}

impl From<Json> for Fragment {
    fn from(json: Json) -> Self {
        match json {
            Json::Object(members) => {
                let members: Vec<(String, Self)> = members
                    .into_iter()
                    .map(|(key, value)| (key, value.into()))
                    .collect();
                Self::object(members.iter().map(|(key, it)| (&**key, it.clone())))
            }
            Json::Other(fragment) => fragment,
        }
    }
}

/// Objects with the members of all; `true` where any is. Of other values the first.
pub(super) fn union(values: &[Value<'_>]) -> Json {
    let Some(first) = values.first() else {
        return Json::Object(Vec::new());
    };
    if !first.is_object() {
        let is_true = values.iter().any(|it| it.as_bool() == Some(true));
        let truth = is_true.then(Fragment::truth);
        return Json::Other(truth.unwrap_or_else(|| Fragment::copy_of(*first)));
    }
    let mut keys: Vec<String> = Vec::new();
    let mut of_all: HashMap<String, Vec<Value<'_>>> = HashMap::new();
    for (key, value) in values.iter().flat_map(|it| it.entries()) {
        let known = of_all.entry(key.into_owned());
        if let Entry::Vacant(new) = &known {
            keys.push(new.key().clone());
        }
        known.or_default().push(value);
    }
    let members = keys.into_iter().map(|key| {
        let merged = union(of_all.get(&key).map_or(&[], Vec::as_slice));
        (key, merged)
    });
    Json::Object(members.collect())
}
