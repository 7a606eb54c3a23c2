//! A POST without a session (MCP 2026-07-28, basic/transports): headers repeat parts of the body,
//! for proxies that do not read it, and must be equal to it. The body is the truth.

use bytes::Bytes;
use hyper::HeaderMap;

use crate::mcp::meta;
use crate::memory::Reservation;
use crate::wire::{self, KnownMethod, Message, Method, Shape, Value, of_header_value};

use super::conversation::Takes;
use super::refusal::Refused;
use super::refusal::Rejection;
use super::reply::{Manner, answered};
use super::respond::{self, Hearing, Names, Response};
use super::server::{Asked, Server};
use super::{fields, repeated};

pub(super) async fn post(
    server: &Server,
    asked: &Asked<'_>,
    bytes: Bytes,
    message: Message,
    room: Reservation,
) -> Result<Response, Rejection> {
    check(&message, &asked.parts.headers).map_err(|refused| Rejection {
        refused,
        id: message.id().cloned(),
    })?;
    let is_request = matches!(message.shape(), Shape::Request { .. });
    let listens =
        message.method().and_then(Method::known) == Some(KnownMethod::SubscriptionsListen);
    let place = listens.then(|| server.lasting()).transpose()?;
    let mut brought = asked.brought();
    if message.method().and_then(Method::known) == Some(KnownMethod::ToolsCall) {
        brought.carrier.repeated = Some(repeated::said(&asked.parts.headers));
    }
    drop(message);
    drop(room);
    let conversations = &server.conversations;
    let conversation = conversations.stateless(asked.caller(), asked.peer).await?;
    if is_request {
        let post = conversation.ask(bytes, Takes::Everything, brought).await?;
        let hearing = Hearing {
            _place: place,
            ..asked.hearing(server, Names::Untold)
        };
        Ok(answered(server, asked, post, Manner::Stateless, hearing).await?)
    } else {
        conversation.tell(bytes, brought).await?;
        Ok(respond::accepted())
    }
}

/// The headers that every message must have, against what the body says.
fn check(message: &Message, headers: &HeaderMap) -> Result<(), Refused> {
    let Some(method) = message.method() else {
        return Err(Refused::StatelessReply);
    };
    let meta = message.params().and_then(|params| params.get("_meta"));
    let version = meta
        .and_then(|meta| meta.get(meta::VERSION))
        .and_then(Value::as_str)
        .ok_or(Refused::MetaMissing(meta::VERSION))?;
    equal(headers, fields::VERSION, &version)?;
    equal(headers, fields::METHOD, method.name())?;
    // A request says what its sender can do; without a word nothing may be asked of it.
    let says = meta.and_then(|meta| meta.get(meta::CAPABILITIES));
    if message.id().is_some() && !says.is_some_and(Value::is_object) {
        return Err(Refused::MetaMissing(meta::CAPABILITIES));
    }
    if method.known() == Some(KnownMethod::Initialize) {
        return Err(Refused::NoSessions);
    }
    let Method::Known(known) = method else {
        return check_extension(message, headers);
    };
    let Some(key) = named_by(*known) else {
        return Ok(());
    };
    // A name that is missing or no string is the gate's to refuse.
    let name = message
        .params()
        .and_then(|params| params.get(key))
        .and_then(Value::as_str);
    let Some(name) = name else {
        return Ok(());
    };
    equal(headers, fields::NAME, &name)
}

/// Of a method that is not the protocol's nobody here knows whether it has to have a name. One that it has
/// must be what the gate would make of the body for the server.
fn check_extension(message: &Message, headers: &HeaderMap) -> Result<(), Refused> {
    if fields::text(headers, fields::NAME)?.is_none() {
        return Ok(());
    }
    let name = wire::name_of_extension(message.params());
    equal(headers, fields::NAME, &name.unwrap_or_default())
}

/// The member of `params` that `Mcp-Name` repeats.
fn named_by(method: KnownMethod) -> Option<&'static str> {
    match method {
        KnownMethod::ToolsCall | KnownMethod::PromptsGet => Some("name"),
        KnownMethod::ResourcesRead => Some("uri"),
        // SEP-2663, routing headers.
        KnownMethod::TasksGet | KnownMethod::TasksCancel | KnownMethod::TasksUpdate => {
            Some("taskId")
        }
        KnownMethod::Initialize
        | KnownMethod::Initialized
        | KnownMethod::Ping
        | KnownMethod::Discover
        | KnownMethod::ToolsList
        | KnownMethod::ResourcesList
        | KnownMethod::ResourceTemplatesList
        | KnownMethod::ResourcesSubscribe
        | KnownMethod::ResourcesUnsubscribe
        | KnownMethod::PromptsList
        | KnownMethod::Complete
        | KnownMethod::SetLevel
        | KnownMethod::SubscriptionsListen
        | KnownMethod::Cancelled
        | KnownMethod::Progress
        | KnownMethod::RootsListChanged
        | KnownMethod::RootsList
        | KnownMethod::CreateMessage
        | KnownMethod::Elicit
        | KnownMethod::LogMessage
        | KnownMethod::ToolsListChanged
        | KnownMethod::ResourcesListChanged
        | KnownMethod::PromptsListChanged
        | KnownMethod::ResourceUpdated
        | KnownMethod::ElicitationComplete
        | KnownMethod::SubscriptionsAcknowledged
        | KnownMethod::TasksResult
        | KnownMethod::TasksList
        | KnownMethod::TaskStatus
        | KnownMethod::TaskNews
        | KnownMethod::Extension(_) => None,
    }
}

fn equal(headers: &HeaderMap, name: &'static str, body: &str) -> Result<(), Refused> {
    let value = fields::text(headers, name)?.ok_or(Refused::HeaderMissing(name))?;
    match of_header_value(value) {
        None => Err(Refused::Unreadable(name)),
        Some(value) if value == body => Ok(()),
        Some(_) => Err(Refused::HeaderMismatch(name)),
    }
}
