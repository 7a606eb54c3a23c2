//! Messages of the agent: routes each to the server that it names, or to all.

use bytes::Bytes;
use tokio::time::sleep;

use super::name_map::NameMap;
use super::rename::name_for_server;
use super::routing_state::{FanOut, Recipients, RequestKey, RoutedRequest};
use super::server_names::{self, NameKind, NameRef};
use super::session::{InboxMessage, UnifiedSession};
use super::{cursor, merge};
use crate::gate::{Agent, Rejection, Source, UpstreamFault};
use crate::mcp::meta;
use crate::wire::{Edits, Era, Fragment, Id, KnownMethod, Message, Method, Shape, Side, Stream};

impl<A: Agent> UnifiedSession<A> {
    /// Routes a message of the agent's.
    ///
    /// # Errors
    /// [`Rejection`] of a message that no server gets.
    pub fn route(&self, source: Source, frame: &[u8]) -> Result<(), Rejection> {
        let limits = &self.settings.limits;
        // The gate that rejects it decodes it again, and gives the reason.
        let message = Message::decode(frame, limits).map_err(|_| Rejection::stray())?;
        match message.shape() {
            Shape::Request { id, method } => {
                let method = self.agent_method(method)?;
                let key = self.key(source.stream, id);
                let is_known = self.state().requests.contains_key(&key);
                if is_known {
                    return Err(Rejection::reused_id());
                }
                if fans_out(method) {
                    self.ask_all(&source, &message, key, method)
                } else {
                    self.ask_one(source, &message, key, method)
                }
            }
            Shape::Notification { method } => {
                self.tell(&source, &message, self.agent_method(method)?)
            }
            Shape::Reply { id, .. } => {
                let minted = id.as_ref().and_then(Id::as_integer);
                let minted = minted.and_then(|id| u64::try_from(id).ok());
                let question = minted.and_then(|id| self.state().take_question(id));
                let (server, minted) = question.ok_or_else(Rejection::stray)?;
                let line = self.reply_to(server, &message, minted)?;
                self.send_surely(server, InboxMessage::Frame(source, line))
            }
        }
    }

    /// The agent does not wait any more for what this stream would bring.
    pub fn hung_up(&self, stream: Stream) {
        for server in self.servers() {
            // A server that has ended answers nothing.
            let _ = self.send_surely(server, InboxMessage::HungUp(stream));
        }
        self.state()
            .requests
            .retain(|_, asked| asked.stream != stream);
    }

    /// The agent has no stream open for this `ping`.
    pub fn unheard(&self, minted: u64) {
        let question = self.state().take_question(minted);
        if let Some((server, minted)) = question {
            let _ = self.send_surely(server, InboxMessage::Unheard(minted));
        }
    }

    fn ask_one(
        &self,
        source: Source,
        message: &Message,
        key: RequestKey,
        method: KnownMethod,
    ) -> Result<(), Rejection> {
        let server = server_of(&self.names(), message, method)?;
        let line = Bytes::from(message_to(&self.names(), server, message, method)?);
        let mut state = self.state();
        if !(state.is_ready(server) || is_alone(message, method)) {
            return Err(UpstreamFault::Down.into());
        }
        let asked = RoutedRequest {
            method,
            stream: source.stream,
            recipients: Recipients::One(server),
        };
        // Under the lock: the answer finds it.
        self.send(server, InboxMessage::Frame(source, line))?;
        state.requests.insert(key, asked);
        Ok(())
    }

