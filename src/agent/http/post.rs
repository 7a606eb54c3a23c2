//! A POST: one message of the agent's.

use std::sync::Arc;

use bytes::Bytes;
use hyper::Version;
use hyper::body::Incoming;

use crate::gate::apart;
use crate::mcp::revisions::WITH_SESSIONS;
use crate::wire::{ArrivalForm, KnownMethod, Likeness, Message, Method, Shape, WireError};

use super::answer::{Asked, Rejection, Server};
use super::channel::Piece;
use super::conversation::{Conversation, Post, Takes};
use super::refusal::Refused;
use super::respond::{self, Hearing, Names, Response};
use super::room::Room;
use super::{body, fields, stateless};

/// From this revision on a stream begins with an event that has nothing but an id, to come back
/// with (MCP 2025-11-25, basic/transports). Earlier agents take it for an empty message.
const PRIMED_SINCE: &str = "2025-11-25";

/// How a POST that is answered may be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    Legacy,
    /// Errors have an HTTP status of their own.
    Stateless,
}

pub(super) async fn post(
    server: &Server,
    asked: &Asked<'_>,
    body: &mut Incoming,
) -> Result<Response, Rejection> {
    let headers = &asked.parts.headers;
    for wanted in ["application/json", "text/event-stream"] {
        if !fields::accepts(headers, wanted) {
            return Err(Refused::Accept(wanted).into());
        }
    }
    fields::check_content(headers)?;
    let version = fields::text(headers, fields::VERSION)?;
    let room = Room {
        share: || server.share_of_bodies(asked),
        all: &server.bodies,
    };
    let bytes = tokio::select! {
        biased;
        read = body::read(headers, body, room, &server.settings) => read?,
        // What has not come by then is not waited for.
        () = server.stopping() => return Err(Refused::Closed.into()),
    };
    let (limits, memory) = (&server.settings.limits, &server.settings.memory);
    let room = tokio::select! {
        biased;
        room = memory.room_to_judge_alone(&bytes, limits.max_nodes) => room.ok_or(Refused::NoMemory)?,
        () = server.stopping() => return Err(Refused::Closed.into()),
    };
    let decode = || Message::decode(&bytes, limits);
    let message = match apart::work(bytes.len(), decode) {
        Ok(message) => message,
        Err(error) => {
            drop(room);
            return undecodable(server, asked, bytes, error).await;
        }
    };
    if stateless::is_stateless(&message, version) {
        return stateless::post(server, asked, bytes, message, room).await;
    }
    let kind = Kind::of(&message);
    let id = message.id().cloned();
    drop(message);
    drop(room);
    let session = fields::text(headers, fields::SESSION)?;
    let conversation = match session {
        None if kind == Kind::Initialize => return begin(server, asked, bytes).await,
        None => return Err(Refused::SessionMissing.into()),
        Some(id) => server.conversations.session(id, asked.identity)?,
    };
    let names = names(version)?;
    match kind {
        Kind::Initialize | Kind::Request => {
            let answered = async {
                let post = conversation
                    .ask(bytes, Takes::Everything, asked.brought())
                    .await?;
                let hearing = asked.hearing(server, names);
                answered(server, asked, post, Manner::Legacy, hearing).await
            };
            // It has an id by which its agent knows it.
            let answered = answered.await;
            answered.map_err(|refused| Rejection { refused, id })
        }
        Kind::Told => {
            conversation.tell(bytes, asked.brought()).await?;
            Ok(respond::accepted())
        }
    }
}

/// Waits for the first message for a request, and answers with it. A reply is JSON, unless a server over
/// HTTP gave it on a stream: then it is a stream, too. Any other message begins a stream on which the
/// reply comes later.
pub(super) async fn answered(
    server: &Server,
    asked: &Asked<'_>,
    mut post: Post,
    manner: Manner,
    hearing: Hearing,
) -> Result<Response, Refused> {
    let first = post.reader.next();
    let is_old = asked.parts.version == Version::HTTP_10;
    let first = if is_old {
        // A client of HTTP/1.0 may not accept an answer that comes in parts.
        Some(first.await)
    } else {
        let time = server.settings.stream_after;
        asked.alarm.within(time, first).await
    };
    match first {
        Some(Some(event)) => Ok(match event.piece {
            Piece::Reply { error, form } => match (form, status(manner, error)) {
                (ArrivalForm::Event, 200) if !is_old => {
                    respond::post_stream(post, Some(event), hearing)
                }
                // A status of its own is only where the answer is the whole body.
                (ArrivalForm::Whole | ArrivalForm::Rejected | ArrivalForm::Event, status) => {
                    respond::json(status, event.line)
                }
            },
            Piece::Other => respond::post_stream(post, Some(event), hearing),
        }),
        Some(None) if post.conversation().has_ended() => Err(Refused::Ended),
        // Cancelled: there is no reply.
        Some(None) => Ok(respond::accepted()),
        None => Ok(respond::post_stream(post, None, hearing)),
    }
}

