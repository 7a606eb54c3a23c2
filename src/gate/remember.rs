//! What an allowed message changes in the memory of its session.

use std::sync::Arc;

use crate::mcp::meta;
use crate::policy::{self, DefinitionFingerprint};
use crate::session::{self, Exchange, Lifecycle, Page, Run, State, Traversal, Waits};
use crate::wire::{KnownMethod, Message, Side, Value};

use super::classified::{Identified, Role, client};
use super::consent::note_roots;
use super::forward::Upstream;
use super::identify::said as spoken;
use super::query::{Doing, Understood};
use super::sent::Sent;
use super::talk::Talk;
use super::{cursors, granted, listing};

/// Called when a message is recorded and about to leave, as `sent`.
pub(super) fn remember<U: Upstream, A>(
    talk: &Talk<U, A>,
    understood: &Understood<'_>,
    sent: Sent<'_>,
    listed: Option<&Page>,
    drifted: &[(String, DefinitionFingerprint)],
    came_in: Run,
) {
    let identified = &understood.identified;
    let message = identified.message;
    note_roots(identified, &talk.session);
    let mut state = talk.session.state();
    // While it was on its way the session has moved: what the open server says of itself is nothing
    // that the isolated one has said. Nor is what a server said before it ended.
    if identified.from == Side::Upstream && came_in != state.run() {
        shown_in_vain(&mut state, identified);
        return;
    }
    for question in &understood.questions {
        if let Doing::Elicit(asked) = &question.doing
            && let Some(id) = &asked.id
        {
            state.agent_side.announced.note(id);
        }
    }
    match &identified.role {
        Role::Request {
            method: KnownMethod::Initialize,
            ..
        } => {
            if let Some(params) = message.params() {
                state.protocol.lifecycle = Lifecycle::Initializing(handshake(params, sent));
                // Where many share a session, none speaks for the others.
                if !talk.session.is_shared() {
                    introduce(&mut state, params.get("clientInfo"));
                }
            }
        }
        Role::Request { method, .. } => {
            // What a server says of itself or of others changes nothing here.
            if identified.from == Side::Upstream {
                return;
            }
            let shared = talk.session.is_shared();
            follow(&mut state, *method, message);
            let client = message.meta().and_then(|meta| meta.get(meta::CLIENT));
            // After a handshake the agent is who it said it was then; where many share a session,
            // none speaks for the others.
            let (Some(client), Lifecycle::New, false) = (client, &state.protocol.lifecycle, shared)
            else {
                return;
            };
            introduce(&mut state, Some(client));
        }
        Role::Notification { method } => {
            if *method == KnownMethod::ToolsListChanged {
                state.lists.tools.forget();
                state.lists.drifts.told();
            }
            if *method == KnownMethod::PromptsListChanged {
                state.lists.prompts.forget();
            }
            granted::note_granted(identified, &mut state);
            return;
        }
        // What the open server says of itself counts no more once the session has left it.
        Role::Reply(taken) if matches!(taken.waits, Waits::Elsewhere(_)) => {
            shown_in_vain(&mut state, identified);
            return;
        }
        Role::Reply(taken) => {
            if taken.exchange.method == KnownMethod::ToolsList && listed.is_some() {
                let drifted = drifted.iter();
                state
                    .lists
                    .drifts
                    .listed(drifted.map(|(name, print)| (name.as_str(), *print)));
            }
            if identified.from == Side::Upstream
                && replied(&mut state, &taken.exchange, message, listed) == Handshake::Completed
            {
                talk.upstream.handshake_completed();
            }
            return;
        }
    }
    drop(state);
    talk.introduce();
}

/// The agent hears of a resource from now on, or not any more.
fn follow(state: &mut State, method: KnownMethod, message: &Message) {
    let uri = || message.params()?.get("uri")?.as_str();
    if method == KnownMethod::ResourcesSubscribe {
        uri().inspect(|uri| state.agent_side.followed.follow(uri));
    } else if method == KnownMethod::ResourcesUnsubscribe {
        uri().inspect(|uri| state.agent_side.followed.leave(uri));
    }
}