    fn ask_all(
        &self,
        source: &Source,
        message: &Message,
        key: RequestKey,
        method: KnownMethod,
    ) -> Result<(), Rejection> {
        let shown = message.params().and_then(|params| params.get("cursor"));
        let continued = shown.filter(|_| merge::list_of(method).is_some());
        let continued = continued.map(|shown| {
            let text = shown.as_str();
            let read = text.and_then(|text| cursor::read(&text, &self.names()));
            read.ok_or_else(Rejection::unknown_cursor)
        });
        let continued = continued.transpose()?;
        let followed = self.followed(message, method)?;
        let whole = Bytes::copy_from_slice(message.text().as_bytes());
        let of_server = |server: usize| match (&continued, shown) {
            _ if method == KnownMethod::SubscriptionsListen => {
                let mut edits = message.edits();
                for (list, names) in &followed {
                    let own = names.iter().filter(|(of, _)| *of == server);
                    let own = own.map(|(_, name)| Fragment::string(name));
                    edits.replace(*list, Fragment::array(own));
                }
                Some(Bytes::from(edits.finish()))
            }
            (Some(continued), Some(shown)) => {
                let (_, cursor) = continued.iter().find(|(of, _)| *of == server)?;
                let mut edits = message.edits();
                edits.replace(shown, Fragment::string(cursor));
                Some(Bytes::from(edits.finish()))
            }
            _ => Some(whole.clone()),
        };
        let deadline = sleep(self.settings.merge_timeout).deadline();
        let again = continued.clone().unwrap_or_default();
        let mut fan_out = FanOut::new(deadline, again);
        let mut lines = Vec::new();
        let mut state = self.state();
        for server in self.servers() {
            let Some(line) = of_server(server) else {
                continue;
            };
            if state.is_ready(server) || is_alone(message, method) {
                fan_out.open.insert(server);
                lines.push((server, line));
            } else {
                fan_out.missing.insert(server);
            }
        }
        for (server, line) in lines {
            let sent = self.send(server, InboxMessage::Frame(source.clone(), line));
            if sent.is_err() {
                fan_out.open.remove(&server);
                fan_out.missing.insert(server);
            }
        }
        if fan_out.open.is_empty() {
            return Err(UpstreamFault::Down.into());
        }
        // Servers that come later get these then.
        let sent = (key.clone(), source.clone(), whole);
        if method == KnownMethod::Initialize {
            state.initialize = Some(sent);
        } else if method == KnownMethod::SetLevel {
            state.set_level = Some(sent);
        }
        let asked = RoutedRequest {
            method,
            stream: source.stream,
            recipients: Recipients::All(Box::new(fan_out)),
        };
        state.requests.insert(key, asked);
        drop(state);
        self.deadlines_changed.notify_one();
        Ok(())
    }

    fn tell(
        &self,
        source: &Source,
        message: &Message,
        method: KnownMethod,
    ) -> Result<(), Rejection> {
        if method == KnownMethod::Cancelled {
            return self.cancel(source, message);
        }
        if method == KnownMethod::Progress {
            let place = server_names::subject(message, method);
            let found = place.and_then(|it| name_for_server(it, &self.names()));
            let (server, _) = found.ok_or_else(Rejection::stray)?;
            let line = message_to(&self.names(), server, message, method)?;
            let line = Bytes::from(line);
            return self.send_surely(server, InboxMessage::Frame(source.clone(), line));
        }
        let line = Bytes::copy_from_slice(message.text().as_bytes());
        let mut state = self.state();
        let ready: Vec<usize> = {
            let ready = self.servers().into_iter();
            ready.filter(|it| state.is_ready(*it)).collect()
        };
        if method == KnownMethod::Initialized {
            // Servers that answer `initialize` later get it then.
            state.initialized = Some((source.clone(), line.clone()));
        } else if ready.is_empty() {
            return Err(UpstreamFault::Down.into());
        }
        for server in ready {
            // A server that has ended needs no notification.
            let _ = self.send_surely(server, InboxMessage::Frame(source.clone(), line.clone()));
        }
        Ok(())
    }

