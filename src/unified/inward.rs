//! What the agent sends: to the server that it is for, or to all.

use bytes::Bytes;
use tokio::time::sleep;

use super::rename::own;
use super::server_names::{self, Named};
use super::session::{Inward, Unified};
use super::waiting::{Gathering, Of, WaitingRequest};
use super::{cursor, merge};
use crate::gate::{Agent, Rejection, Source, UpstreamFault};
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
                let is_known = self.state().asked.contains_key(id);
                if is_known {
                    return Err(Rejection::reused_id());
                }
                if is_for_all(method) {
                    self.ask_all(&source, &message, id, method)
                } else {
                    self.ask_one(source, &message, id, method)
                }
            }
            Shape::Notification { method } => self.tell(&source, &message, of_agents(method)?),
            Shape::Reply { id, .. } => {
                let minted = id.as_ref().and_then(Id::as_integer);
                let minted = minted.and_then(|id| u64::try_from(id).ok());
                let question = minted.and_then(|id| self.state().answered(id));
                let (server, minted) = question.ok_or_else(Rejection::stray)?;
                let line = self.for_server(server, &message, Sent::Answer(minted))?;
                self.send(server, Inward::Frame(source, line))
            }
        }
    }

    /// The agent does not wait any more for what this stream would bring.
    pub fn hung_up(&self, stream: Stream) {
        for server in self.servers() {
            // An inbox that is full or closed is that of a server that the agent cannot be waiting for alone.
            let _ = self.send(server, Inward::HungUp(stream));
        }
        self.state().asked.retain(|_, asked| asked.stream != stream);
    }

    /// The agent has no stream open for this `ping`.
    pub fn unheard(&self, minted: u64) {
        let question = self.state().answered(minted);
        if let Some((server, minted)) = question {
            let _ = self.send(server, Inward::Unheard(minted));
        }
    }

    fn ask_one(
        &self,
        source: Source,
        message: &Message,
        id: &Id,
        method: KnownMethod,
    ) -> Result<(), Rejection> {
        let places = server_names::sent(message, method);
        let named = places.first().copied();
        let Some(place) = named else {
            return Err(Rejection::unrouted(method.name(), ""));
        };
        let Some((server, _)) = own(place, &self.settings.naming) else {
            let name = place.1.as_str().unwrap_or_default();
            return Err(match place.0 {
                Named::Tool => Rejection::unrouted_tool(&name),
                Named::Prompt | Named::Resource | Named::Other | Named::Token => {
                    Rejection::unrouted(method.name(), &name)
                }
            });
        };
        let line = self.for_server(server, message, Sent::By(method))?;
        let mut state = self.state();
        if !state.is_ready(server) {
            return Err(UpstreamFault::Down.into());
        }
        let asked = WaitingRequest {
            method,
            stream: source.stream,
            of: Of::One(server),
        };
        state.asked.insert(id.clone(), asked);
        drop(state);
        let sent = self.send(server, Inward::Frame(source, line));
        if sent.is_err() {
            self.state().asked.remove(id);
        }
        sent
    }

    fn ask_all(
        &self,
        source: &Source,
        message: &Message,
        id: &Id,
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
        let of_server = |server: usize| match (&continued, shown) {
            _ if method == KnownMethod::SubscriptionsListen => {
                let mut edits = message.edits();
                for (list, names) in &followed {
                    let own = names.iter().filter(|(of, _)| *of == server);
                    let own = own.map(|(_, name)| Fragment::string(name));
                    edits.replace(*list, Fragment::array(own));
                }
                Some(edits.finish())
            }
            (Some(continued), Some(shown)) => {
                let (_, cursor) = continued.iter().find(|(of, _)| *of == server)?;
                let mut edits = message.edits();
                edits.replace(shown, Fragment::string(cursor));
                Some(edits.finish())
            }
            _ => Some(message.text().to_owned()),
        };
        let mut gathering = Gathering::until(sleep(self.settings.patience).deadline());
        let mut lines = Vec::new();
        let mut state = self.state();
        for server in self.servers() {
            let Some(line) = of_server(server) else {
                continue;
            };
            if method == KnownMethod::Initialize || state.is_ready(server) {
                gathering.open.insert(server);
                lines.push((server, Bytes::from(line)));
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
        state.asked.insert(id.clone(), asked);
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
            let places = server_names::sent(message, method);
            let place = places.first();
            let found = place.and_then(|it| own(*it, &self.settings.naming));
            let (server, _) = found.ok_or_else(Rejection::stray)?;
            let line = self.for_server(server, message, Sent::By(method))?;
            return self.send(server, Inward::Frame(source.clone(), line));
        }
        let line = Bytes::copy_from_slice(message.text().as_bytes());
        if method == KnownMethod::Initialized {
            self.state().initialized = Some((source.clone(), line.clone()));
        }
        let ready: Vec<usize> = {
            let state = self.state();
            let ready = self.servers().filter(|it| state.is_ready(*it));
            ready.collect()
        };
        if ready.is_empty() {
            return Err(UpstreamFault::Down.into());
        }
        for server in ready {
            // One that does not take it is told nothing more.
            let _ = self.send(server, Inward::Frame(source.clone(), line.clone()));
        }
        Ok(())
    }

    fn cancel(&self, source: &Source, message: &Message) -> Result<(), Rejection> {
        let id = message.params().and_then(|params| params.get("requestId"));
        let id = id.and_then(Id::read);
        let asked = id.and_then(|id| self.state().asked.remove(&id));
        let servers: Vec<usize> = match asked.ok_or_else(Rejection::stray)?.of {
            Of::One(server) => vec![server],
            Of::All(gathering) => gathering.open.into_iter().collect(),
        };
        let line = Bytes::copy_from_slice(message.text().as_bytes());
        // Each gets it, whatever becomes of the others.
        let sent: Vec<_> = servers
            .into_iter()
            .map(|server| self.send(server, Inward::Frame(source.clone(), line.clone())))
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