/// What an agent says at `initialize`.
fn handshake(said: Value<'_>, sent: Sent<'_>) -> session::Handshake {
    let version = said.get("protocolVersion").and_then(Value::as_str);
    let sent = sent.read();
    let permitted = sent.as_ref().and_then(Message::params);
    session::Handshake {
        // Nothing of it is told to a server that policy had taken out for the first one.
        params: permitted.map_or("{}", |params| params.text()).into(),
        spoken: spoken(&version.unwrap_or_default(), said.get("capabilities")),
    }
}

/// A prompt of which the agent has seen what another server says is not merely one that it never asked
/// about.
fn shown_in_vain(state: &mut State, identified: &Identified<'_>) {
    let Role::Reply(taken) = &identified.role else {
        return;
    };
    if taken.exchange.method == KnownMethod::PromptsList {
        state.lists.prompts.was_told_otherwise();
    }
}

/// Whether a reply completed the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Handshake {
    Completed,
    Unchanged,
}

fn replied(
    state: &mut State,
    exchange: &Exchange,
    message: &Message,
    listed: Option<&Page>,
) -> Handshake {
    if exchange.method == KnownMethod::ToolsList {
        let traversal = Traversal::of_agent(exchange.asks.cursor.as_deref());
        listing::note_offers(state, message, listed, traversal);
    }
    if exchange.method == KnownMethod::PromptsList
        && let Some(page) = listed
    {
        let traversal = Traversal::of_agent(exchange.asks.cursor.as_deref());
        let next = listing::next_cursor(message).ok().flatten();
        state.lists.prompts.add_page(traversal, page, next);
    }
    cursors::give(state, exchange, message);
    let Some(result) = message.result() else {
        if exchange.method == KnownMethod::Initialize {
            state.protocol.lifecycle.abandon();
        }
        return Handshake::Unchanged;
    };
    if exchange.method == KnownMethod::Initialize {
        let version = message.agreed_revision().unwrap_or_default();
        state.protocol.lifecycle.complete(&version);
        state.lists.promised = promised(result);
    }
    if let KnownMethod::Initialize | KnownMethod::Discover = exchange.method {
        state.parties.server_version = server_version(result);
    }
    if exchange.method == KnownMethod::Discover && state.protocol.bridged.is_some() {
        state.lists.promised = promised(result);
    }
    if let Some(changed) = listing::changed(exchange.method)
        && !state.lists.listed.contains(&changed)
    {
        state.lists.listed.push(changed);
    }
    // Who answers that may still agree to no handshake.
    if exchange.method == KnownMethod::Ping {
        return Handshake::Unchanged;
    }
    // In the stateless era there is no handshake: any result shows that the upstream lives.
    Handshake::Completed
}

/// The lists of which the upstream has said that it tells when they change.
fn promised(initialized: Value<'_>) -> Vec<KnownMethod> {
    let lists = [
        ("tools", KnownMethod::ToolsListChanged),
        ("prompts", KnownMethod::PromptsListChanged),
        ("resources", KnownMethod::ResourcesListChanged),
    ];
    let says = |list| initialized.at(&["capabilities", list, "listChanged"]);
    let told = lists
        .into_iter()
        .filter(|(list, _)| says(*list).and_then(Value::as_bool) == Some(true));
    told.map(|(_, changed)| changed).collect()
}

/// Bytes of it that are kept: more than records show, so that these cut it.
const MOST_VERSION: usize = 16 << 10;

/// What a server says of its own version as it agrees to speak: a label.
pub(super) fn server_version(said: Value<'_>) -> Option<Arc<str>> {
    let own = said.get("serverInfo");
    let own = own.or_else(|| said.at(&["_meta", meta::SERVER]))?;
    let version = own.get("version")?.as_str()?;
    let end = version.floor_char_boundary(MOST_VERSION);
    version.get(..end).map(Into::into)
}

/// What an agent says of itself is a label, never an identity.
fn introduce(state: &mut State, said: Option<Value<'_>>) {
    let client = client(said);
    if state.parties.agent.client != client {
        let agent = policy::Agent {
            client,
            ..(*state.parties.agent).clone()
        };
        state.parties.agent = Arc::new(agent);
    }
}
