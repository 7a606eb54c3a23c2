//! What an allowed message changes in the memory of its session.

use std::sync::Arc;

use crate::policy::{self, Client};
use crate::session::{Exchange, Lifecycle, State, Traversal};
use crate::wire::{KnownMethod, Message, Side, Value};

use super::forward::Upstream;
use super::identify::{Role, handshake};
use super::listing;
use super::talk::Talk;
use super::understand::Understood;

/// The `_meta` key under which an agent of the `2026-07-28` era names itself.
const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";

/// Called when a message is recorded and about to leave.
pub(super) fn remember<U: Upstream, A>(talk: &Talk<U, A>, understood: &Understood<'_>) {
    let identified = &understood.identified;
    let message = identified.message;
    let mut state = talk.session.state();
    match &identified.role {
        Role::Request { method: KnownMethod::Initialize, .. } => {
            if let Some(params) = message.params() {
                state.lifecycle = Lifecycle::Initializing(handshake(params));
                introduce(&mut state, params.get("clientInfo"));
            }
        }
        Role::Request { method, .. } => {
            if *method == KnownMethod::ToolsCall {
                state.calls = state.calls.saturating_add(1);
            }
            let Some(client) = message.meta().and_then(|meta| meta.get(META_CLIENT)) else {
                return;
            };
            introduce(&mut state, Some(client));
        }
        Role::Notification { method: KnownMethod::ToolsListChanged } => {
            return state.tools.forget();
        }
        Role::Notification { .. } => return,
        Role::Reply(taken) if identified.from == Side::Upstream => {
            if replied(&mut state, &taken.exchange, message) == Handshake::Completed {
                talk.upstream.handshake_completed();
            }
            return;
        }
        Role::Reply(_) => return,
    }
    drop(state);
    talk.introduce();
}

/// Whether a reply completed the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Handshake {
    Completed,
    Unchanged,
}

fn replied(state: &mut State, exchange: &Exchange, message: &Message) -> Handshake {
    match exchange.method {
        KnownMethod::Initialize => {
            let version = message.result().and_then(|result| result.get("protocolVersion"));
            if let Some(version) = version.and_then(Value::as_str) {
                state.lifecycle.complete(&version);
                return Handshake::Completed;
            }
            state.lifecycle.abandon();
            Handshake::Unchanged
        }
        KnownMethod::ToolsList => {
            let traversal = if exchange.first_page {
                Traversal::AgentBegins
            } else {
                Traversal::AgentGoesOn
            };
            listing::note_offers(&mut state.tools, message, traversal);
            Handshake::Unchanged
        }
        // In the stateless era there is no handshake: any answer shows that the upstream lives.
        _ if message.result().is_some() => Handshake::Completed,
        _ => Handshake::Unchanged,
    }
}

/// What an agent says of itself is a label, never an identity.
fn introduce(state: &mut State, client: Option<Value<'_>>) {
    let text = |key| client.and_then(|client| client.get(key)).and_then(Value::as_str);
    let client = Client {
        name: text("name").unwrap_or_default().into_owned(),
        version: text("version").unwrap_or_default().into_owned(),
    };
    if state.agent.client != client {
        let agent = policy::Agent { client, ..(*state.agent).clone() };
        state.agent = Arc::new(agent);
    }
}
