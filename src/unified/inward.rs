//! What the agent sends: to the server that it is for, or to all.

use bytes::Bytes;
use tokio::time::sleep;

use super::rename::own;
use super::server_names::{self, Named};
use super::session::{Inward, Unified};
use super::waiting::{Gathering, Of, RequestKey, WaitingRequest};
use super::{cursor, merge};
use crate::gate::{Agent, Rejection, Source, UpstreamFault};
use crate::mcp::meta;
use crate::wire::{Fragment, Id, KnownMethod, Message, Method, Shape, Side, Stream, Value};

impl<A: Agent> Unified<A> {
    /// Brings a message of the agent's to those whom it is for.
    ///
    /// # Errors
    /// Why it is for none of them.
    pub fn take(&self, source: Source, frame: &[u8]) -> Result<(), Rejection> {
        let limits = &self.settings.limits;
        // The gate that refuses it finds out why.
        let message = Message::decode(frame, limits).map_err(|_| Rejection::stray())?;
        match message.shape() {
            Shape::Request { id, method } => {
                let method = of_agents(method)?;
                let key = self.key(source.stream, id);
                let is_known = self.state().asked.contains_key(&key);
                if is_known {
                    return Err(Rejection::reused_id());
                }
                if is_for_all(method) {
                    self.ask_all(&source, &message, key, method)
                } else {
                    self.ask_one(source, &message, key, method)
                }
            }
            Shape::Notification { method } => self.tell(&source, &message, of_agents(method)?),
            Shape::Reply { id, .. } => {
                let minted = id.as_ref().and_then(Id::as_integer);
                let minted = minted.and_then(|id| u64::try_from(id).ok());
                let question = minted.and_then(|id| self.state().answered(id));
                let (server, minted) = question.ok_or_else(Rejection::stray)?;
                let line = self.for_server(server, &message, Sent::Answer(minted))?;
                self.send_surely(server, Inward::Frame(source, line))
            }
        }
    }

    /// The agent does not wait any more for what this stream would bring.
    pub fn hung_up(&self, stream: Stream) {
        for server in self.servers() {
            // One that has ended answers nothing.
            let _ = self.send_surely(server, Inward::HungUp(stream));
        }
        self.state().asked.retain(|_, asked| asked.stream != stream);
    }

    /// The agent has no stream open for this `ping`.
    pub fn unheard(&self, minted: u64) {
        let question = self.state().answered(minted);
        if let Some((server, minted)) = question {
            let _ = self.send_surely(server, Inward::Unheard(minted));
        }
    }

    fn ask_one(
        &self,
        source: Source,
        message: &Message,
        key: RequestKey,
        method: KnownMethod,
    ) -> Result<(), Rejection> {
        let Some(place) = server_names::subject(message, method) else {
            return Err(Rejection::without_subject(method.name()));
        };
        let Some((server, _)) = own(place, &self.settings.naming) else {
            let name = place.1.as_str().unwrap_or_default();
            return Err(match place.0 {
                Named::Tool => Rejection::unrouted_tool(&name),
                Named::Prompt | Named::Resource | Named::Other | Named::Token | Named::Context => {
                    Rejection::unrouted(method.name(), &name)
                }
            });
        };
        let line = self.for_server(server, message, Sent::By(method))?;
        let mut state = self.state();
        if !(state.is_ready(server) || is_alone(message, method)) {
            return Err(UpstreamFault::Down.into());
        }
        let asked = WaitingRequest {
            method,
            stream: source.stream,
            of: Of::One(server),
        };
        // Under the lock: the answer finds it.
        self.send(server, Inward::Frame(source, line))?;
        state.asked.insert(key, asked);
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
            let read = text.and_then(|text| cursor::read(&text, &self.settings.naming));
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
        let deadline = sleep(self.settings.patience).deadline();
        let again = continued.clone().unwrap_or_default();
        let mut gathering = Gathering::until(deadline, again);
        let mut lines = Vec::new();
        let mut state = self.state();
        for server in self.servers() {
            let Some(line) = of_server(server) else {
                continue;
            };
            if state.is_ready(server) || is_alone(message, method) {
                gathering.open.insert(server);
                lines.push((server, line));
            } else {
                gathering.missing.insert(server);
            }
        }
        for (server, line) in lines {
            let sent = self.send(server, Inward::Frame(source.clone(), line));
            if sent.is_err() {
                gathering.open.remove(&server);
                gathering.missing.insert(server);
            }
        }
        if gathering.open.is_empty() {
            return Err(UpstreamFault::Down.into());
        }
        let asked = WaitingRequest {
            method,
            stream: source.stream,
            of: Of::All(Box::new(gathering)),
        };
        state.asked.insert(key, asked);
        drop(state);
        self.waits.notify_one();
        Ok(())
    }

