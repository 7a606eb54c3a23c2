//! Pages that an error sends the user to: "first open these, then ask again" (2025-11-25,
//! `URLElicitationRequiredError`). Clients open them as they would for a request.

use crate::session::Spoken;
use crate::wire::{KnownMethod, Message, Value};

use crate::gate::asking::declared::{elicit, negotiated};
use crate::gate::query::{About, Asks, Question};
use crate::gate::rejection::Rejection;

/// The code of such an error.
const CODE: i64 = -32_042;

/// Whether an error is one that sends the user to pages.
pub(in crate::gate) fn is_required(error: Value<'_>) -> bool {
    error.get("code").and_then(Value::as_i64) == Some(CODE)
}

/// The pages as they stand in a reply, if it is such an error.
pub(in crate::gate) fn listed(message: &Message) -> Option<Value<'_>> {
    let error = message.error().filter(|error| is_required(*error))?;
    error.at(&["data", "elicitations"])
}

/// Each page is judged as the request would be that sends the user there.
pub(in crate::gate) fn questions<'m>(
    message: &'m Message,
    spoken: &Spoken,
) -> Result<Vec<Question<'m>>, Rejection> {
    if !message.error().is_some_and(is_required) {
        return Ok(Vec::new());
    }
    let listed = listed(message).filter(|listed| listed.is_array() && !listed.is_empty());
    let listed = listed.filter(|listed| listed.len() <= MAX_INPUT_REQUESTS);
    let listed = listed.ok_or_else(|| {
        Rejection::bad_reply(
            "it sends the user to pages, and its `elicitations` are not 1 to 32 of them",
        )
    })?;
    listed.items().map(|page| question(page, spoken)).collect()
}

fn question<'m>(page: Value<'m>, spoken: &Spoken) -> Result<Question<'m>, Rejection> {
    let mode = page.get("mode").and_then(Value::as_str);
    if mode.as_deref() != Some("url") {
        return Err(Rejection::bad_reply("it sends the user to what is no page"));
    }
    KnownMethod::Elicit.check_params(Some(page))?;
    negotiated(KnownMethod::Elicit, spoken, Some(page))?;
    Ok(Question {
        asks: Asks::Server,
        about: About::Client,
        doing: elicit(Some(page)),
    })
}

/// How many questions one result may carry (MCP 2026-07-28, multi round-trip requests): more than
/// any form needs, and few enough to judge.
pub(in crate::gate) const MAX_INPUT_REQUESTS: usize = 32;
