//! Responses: JSON in one piece, or a stream of events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE,
};
use hyper::{Response as HyperResponse, StatusCode};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use crate::identity::{ProtectedResource, Validity};
use crate::wire::Stream;

use super::channel::{Event, Piece, Reader};
use super::conversation::Post;
use super::event_id::EventId;
use super::fields::SESSION;
use super::health::Health;
use super::refusal::Refused;
use super::refusal::Rejection;

pub(super) type Response = HyperResponse<Outbound>;

/// How long an agent that lost a stream should wait before it comes back for the rest.
const RETRY_MS: u16 = 1000;

/// Whether events have ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    Untold,
    Told,
    /// And the stream begins with an event that has nothing else.
    Primed,
}

/// How a stream is heard.
pub(super) struct Hearing {
    pub(super) names: Names,
    /// How often one without messages gets a comment.
    pub(super) keep_alive: Duration,
    /// It ends with the proof of whoever opened it: who has none any more hears nothing more.
    pub(super) term: Validity,
    /// What it holds of what there is for streams, if it has no end of its own.
    pub(super) _place: Option<OwnedSemaphorePermit>,
}

/// The body of a response.
pub(super) enum Outbound {
    Whole(Option<Bytes>),
    Events(Events),
}

/// A stream of events, written as they come.
pub(super) struct Events {
    ready: VecDeque<Bytes>,
    next: Option<Next>,
}

type Next = Pin<Box<dyn Future<Output = (Source, Step)> + Send>>;

/// Where events come from. Dropped when the agent has gone or everything was written.
struct Source {
    stream: Stream,
    reading: Reading,
    hearing: Hearing,
}

enum Reading {
    Post(Post),
    Session(Reader),
}

enum Step {
    Event(Event),
    Quiet,
    Ended,
}