    /// Each list of names in a subscription, and whose they are.
    fn followed<'m>(
        &self,
        message: &'m Message,
        method: KnownMethod,
    ) -> Result<Vec<Followed<'m>>, Rejection> {
        let mut followed = Vec::new();
        if method != KnownMethod::SubscriptionsListen {
            return Ok(followed);
        }
        for key in merge::FOLLOWED {
            let list = message
                .params()
                .and_then(|it| it.at(&["notifications", key]));
            let Some(list) = list else { continue };
            let mut names = Vec::new();
            for item in list.items() {
                let shown = item.as_str().unwrap_or_default();
                let own = merge::own_followed(key, &shown, &self.settings.naming);
                names.push(own.ok_or_else(|| Rejection::unrouted(method.name(), &shown))?);
            }
            followed.push((list, names));
        }
        Ok(followed)
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
            let found = place.and_then(|it| own(it, &self.settings.naming));
            let (server, _) = found.ok_or_else(Rejection::stray)?;
            let line = self.for_server(server, message, Sent::By(method))?;
            return self.send_surely(server, Inward::Frame(source.clone(), line));
        }
        let line = Bytes::copy_from_slice(message.text().as_bytes());
        let mut state = self.state();
        let ready: Vec<usize> = {
            let ready = self.servers().filter(|it| state.is_ready(*it));
            ready.collect()
        };
        if method == KnownMethod::Initialized {
            // Those that greet the agent later are told then.
            state.initialized = Some((source.clone(), line.clone()));
        } else if ready.is_empty() {
            return Err(UpstreamFault::Down.into());
        }
        for server in ready {
            // One that has ended is told nothing more.
            let _ = self.send_surely(server, Inward::Frame(source.clone(), line.clone()));
        }
        Ok(())
    }

    fn cancel(&self, source: &Source, message: &Message) -> Result<(), Rejection> {
        let id = message.params().and_then(|params| params.get("requestId"));
        let id = id.and_then(Id::read);
        let key = id.map(|id| self.key(source.stream, &id));
        let key = key.ok_or_else(Rejection::stray)?;
        let mut state = self.state();
        let asked = state.asked.get(&key);
        // What greets the servers is never cancelled (MCP 2025-11-25, basic/utilities/cancellation).
        if asked.is_none_or(|asked| asked.method == KnownMethod::Initialize) {
            return Err(Rejection::stray());
        }
        let asked = state.asked.remove(&key);
        let servers: Vec<usize> = match asked.ok_or_else(Rejection::stray)?.of {
            Of::One(server) => vec![server],
            Of::All(gathering) => gathering.open.into_iter().collect(),
        };
        let line = Bytes::copy_from_slice(message.text().as_bytes());
        // Each gets it, whatever becomes of the others.
        let sent: Vec<_> = servers
            .into_iter()
            .map(|server| self.send_surely(server, Inward::Frame(source.clone(), line.clone())))
            .collect();
        sent.into_iter().collect()
    }

    /// A message as this server knows it.
    fn for_server(&self, server: usize, message: &Message, sent: Sent) -> Result<Bytes, Rejection> {
        let mut edits = message.edits();
        let places = match sent {
            Sent::By(method) => server_names::sent(message, method),
            Sent::Answer(minted) => {
                if let Some(id) = message.id_value() {
                    edits.replace(id, Fragment::unsigned(minted));
                }
                server_names::answered(message)
            }
        };
        for place in places {
            match own(place, &self.settings.naming) {
                Some((of, name)) if of == server => edits.replace(place.1, name),
                // Of a task of the agent's own.
                None if place.0 == Named::Other => {}
                Some(_) | None => return Err(Rejection::stray()),
            }
        }
        Ok(Bytes::from(edits.finish()))
    }
}

/// A list in a subscription, and the names in it: whose they are, and what they are called there.
type Followed<'m> = (Value<'m>, Vec<(usize, String)>);

/// What of the agent's goes to a server.
#[derive(Clone, Copy)]
enum Sent {
    /// A request or a notification.
    By(KnownMethod),
    /// The reply to what a gate has minted this id for.
    Answer(u64),
}

/// Whether a message needs no handshake before it.
fn is_alone(message: &Message, method: KnownMethod) -> bool {
    let says = message.meta().and_then(|meta| meta.get(meta::VERSION));
    says.is_some() || matches!(method, KnownMethod::Initialize | KnownMethod::Ping)
}

/// A method that an agent may use here.
fn of_agents(method: &Method) -> Result<KnownMethod, Rejection> {
    let known = method.known().filter(|it| it.sent_by(Side::Agent));
    known.ok_or_else(|| Rejection::unknown_method(method.name()))
}

/// Whether all servers answer a request.
fn is_for_all(method: KnownMethod) -> bool {
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