/// How the events of a stream are named, by the revision that the agent says it speaks; without a
/// word, 2025-03-26.
pub(super) fn names(version: Option<&str>) -> Result<Names, Refused> {
    match version {
        Some(version) if !WITH_SESSIONS.contains(&version) => Err(Refused::ProtocolVersion),
        Some(version) if version >= PRIMED_SINCE => Ok(Names::Primed),
        Some(_) | None => Ok(Names::Told),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Initialize,
    Request,
    /// A notification or a reply.
    Told,
}

impl Kind {
    fn of(message: &Message) -> Self {
        match message.shape() {
            Shape::Request {
                method: Method::Known(KnownMethod::Initialize),
                ..
            } => Self::Initialize,
            Shape::Request { .. } => Self::Request,
            Shape::Notification { .. } | Shape::Reply { .. } => Self::Told,
        }
    }
}

/// A session that ends unless it is admitted.
struct Provisional(Option<Arc<Conversation>>);

impl Drop for Provisional {
    fn drop(&mut self) {
        if let Some(conversation) = &self.0 {
            conversation.end();
        }
    }
}

/// A session has an id, and goes on, only if the reply to `initialize` is a result.
async fn begin(server: &Server, asked: &Asked<'_>, bytes: Bytes) -> Result<Response, Rejection> {
    let conversations = &server.conversations;
    let conversation = conversations.begin(asked.identity, asked.peer).await?;
    let mut provisional = Provisional(Some(Arc::clone(&conversation)));
    let mut post = conversation
        .ask(bytes, Takes::ReplyOnly, asked.brought())
        .await?;
    let Some(event) = post.reader.next().await else {
        return Err(Refused::Ended.into());
    };
    match event.piece {
        Piece::Reply { error: None, .. } => {
            let id = conversations.admit(&conversation)?;
            provisional.0 = None;
            Ok(respond::with_session(respond::json(200, event.line), &id))
        }
        Piece::Reply { error: Some(_), .. } | Piece::Other => Ok(respond::json(200, event.line)),
    }
}

/// A frame that is no message goes to the conversation that it seems to belong to, where it is
/// recorded and answered like any other refusal. Without one it is answered here.
async fn undecodable(
    server: &Server,
    asked: &Asked<'_>,
    bytes: Bytes,
    error: WireError,
) -> Result<Response, Rejection> {
    let headers = &asked.parts.headers;
    let version = fields::text(headers, fields::VERSION)?;
    let conversation = if stateless::is_named(version) {
        server.conversations.known_stateless(asked.identity)
    } else {
        fields::text(headers, fields::SESSION)?
            .map(|id| server.conversations.session(id, asked.identity))
            .transpose()?
    };
    let id = error.id.clone();
    // INVARIANT: the gate answers every such frame of an agent's but those that seem to be replies.
    let is_answered = error.likeness != Likeness::Reply || id.is_none();
    let rejection = Rejection {
        refused: Refused::Undecodable(error),
        id,
    };
    match conversation {
        None => Err(rejection),
        Some(conversation) if is_answered => {
            let mut post = conversation
                .ask(bytes, Takes::ReplyOnly, asked.brought())
                .await?;
            match post.reader.next().await {
                Some(event) => Ok(respond::json(400, event.line)),
                None => Err(Refused::Ended.into()),
            }
        }
        Some(conversation) => {
            conversation.tell(bytes, asked.brought()).await?;
            Ok(respond::refusal(&rejection, None))
        }
    }
}

/// The HTTP status of a reply. MCP 2026-07-28, basic/transports: an unknown method is 404; what the
/// protocol itself refuses is 400.
fn status(manner: Manner, error: Option<i64>) -> u16 {
    match (manner, error) {
        (Manner::Legacy, _) | (Manner::Stateless, None) => 200,
        (Manner::Stateless, Some(code)) => match code {
            -32601 => 404,
            -32700 | -32600 | -32020 | -32021 | -32022 => 400,
            _ => 200,
        },
    }
}
