//! The call that a notification or a server's request belongs to: its records have the same ids.

use std::sync::Arc;

use crate::session::{Exchange, Origin, PendingTable, Session, State};
use crate::wire::{Id, KnownMethod, Side, Stream, WorkIds};

use crate::gate::classified::{Identified, Role, asker};
use crate::gate::route::told_of;

use super::Trail;

impl Trail {
    /// Gives it the ids of the call that it belongs to, as far as that is known.
    pub(super) fn take_ids_of_call(&mut self, identified: &Identified<'_>, session: &Session) {
        let ids = {
            let state = session.state();
            match identified.role {
                Role::Notification { method } => told(identified, method, session, &state),
                Role::Request { .. } => of_stream(identified, &state),
                Role::Reply(_) => None,
            }
        };
        if let Some(ids) = ids {
            self.belongs_to(&ids);
        }
    }
}

fn told(
    identified: &Identified<'_>,
    method: KnownMethod,
    session: &Session,
    state: &State,
) -> Option<Arc<WorkIds>> {
    if method == KnownMethod::Cancelled {
        return cancelled(identified, session, state);
    }
    if method != KnownMethod::Progress {
        return of_stream(identified, state);
    }
    let token = told_of(identified)?;
    match identified.from {
        Side::Agent => {
            let (_, asked) = state.waiting.to_agent.with_progress_token(&token).next()?;
            Some(ids_of(asked))
        }
        Side::Upstream => session.in_progress(state, &token).map(ids_of),
    }
}

/// Of the request that a cancellation names, whether it was sent or waits.
fn cancelled(
    identified: &Identified<'_>,
    session: &Session,
    state: &State,
) -> Option<Arc<WorkIds>> {
    let named = identified.message.params()?.get("requestId")?;
    let asker = asker(
        session,
        identified.from,
        &Id::read(named)?,
        identified.stream,
    );
    let table = match identified.from {
        Side::Agent => &state.waiting.to_upstream,
        Side::Upstream => &state.waiting.to_agent,
    };
    if let Some((_, exchange)) = table.by_asker(&asker) {
        return Some(ids_of(exchange));
    }
    let for_people = state.waiting.asking.waiting.iter();
    let for_people = for_people.filter(|it| it.from == identified.from);
    let parked = state.waiting.parked.iter();
    let parked = parked.filter(|_| identified.from == Side::Agent);
    let mut waiting = for_people.map(|it| &it.request).chain(parked);
    let waits = waiting.find(|waiting| waiting.asker == asker)?;
    Some(Arc::clone(&waits.ids.correlation))
}

/// Of the call on whose stream a server says something; where streams say nothing, of the only call that
/// is open.
fn of_stream(identified: &Identified<'_>, state: &State) -> Option<Arc<WorkIds>> {
    if identified.from == Side::Agent {
        return None;
    }
    let exchange = match identified.stream {
        Stream::MAIN | Stream::UNTOLD => only_call(&state.waiting.to_upstream)?,
        stream => {
            let opened_by = state
                .waiting
                .to_upstream
                .by_minted(&Id::integer(stream.number()));
            opened_by?.1
        }
    };
    Some(ids_of(exchange))
}

fn only_call(sent: &PendingTable) -> Option<&Exchange> {
    let is_call = |exchange: &Exchange| {
        exchange.method == KnownMethod::ToolsCall && matches!(exchange.origin, Origin::Peer(_))
    };
    let mut calls = sent.in_flight().filter(|(_, exchange)| is_call(exchange));
    let (_, only) = calls.next()?;
    calls.next().is_none().then_some(only)
}

fn ids_of(exchange: &Exchange) -> Arc<WorkIds> {
    Arc::clone(&exchange.ids.correlation)
}
