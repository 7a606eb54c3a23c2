//! The gate forwards the cursor of a list only if the server gave it to this session. Otherwise an agent
//! could send any text as a cursor, at every level.

use crate::session::{Exchange, Session, State};
use crate::wire::{KnownMethod, Message, Side, Value};

use super::classified::Role;
use super::context::RequestContext;
use super::filter::{Filter, Flow, Hook};
use super::page::Shape;
use super::query::Understood;
use super::rejection::Rejection;

/// Whether a method returns a list in pages.
pub(super) fn is_paged(method: KnownMethod) -> bool {
    Shape::got_by(method).is_some() || method == KnownMethod::TasksList
}

/// Rejects cursors that the agent was not given.
#[derive(Debug)]
pub(super) struct Cursors;

impl Filter for Cursors {
    fn on_request<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        check(&cx.understood, cx.session)?;
        Flow::DONE
    }
}

/// # Errors
/// [`Rejection`] when the agent brings one that it was not given for this list.
fn check(understood: &Understood<'_>, session: &Session) -> Result<(), Rejection> {
    let identified = &understood.identified;
    let (Role::Request { method, .. }, Side::Agent) = (&identified.role, identified.from) else {
        return Ok(());
    };
    let params = identified.message.params();
    let cursor = params.and_then(|params| params.get("cursor"));
    let Some(cursor) = cursor.filter(|_| is_paged(*method)) else {
        return Ok(());
    };
    let was_given = |cursor: &str| session.state().lists.cursors.was_given(*method, cursor);
    match cursor.as_str() {
        Some(cursor) if was_given(&cursor) => Ok(()),
        Some(_) | None => Err(Rejection::unknown_cursor()),
    }
}

/// Remembers the cursor of a page that goes to the agent.
pub(super) fn give(state: &mut State, exchange: &Exchange, message: &Message) {
    let next = message.result().and_then(|result| result.get("nextCursor"));
    if let Some(next) = next.and_then(Value::as_str)
        && is_paged(exchange.method)
    {
        state.lists.cursors.give(exchange.method, &next);
    }
}