pub(super) fn json(status: u16, text: Bytes) -> Response {
    let mut response = whole(status, Some(text));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// A notification or a reply was taken.
pub(super) fn accepted() -> Response {
    empty(202)
}

pub(super) fn empty(status: u16) -> Response {
    whole(status, None)
}

pub(super) fn with_session(mut response: Response, id: &str) -> Response {
    if let Ok(id) = HeaderValue::from_str(id) {
        response.headers_mut().insert(SESSION, id);
    }
    response
}

pub(super) fn health(health: Health) -> Response {
    json(health.status(), health.document().into())
}

/// What went wrong, as a JSON-RPC error with the HTTP status that belongs to it.
pub(super) fn refusal(rejection: &Rejection, resource: Option<&ProtectedResource>) -> Response {
    let Rejection { refused, id } = rejection;
    let id = id.as_ref().map_or("null", |id| id.json());
    let message = serde_json::Value::from(refused.to_string());
    let code = refused.rpc_code();
    let text =
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#);
    let mut response = json(refused.status(), text.into());
    let headers = response.headers_mut();
    if let Refused::Challenge(challenge) = refused
        && let Some(text) = challenge.header(resource)
        && let Ok(text) = HeaderValue::from_str(&text)
    {
        headers.insert(WWW_AUTHENTICATE, text);
    }
    if let Refused::Method(methods) = refused {
        headers.insert(ALLOW, HeaderValue::from_static(methods));
    }
    if refused.ends_connection() {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// The stream of a POST whose reply comes later, after its first message if there is one.
pub(super) fn post_stream(post: Post, first: Option<Event>, hearing: Hearing) -> Response {
    let before = first.as_ref().map_or(0, |event| event.index - 1);
    if hearing.names != Names::Untold {
        post.reader.channel().promise();
    }
    let source = Source {
        stream: post.stream,
        reading: Reading::Post(post),
        hearing,
    };
    source.response(before, first)
}

/// The rest of a stream of a session.
pub(super) fn session_stream(stream: Stream, reader: Reader, hearing: Hearing) -> Response {
    reader.channel().promise();
    let before = reader.channel().position();
    let source = Source {
        stream,
        reading: Reading::Session(reader),
        hearing,
    };
    source.response(before, None)
}

impl Source {
    fn response(self, before: u64, first: Option<Event>) -> Response {
        let mut ready = VecDeque::new();
        ready.push_back(match self.hearing.names {
            Names::Primed => {
                let (stream, index) = (self.stream, before);
                let id = EventId { stream, index };
                Bytes::from(format!("id: {id}\nretry: {RETRY_MS}\ndata:\n\n"))
            }
            // So that the head leaves at once.
            Names::Untold | Names::Told => Bytes::from_static(b":\n\n"),
        });
        ready.extend(first.map(|event| self.written(&event)));
        let events = Events {
            ready,
            next: Some(Box::pin(self.step())),
        };
        let mut response = HyperResponse::new(Outbound::Events(events));
        let headers = response.headers_mut();
        let fixed = HeaderValue::from_static;
        headers.insert(CONTENT_TYPE, fixed("text/event-stream"));
        headers.insert(CACHE_CONTROL, fixed("no-store"));
        let buffering = HeaderName::from_static("x-accel-buffering");
        headers.insert(buffering, fixed("no"));
        response
    }

    async fn step(mut self) -> (Self, Step) {
        let Hearing {
            keep_alive, term, ..
        } = &self.hearing;
        let reader = match &mut self.reading {
            Reading::Post(post) => &mut post.reader,
            Reading::Session(reader) => reader,
        };
        let step = tokio::select! {
            biased;
            () = term.over() => {
                tracing::debug!("a stream ends with the token that opened it");
                Step::Ended
            }
            next = timeout(*keep_alive, reader.next()) => match next {
                Ok(Some(event)) => Step::Event(event),
                Ok(None) => Step::Ended,
                Err(_late) => Step::Quiet,
            },
        };
        (self, step)
    }

    /// One event. INVARIANT: what the gate permits is one line (`Permit::into_line`); whatever else
    /// it were, no second event could come of it, since line ends do not pass here.
    fn written(&self, event: &Event) -> Bytes {
        let mut text = BytesMut::with_capacity(event.line.len() + 64);
        text.put_slice(b"event: message\n");
        if self.hearing.names != Names::Untold {
            let (stream, index) = (self.stream, event.index);
            text.put_slice(format!("id: {}\n", EventId { stream, index }).as_bytes());
        }
        text.put_slice(b"data: ");
        if memchr::memchr2(b'\n', b'\r', &event.line).is_none() {
            text.put_slice(&event.line);
        } else {
            tracing::error!("a permitted message has a line end and is not sent");
        }
        text.put_slice(b"\n\n");
        text.freeze()
    }
}

impl Body for Outbound {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Whole(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
            Self::Events(events) => events
                .poll(cx)
                .map(|text| text.map(|text| Ok(Frame::data(text)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(text) => text.is_none(),
            Self::Events(events) => events.ready.is_empty() && events.next.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(text) => {
                let length = text.as_ref().map_or(0, Bytes::len);
                SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
            Self::Events(_) => SizeHint::default(),
        }
    }
}

impl Events {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(text) = self.ready.pop_front() {
            return Poll::Ready(Some(text));
        }
        let Some(next) = &mut self.next else {
            return Poll::Ready(None);
        };
        let (source, step) = std::task::ready!(next.as_mut().poll(cx));
        self.next = None;
        let text = match step {
            Step::Ended => return Poll::Ready(None),
            Step::Quiet => Bytes::from_static(b":\n\n"),
            Step::Event(event) => {
                let text = source.written(&event);
                if let Piece::Reply { .. } = event.piece {
                    return Poll::Ready(Some(text));
                }
                text
            }
        };
        self.next = Some(Box::pin(source.step()));
        Poll::Ready(Some(text))
    }
}

fn whole(status: u16, text: Option<Bytes>) -> Response {
    let mut response = HyperResponse::new(Outbound::Whole(text));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().insert(CACHE_CONTROL, no_store);
    response
}
