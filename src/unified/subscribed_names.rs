//! The names in a subscription, which servers and the agent call differently.

use super::merge::{Json, ServerAnswer, union};
use super::name_map::NameMap;
use crate::mcp::meta;
use crate::wire::{Fragment, Id, Message, Value};

/// The request of the subscription that a message belongs to (since 2026-07-28).
pub(super) fn subscription_of(message: &Message) -> Option<Id> {
    let meta = message.params()?.get("_meta")?;
    Id::read(meta.get(meta::SUBSCRIPTION)?)
}

/// What the servers of a subscription tell of: all that any of them does.
pub(super) fn acknowledgement(parts: &[ServerAnswer], names: &NameMap) -> Option<String> {
    let first = parts.first()?;
    let honoured = parts.iter().filter_map(|part| {
        let params = part.message.params()?;
        params.get("notifications")
    });
    let mut merged = union(&honoured.collect::<Vec<_>>());
    for list in FOLLOWED {
        let items = parts.iter().flat_map(|part| {
            let items = honoured_items(part, list);
            items.filter_map(|item| Some(followed(list, part.server, &item.as_str()?, names)))
        });
        let items: Vec<_> = items.map(|name| Fragment::string(&name)).collect();
        if !items.is_empty() {
            merged.put(list, Json::Other(Fragment::array(items)));
        }
    }
    let mut edits = first.message.edits();
    edits.insert(first.message.params()?, "notifications", merged.into());
    Some(edits.finish())
}

/// Members of a subscription that are names.
pub(super) const FOLLOWED: [&str; 2] = [URIS, "taskIds"];

const URIS: &str = "resourceSubscriptions";

fn honoured_items<'m>(part: &'m ServerAnswer, list: &str) -> impl Iterator<Item = Value<'m>> {
    let params = part.message.params();
    let list = params.and_then(|params| params.at(&["notifications", list]));
    list.into_iter().flat_map(Value::items)
}

/// The agent's name of what it follows.
fn followed(list: &str, server: usize, name: &str, names: &NameMap) -> String {
    if list == URIS {
        names.encode_uri(server, name)
    } else {
        names.encode_id(server, name)
    }
}

/// The server's name of what the agent follows.
pub(super) fn own_followed(list: &str, shown: &str, names: &NameMap) -> Option<(usize, String)> {
    if list == URIS {
        return names.decode_uri(shown);
    }
    let (server, name) = names.decode_id(shown)?;
    Some((server, name.to_owned()))
}
