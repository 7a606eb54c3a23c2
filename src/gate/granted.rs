//! What a server grants of the news that a stream asks for. It says so once, in its acknowledgement (MCP
//! 2026-07-28, basic/patterns/subscriptions), and of no more than it was asked for: an agent that believed
//! it would wait for news that the gate does not let pass, or that policy has refused.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use crate::mcp::meta;
use crate::session::{Admitted, Exchange, News, Session, State};
use crate::wire::{Document, Id, KnownMethod, Limits, Message, Side, Value, pointer_step};

use super::classified::{Identified, Role};
use super::edits::Removal;
use super::faults::UpstreamFault;
use super::query::Understood;
use super::rejection::Rejection;
use super::sent::Sent;
use super::subscribed::asked_for;
use super::uris::Kind;

/// The most that is taken out of one acknowledgement: its record holds no more notes.
const MOST: usize = 64;

/// The longest name, in bytes, of a member of which single items are taken out, since it is repeated for each
/// of them. The protocol's own have twenty; a member with a longer one goes as a whole.
const LONGEST: usize = 64 << 10;

/// Bytes of what the streams of one session ask for that are kept until it is acknowledged.
const MAX_FILTERS: usize = 16 << 20;

/// Notes what a stream asks for, by the text that is about to be sent. What cannot be read was not asked.
pub(super) fn note_asked(
    identified: &Identified<'_>,
    opened: Option<Admitted>,
    sent: Sent<'_>,
    session: &Session,
) {
    let (
        Role::Request {
            method: method @ KnownMethod::SubscriptionsListen,
            ..
        },
        Some(Admitted(minted)),
    ) = (&identified.role, opened)
    else {
        return;
    };
    let sent = sent.read();
    let params = sent.as_ref().and_then(Message::params);
    let filter = params.and_then(|params| params.get("notifications"));
    let mut state = session.state();
    let kept: usize = {
        let streams = state.waiting.to_upstream.in_flight();
        let filters = streams.filter_map(|(_, exchange)| exchange.asks.news.filter.as_ref());
        filters.map(|filter| filter.len()).sum()
    };
    // Where there is no room, the acknowledgement cannot be compared and is dropped.
    let room = MAX_FILTERS.saturating_sub(kept);
    let filter = filter.filter(|filter| filter.text().len() <= room);
    if let Some(news) = state.waiting.to_upstream.news_of(minted) {
        *news = News {
            asked: asked_for(*method, params),
            filter: filter.map(|filter| Arc::from(filter.text())),
            granted: Vec::new(),
        };
    }
}

/// What an acknowledgement says of what was not asked for.
///
/// # Errors
/// [`Rejection`] for one that belongs to no stream, or comes twice.
pub(super) fn unasked<'m>(
    understood: &Understood<'m>,
    session: &Session,
) -> Result<Vec<Removal<'m>>, Rejection> {
    let identified = &understood.identified;
    if !is_acknowledgement(identified) {
        return Ok(Vec::new());
    }
    let filter = {
        let state = session.state();
        let (_, stream) = opened_by(identified, &state).ok_or(Rejection::stray())?;
        stream.asks.news.filter.clone().ok_or(Rejection::stray())?
    };
    let limits = Limits {
        max_bytes: usize::MAX,
        ..Limits::default()
    };
    let asked = Document::decode(filter.as_bytes(), &limits).map_err(|_| Rejection::stray())?;
    let mut found = Vec::new();
    for (member, granted) in said(identified.message) {
        let place = format!("/params/notifications/{}", pointer_step(&member));
        let wanted = asked.root().get(&member);
        match wanted {
            _ if says_nothing(granted) => {}
            Some(wanted) if granted.is_array() && wanted.is_array() && place.len() <= LONGEST => {
                let wanted: HashSet<_> = wanted.items().flat_map(spellings).collect();
                let items = granted.items().enumerate();
                let items =
                    items.filter(|(_, item)| !spellings(*item).any(|it| wanted.contains(&it)));
                let items = items.take(MOST.saturating_add(1));
                found.extend(items.map(|(index, item)| removal(item, format!("{place}/{index}"))));
            }
            Some(wanted) if !says_nothing(wanted) && wanted.text() == granted.text() => {}
            Some(_) | None => found.push(removal(granted, place)),
        }
        if found.len() > MOST {
            let problem = "it acknowledges too much that was not asked for";
            return Err(UpstreamFault::BadReply(problem.to_owned()).into());
        }
    }
    Ok(found)
}

/// Notes what was granted of what was asked.
pub(super) fn note_granted(identified: &Identified<'_>, state: &mut State) {
    if !is_acknowledgement(identified) {
        return;
    }
    let minted = opened_by(identified, state).map(|(minted, _)| minted);
    let params = identified.message.params();
    let granted = asked_for(KnownMethod::SubscriptionsListen, params);
    if let Some(news) = minted.and_then(|minted| state.waiting.to_upstream.news_of(minted)) {
        news.filter = None;
        news.granted = granted;
        news.granted.retain(|kind| news.asked.contains(kind));
    }
}

fn is_acknowledgement(identified: &Identified<'_>) -> bool {
    let acknowledges = matches!(
        identified.role,
        Role::Notification {
            method: KnownMethod::SubscriptionsAcknowledged
        }
    );
    acknowledges && identified.from == Side::Upstream
}

/// The request that opened the stream, and the id that the gate minted for it.
fn opened_by<'s>(identified: &Identified<'_>, state: &'s State) -> Option<(u64, &'s Exchange)> {
    let meta = identified.message.meta();
    let named = meta.and_then(|meta| meta.get(meta::SUBSCRIPTION));
    let id = match named {
        Some(named) => Id::read(named)?,
        None => Id::integer(identified.stream.number()),
    };
    state.waiting.to_upstream.by_minted(&id)
}

fn said(message: &Message) -> impl Iterator<Item = (Cow<'_, str>, Value<'_>)> {
    let said = message.params().and_then(|it| it.get("notifications"));
    said.into_iter().flat_map(Value::entries)
}

/// As good as nothing: nobody is told of anything by it.
fn says_nothing(granted: Value<'_>) -> bool {
    let is_empty = granted.is_array() && granted.items().next().is_none();
    granted.is_null() || granted.as_bool() == Some(false) || is_empty
}

/// As it is written, and as its canonical URI: servers may spell one in their own way.
fn spellings(item: Value<'_>) -> impl Iterator<Item = String> {
    let text = item.as_str();
    let canonical = text.as_deref().and_then(|text| Kind::Uri.canonical(text));
    let written = text.map_or_else(|| item.text().to_owned(), |text| format!("\"{text}"));
    let canonical = canonical.map(|uri| format!("\"{uri}"));
    [Some(written), canonical].into_iter().flatten()
}

fn removal(item: Value<'_>, pointer: String) -> Removal<'_> {
    Removal {
        item,
        pointer,
        because: "it was not asked for".to_owned(),
    }
}
