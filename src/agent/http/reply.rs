//! What answers the POST of a request.

use hyper::Version;

use crate::wire::ArrivalForm;

use super::channel::Piece;
use super::conversation::Post;
use super::refusal::Refused;
use super::respond::{self, Hearing, Response};
use super::server::{Asked, Server};

/// How a POST that is answered may be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    Legacy,
    /// Errors have an HTTP status of their own.
    Stateless,
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
