//! A POST: one message of the agent's.

use std::sync::Arc;

use bytes::Bytes;
use hyper::body::Incoming;

use crate::gate::apart;
use crate::wire::{KnownMethod, Likeness, Message, Method, Shape, WireError};

use super::channel::Piece;
use super::conversation::{Conversation, Takes};
use super::refusal::Refused;
use super::refusal::Rejection;
use super::reply::{Manner, answered};
use super::respond::{self, Response};
use super::revisions::{is_named, is_stateless, names};
use super::room::Room;
use super::server::{Asked, Server};
use super::{body, fields, stateless};

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
    if is_stateless(&message, version) {
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
        Some(id) => server.conversations.session(id, asked.caller())?,
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
    let conversation = conversations.begin(asked.caller(), asked.peer).await?;
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
    let conversation = if is_named(version) {
        server.conversations.known_stateless(asked.caller())
    } else {
        fields::text(headers, fields::SESSION)?
            .map(|id| server.conversations.session(id, asked.caller()))
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