    fn cancel(&self, source: &Source, message: &Message) -> Result<(), Rejection> {
        let id = message.params().and_then(|params| params.get("requestId"));
        let id = id.and_then(Id::read);
        let key = id.map(|id| self.key(source.stream, &id));
        let key = key.ok_or_else(Rejection::stray)?;
        let mut state = self.state();
        let asked = state.requests.get(&key);
        // `initialize` cannot be cancelled (MCP 2025-11-25, basic/utilities/cancellation).
        if asked.is_none_or(|asked| asked.method == KnownMethod::Initialize) {
            return Err(Rejection::stray());
        }
        let asked = state.requests.remove(&key);
        let servers: Vec<usize> = match asked.ok_or_else(Rejection::stray)?.recipients {
            Recipients::One(server) => vec![server],
            Recipients::All(fan_out) => fan_out.open.into_iter().collect(),
        };
        let line = Bytes::copy_from_slice(message.text().as_bytes());
        // Each server gets it, also after one that has ended.
        let sent: Vec<_> = servers
            .into_iter()
            .map(|server| {
                self.send_surely(server, InboxMessage::Frame(source.clone(), line.clone()))
            })
            .collect();
        sent.into_iter().collect()
    }

    /// A method that an agent may use here.
    fn agent_method(&self, method: &Method) -> Result<KnownMethod, Rejection> {
        let known = method.known().filter(|it| {
            if self.settings.is_stateless {
                it.sent_by_in(Side::Agent, Era::Stateless)
            } else {
                it.sent_by(Side::Agent)
            }
        });
        known.ok_or_else(|| Rejection::unknown_method(method.name()))
    }

    /// A reply with the names of this server, to the request that its gate has given this id.
    fn reply_to(&self, server: usize, reply: &Message, minted: u64) -> Result<Bytes, Rejection> {
        let mut edits = reply.edits();
        if let Some(id) = reply.id_value() {
            edits.replace(id, Fragment::unsigned(minted));
        }
        let places = server_names::in_agent_reply(reply);
        rename(&mut edits, places, server, &self.names())?;
        Ok(Bytes::from(edits.finish()))
    }
}

/// The server whose name a request of the agent's has.
///
/// # Errors
/// [`Rejection`] of a message that no server gets.
pub(super) fn server_of(
    names: &NameMap,
    message: &Message,
    method: KnownMethod,
) -> Result<usize, Rejection> {
    let Some(place) = server_names::subject(message, method) else {
        return Err(Rejection::without_subject(method.name()));
    };
    if let Some((server, _)) = name_for_server(place, names) {
        return Ok(server);
    }
    let name = place.1.as_str().unwrap_or_default();
    Err(match place.0 {
        NameKind::Tool => Rejection::unrouted_tool(&name),
        NameKind::Prompt
        | NameKind::Uri
        | NameKind::OpaqueId
        | NameKind::ProgressToken
        | NameKind::Context => Rejection::unrouted(method.name(), &name),
    })
}

/// A request or notification of the agent's with the names of this server.
///
/// # Errors
/// [`Rejection`] if it has the name of another server as well.
pub(super) fn message_to(
    names: &NameMap,
    server: usize,
    message: &Message,
    method: KnownMethod,
) -> Result<String, Rejection> {
    let mut edits = message.edits();
    let places = server_names::in_agent_message(message, method);
    rename(&mut edits, places, server, names)?;
    Ok(edits.finish())
}

fn rename<'m>(
    edits: &mut Edits<'m>,
    places: Vec<NameRef<'m>>,
    server: usize,
    names: &NameMap,
) -> Result<(), Rejection> {
    for place in places {
        match name_for_server(place, names) {
            Some((of, name)) if of == server => edits.replace(place.1, name),
            // Of a task of the agent's own.
            None if place.0 == NameKind::OpaqueId => {}
            Some(_) | None => return Err(Rejection::stray()),
        }
    }
    Ok(())
}

/// Whether a server may get the message before it has answered `initialize`.
fn is_alone(message: &Message, method: KnownMethod) -> bool {
    let says = message.meta().and_then(|meta| meta.get(meta::VERSION));
    says.is_some() || matches!(method, KnownMethod::Initialize | KnownMethod::Ping)
}

/// Whether all servers answer a request.
pub(super) fn fans_out(method: KnownMethod) -> bool {
    merge::list_of(method).is_some()
        || matches!(
            method,
            KnownMethod::Initialize
                | KnownMethod::Discover
                | KnownMethod::Ping
                | KnownMethod::SetLevel
                | KnownMethod::SubscriptionsListen
        )
}
