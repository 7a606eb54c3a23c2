//! What is told of a task beside what came of it.
//!
//! Which task it is, how it stands and since when is no result: whoever may ask about a task may be told.
//! Everything else (`statusMessage`, what a later revision adds, what a server likes to add) comes of
//! the call that it began with, and is as sensitive as that.

use std::borrow::Cow;

use crate::wire::Value;

/// How a task may stand (MCP 2025-11-25, basic/utilities/tasks).
const STANDS: [&str; 5] = [
    "working",
    "input_required",
    "completed",
    "failed",
    "cancelled",
];

/// The longest time that is one (RFC 3339).
const LONGEST_TIME: usize = 40;

/// What begins the keys of the protocol's own in `_meta`.
const OF_THE_PROTOCOL: &str = "io.modelcontextprotocol/";

/// Members that may say something of what came of a task, by their keys.
pub(super) fn beyond_its_state(told: Value<'_>) -> impl Iterator<Item = (Cow<'_, str>, Value<'_>)> {
    told.entries()
        .filter(|(key, value)| !is_of_its_state(key, *value))
}

/// Whether news of a task may say something of what came of it.
pub(super) fn says_more(told: Value<'_>) -> bool {
    // What a task asks is not told in news.
    beyond_its_state(told).any(|(key, _)| key != "inputRequests")
}

fn is_of_its_state(key: &str, value: Value<'_>) -> bool {
    let text = value.as_str();
    match key {
        "taskId" => text.is_some(),
        "status" => text.is_some_and(|text| STANDS.contains(&&*text)),
        "createdAt" | "lastUpdatedAt" => text.is_some_and(|text| is_time(&text)),
        "ttl" | "ttlMs" | "pollInterval" | "pollIntervalMs" => {
            value.is_null() || value.as_i64().is_some()
        }
        "resultType" => text.is_some_and(|text| text == "complete"),
        "_meta" => {
            let mut keys = value.entries().map(|(key, _)| key);
            value.is_object() && keys.all(|key| key.starts_with(OF_THE_PROTOCOL))
        }
        _ => false,
    }
}

/// Whether a text can be nothing but a time.
fn is_time(text: &str) -> bool {
    let is_part = |it: u8| it.is_ascii_digit() || b"TtZz:.+- ".contains(&it);
    text.len() <= LONGEST_TIME && text.bytes().all(is_part)
}
