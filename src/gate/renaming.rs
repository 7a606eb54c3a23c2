//! Paths of the agent by the names that the server knows, and the other way round.

use std::borrow::Cow;

use crate::audit;
use crate::policy::{PolicySnapshot, Roots};
use crate::wire::{Message, Side, Value};

use super::classified::Identified;
use super::noted::note_replaced;

/// Members whose text is another's to read.
pub(super) const OPAQUE: [&str; 8] = [
    "requestState",
    "nextCursor",
    "cursor",
    "progressToken",
    "taskId",
    "id",
    "requestId",
    "blob",
];

/// Notes what names a root by the other side's path from here on.
pub(super) fn note_renamed(renamed: &[(Value<'_>, String)], notes: &mut Vec<audit::Edit>) {
    let because = |(value, _): &(_, String)| (*value, "a virtual root".to_owned());
    note_replaced(renamed.iter().map(because), notes);
}

/// Every text of a message in which a root is named, with what it says instead.
/// `said` is what it says by now.
pub(super) fn renamed<'m>(
    message: &'m Message,
    roots: &Roots,
    said: impl Fn(Value<'m>) -> Option<Cow<'m, str>>,
) -> Vec<(Value<'m>, String)> {
    let mut found = Vec::new();
    let parts = [message.params(), message.result(), message.error()];
    let mut todo: Vec<Value<'m>> = parts.into_iter().flatten().collect();
    while let Some(value) = todo.pop() {
        if let Some(other) = said(value).and_then(|text| roots.outward(&text)) {
            found.push((value, other));
            continue;
        }
        let has_bytes = value.get("mimeType").is_some();
        for (key, member) in value.entries() {
            let is_opaque = OPAQUE.contains(&&*key) || has_bytes && key == "data";
            if !is_opaque {
                todo.push(member);
            }
        }
        todo.extend(value.items());
    }
    found
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
