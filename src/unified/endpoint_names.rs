//! The names of an endpoint, for tests of policies and explanations, which have no session at it.

use std::sync::Arc;

use super::from_agent::{fans_out, message_to, server_of};
use super::name_map::{Alias, NameMap};
use super::session::View;
use crate::gate::Rejection;
use crate::policy::ServerKey;
use crate::wire::Message;

/// The servers of an endpoint, and what an agent calls that which is theirs.
#[derive(Debug, Clone)]
pub struct EndpointNames {
    names: NameMap,
    keys: Vec<ServerKey>,
}

/// What servers list.
#[derive(Debug, Clone, Copy)]
pub enum ItemKind {
    Tool,
    Prompt,
    Resource,
}

/// Where a request of an agent goes.
#[derive(Debug)]
pub enum Route {
    /// To this server, with its own names.
    One(ServerKey, String),
    /// To all of them.
    All,
}

impl EndpointNames {
    /// Of these servers, as far as the view has them.
    pub fn new(
        aliases: Arc<[Alias]>,
        view: Option<&View>,
        servers: impl IntoIterator<Item = ServerKey>,
    ) -> Self {
        let has = |key: &ServerKey| view.is_none_or(|view| view.servers.contains(key));
        let keys: Vec<ServerKey> = servers.into_iter().filter(has).collect();
        let names = NameMap::new(aliases, view.and_then(|view| view.tools.clone()));
        let names = keys
            .iter()
            .fold(names, |names, key| names.with(key.clone()));
        Self { names, keys }
    }

    pub fn keys(&self) -> &[ServerKey] {
        &self.keys
    }

    /// Where a message goes.
    ///
    /// # Errors
    /// Why no server gets it.
    pub fn route(&self, message: &Message) -> Result<Route, Rejection> {
        let method = message.method().ok_or_else(Rejection::stray)?;
        let known = method.known();
        let known = known.ok_or_else(|| Rejection::unknown_method(method.name()))?;
        if fans_out(known) || message.id().is_none() {
            return Ok(Route::All);
        }
        let server = server_of(&self.names, message, known)?;
        let key = self.keys.get(server).ok_or_else(Rejection::stray)?;
        let line = message_to(&self.names, server, message, known)?;
        Ok(Route::One(key.clone(), line))
    }

    /// The agent's name for what a server lists; `None` for a tool that the endpoint does not have.
    pub fn shown(&self, key: &ServerKey, kind: ItemKind, own: &str) -> Option<String> {
        let server = self.names.number(key.as_str())?;
        match kind {
            ItemKind::Tool => {
                let is_shown = self.names.shows_tool(server, own);
                is_shown.then(|| self.names.encode_tool(server, own))
            }
            ItemKind::Prompt => Some(self.names.encode_prompt(server, own)),
            ItemKind::Resource => Some(self.names.encode_uri(server, own)),
        }
    }

    /// The server, and its own name for what an agent calls so, also if no list of the endpoint shows it.
    pub fn own(&self, kind: ItemKind, shown: &str) -> Option<(ServerKey, String)> {
        let named = |(server, own): (usize, &str)| (server, own.to_owned());
        let (server, own) = match kind {
            ItemKind::Tool => self.names.tool_of(shown).map(named),
            ItemKind::Prompt => self.names.decode_prompt(shown).map(named),
            ItemKind::Resource => self.names.decode_uri(shown),
        }?;
        Some((self.keys.get(server)?.clone(), own))
    }
}
