//! What a response is, before its body is read as messages.

use hyper::StatusCode;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};

use crate::gate::apart;
use crate::memory;
use crate::wire::{ArrivalForm, DiscardReason, Id, Likeness, Limits, Message, Outcome, Shape};

use super::connections::Response;
use super::failure::Failure;
use super::settings::HttpSettings;

/// A body that messages are read from.
pub(super) enum Answer {
    /// One message.
    Json(Response),
    /// Events, one message each.
    Events(Response),
}

/// What answers a request that was POSTed. A 404 to one that named a session tells the end of it
/// (MCP 2025-11-25, basic/transports, session management).
pub(super) async fn of_request(response: Response, asked: &Asked<'_>) -> Result<Answered, Failure> {
    let status = response.status();
    if status == StatusCode::NOT_FOUND && asked.within == Within::Session {
        return Err(Failure::SessionGone);
    }
    if status.is_success() {
        return body(response).map(Answered::Body);
    }
    if [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&status)
        || !(status.is_client_error() || status.is_server_error())
    {
        return Err(Failure::status(status));
    }
    // Errors of the protocol come with such statuses too: what answers the request is a message.
    let Ok(Answer::Json(response)) = body(response) else {
        return Err(Failure::status(status));
    };
    let bytes = whole(response, asked.settings).await?;
    match reply(&bytes, asked.settings).await? {
        Some(reply) if reply.id == Some(asked.id) => Ok(Answered::Error(bytes, form(status))),
        Some(_) | None => Err(Failure::status(status)),
    }
}

/// What was asked, as far as it tells how to read what answers it.
pub(super) struct Asked<'a> {
    pub(super) id: u64,
    pub(super) within: Within,
    pub(super) settings: &'a HttpSettings,
}

/// Whether a request named a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    Session,
    None,
}

pub(super) enum Answered {
    Body(Answer),
    /// A message that is an error and answers the request.
    Error(Vec<u8>, ArrivalForm),
}

/// What a status says of the request that is answered with it.
fn form(status: StatusCode) -> ArrivalForm {
    if status == StatusCode::BAD_REQUEST {
        ArrivalForm::Rejected
    } else {
        ArrivalForm::Whole
    }
}

/// The body of a response that succeeded, by its type.
pub(super) fn body(response: Response) -> Result<Answer, Failure> {
    let headers = response.headers();
    if let Some(encoding) = headers.get(CONTENT_ENCODING)
        && !encoding.as_bytes().eq_ignore_ascii_case(b"identity")
    {
        return Err(Failure::bad("it is compressed, which was not asked for"));
    }
    match media_type(headers).as_deref() {
        Some("application/json") => Ok(Answer::Json(response)),
        Some("text/event-stream") => Ok(Answer::Events(response)),
        _ if [StatusCode::ACCEPTED, StatusCode::NO_CONTENT].contains(&response.status()) => Err(
            Failure::bad("it accepts the request and does not answer it"),
        ),
        Some(_) | None => Err(Failure::bad("it is neither JSON nor a stream of events")),
    }
}

/// The whole body, as long as it is no longer than it may be, and there is memory for it.
pub(super) async fn whole(
    mut response: Response,
    settings: &HttpSettings,
) -> Result<Vec<u8>, Failure> {
    let max = settings.from_upstream.max_bytes;
    let announced = response.content_length().unwrap_or_default();
    if usize::try_from(announced).unwrap_or(usize::MAX) > max {
        return Err(Failure::Unread(DiscardReason::TooLong));
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let come = bytes.len().saturating_add(chunk.len());
        if come > max {
            return Err(Failure::Unread(DiscardReason::TooLong));
        }
        let room = settings.memory.wait_to_grow(bytes.capacity(), come);
        let _room = room.await.ok_or(NO_MEMORY)?;
        memory::grow(&mut bytes, come, max);
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// What a message says if it is a reply.
pub(super) struct Reply {
    pub(super) id: Option<u64>,
    /// The revision that a successful `initialize` settled on, if this is one.
    pub(super) revision: Option<String>,
    /// What it says, if it could be read and is no error.
    pub(super) result: Option<Message>,
}

const NO_MEMORY: Failure = Failure::Unread(DiscardReason::NoMemory);

/// Reads a message only to see whether it is a reply, and to what; the gate judges it.
pub(super) async fn reply(bytes: &[u8], settings: &HttpSettings) -> Result<Option<Reply>, Failure> {
    let (limits, memory) = (&settings.from_upstream, &settings.memory);
    let room = memory.room_to_judge_alone(bytes, limits.max_nodes).await;
    let _room = room.ok_or(NO_MEMORY)?;
    Ok(read(bytes, limits))
}

fn read(bytes: &[u8], limits: &Limits) -> Option<Reply> {
    let number = |id: Option<&Id>| id.and_then(|id| id.json().parse().ok());
    match apart::work(bytes.len(), || Message::decode(bytes, limits)) {
        Ok(message) => match message.shape() {
            Shape::Reply { id, outcome } => {
                let is_result = *outcome == Outcome::Result;
                let revision = message.agreed_revision().filter(|_| is_result);
                let revision = revision.map(std::borrow::Cow::into_owned);
                let id = number(id.as_ref());
                Some(Reply {
                    id,
                    revision,
                    result: is_result.then_some(message),
                })
            }
            Shape::Request { .. } | Shape::Notification { .. } => None,
        },
        // A malformed reply is the end of its request too; the gate says so to whoever waits.
        Err(error) => (error.likeness == Likeness::Reply).then(|| Reply {
            id: number(error.id.as_ref()),
            revision: None,
            result: None,
        }),
    }
}

/// Without parameters, in lower case.
fn media_type(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let kind = text.split(';').next().unwrap_or_default();
    Some(kind.trim().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, answers: Option<u64>) {
        let reply = read(text.as_bytes(), &Limits::default());
        assert_eq!(reply.and_then(|reply| reply.id), answers, "{text}");
    }

    /// Otherwise a request would count as answered whose requester gets nothing.
    #[test]
    fn a_reply_answers_the_request_that_the_gate_reads_in_it() {
        check(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, Some(7));
        check(r#"{"jsonrpc":"2.0","\u0069d":7,"result":{}}"#, Some(7));
        check(r#"{"jsonrpc":"2.0","id":7,"result":{},"état":1}"#, Some(7));
        check(
            r#"{"jsonrpc":"2.0","id":7,"result":{},"\u00e9":1}"#,
            Some(7),
        );
        check(r#"{"jsonrpc":"2.0","ID":7,"result":{}}"#, None);
        check("{\"jsonrpc\":\"2.0\",\"id\u{7f}\":7,\"result\":{}}", None);
        check(r#"{"jsonrpc":"2.0","id":"7","result":{}}"#, None);
        check(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#, None);
    }
}
