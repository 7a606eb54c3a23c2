//! GET, to hear what belongs to no request or to hear the rest of a stream, and DELETE.

use std::sync::Arc;

use super::conversation::Conversation;
use super::event_id::EventId;
use super::fields;
use super::refusal::Refused;
use super::respond::{self, Hearing, Names, Response};
use super::revisions::{is_named, names};
use super::server::{Asked, Server};

pub(super) fn get(server: &Server, asked: &Asked<'_>) -> Result<Response, Refused> {
    let (conversation, names) = session(server, asked)?;
    let headers = &asked.parts.headers;
    if !fields::accepts(headers, "text/event-stream") {
        return Err(Refused::Accept("text/event-stream"));
    }
    let place = server.lasting()?;
    let last = fields::text(headers, fields::LAST_EVENT_ID)?;
    let (stream, reader) = match last {
        None => (crate::wire::Stream::MAIN, conversation.listen()?),
        Some(last) => {
            let EventId { stream, index } = last.parse().map_err(|_| Refused::EventId)?;
            (stream, conversation.resume(stream, index)?)
        }
    };
    let hearing = Hearing {
        _place: Some(place),
        ..asked.hearing(server, names)
    };
    Ok(respond::session_stream(stream, reader, hearing))
}

pub(super) fn delete(server: &Server, asked: &Asked<'_>) -> Result<Response, Refused> {
    let id = session_id(asked)?;
    server.conversations.delete(id, asked.caller())?;
    Ok(respond::empty(204))
}

fn session(server: &Server, asked: &Asked<'_>) -> Result<(Arc<Conversation>, Names), Refused> {
    let id = session_id(asked)?;
    let conversation = server.conversations.session(id, asked.caller())?;
    let version = fields::text(&asked.parts.headers, fields::VERSION)?;
    Ok((conversation, names(version)?))
}

fn session_id<'r>(asked: &'r Asked<'_>) -> Result<&'r str, Refused> {
    let headers = &asked.parts.headers;
    if is_named(fields::text(headers, fields::VERSION)?) {
        return Err(Refused::Method("POST"));
    }
    fields::text(headers, fields::SESSION)?.ok_or(Refused::SessionMissing)
}
