//! Which request receives a server's log messages (MCP 2026-07-28, utilities/logging: only the request
//! that set a log level, on its own stream).

use crate::mcp::meta;
use crate::session::{Extension, Lifecycle, Origin, State};
use crate::wire::{Id, KnownMethod, Stream};

use super::classified::Identified;

/// Whether a log message may be told on this stream of the agent's.
pub(super) fn are_heard(identified: &Identified<'_>, state: &State, belongs_on: Stream) -> bool {
    // In a session the level is set for all of it.
    if !matches!(state.protocol.lifecycle, Lifecycle::New) || state.protocol.bridged.is_some() {
        return true;
    }
    let named = identified.message.meta();
    if named.is_some_and(|meta| meta.get(meta::SUBSCRIPTION).is_some()) {
        return false;
    }
    let hears = |exchange: &crate::session::Exchange| {
        exchange.method != KnownMethod::SubscriptionsListen
            && exchange.asks.spoken.logs == Extension::Declared
            && matches!(exchange.origin, Origin::Peer(_))
    };
    match identified.stream {
        Stream::MAIN | Stream::UNTOLD => {
            let mut waiting = state.waiting.to_upstream.in_flight();
            waiting.any(|(_, exchange)| exchange.received.stream == belongs_on && hears(exchange))
        }
        stream => {
            let opened_by = state
                .waiting
                .to_upstream
                .by_minted(&Id::integer(stream.number()));
            opened_by.is_some_and(|(_, exchange)| hears(exchange))
        }
    }
}
