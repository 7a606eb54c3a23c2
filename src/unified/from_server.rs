//! Messages of servers: renames them for the agent, and merges the answers of several.

use super::list_changes::is_list_change;
use super::open_requests::{Outcome, now, settle};
use super::rename::name_for_agent;
use super::routing_state::{Recipients, ServerState};
use super::server_names;
use super::session::{InboxMessage, UnifiedSession};
use super::subscribed_names::subscription_of;
use crate::gate::{Agent, AgentGone, Carried, Permit, UNKNOWN_TOOL};
use crate::wire::{Edits, Fragment, Id, KnownMethod, Limits, Message, Stream};

impl<A: Agent> UnifiedSession<A> {
    /// Delivers what the gate of this server permits.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn deliver(&self, server: usize, permit: Permit) -> Result<(), AgentGone> {
        let limits = Limits {
            max_bytes: usize::MAX,
            max_nodes: usize::MAX,
            // The most that any configuration permits.
            ..Limits::default()
        };
        let Ok(message) = Message::decode(permit.line().as_bytes(), &limits) else {
            tracing::error!("a permitted message could not be decoded, and was not delivered");
            return Ok(());
        };
        let _turn = match subscription_of(&message) {
            Some(_) => Some(self.subscription_order.lock().await),
            None => None,
        };
        let outcome = self.outward(server, message, permit);
        self.carry_out(outcome).await
    }

    /// The agent's messages for one that the gate of a server permits.
    fn outward(&self, server: usize, message: Message, permit: Permit) -> Outcome {
        let stream = permit.passage().stream;
        let carried = &permit.passage().carried;
        let (edits, carried) = match carried {
            Carried::Reply { .. } => return self.reply(server, message, permit),
            Carried::Request {
                id: minted,
                method,
                name,
                revision,
            } => {
                let mut edits = self.shown(server, *method, &message);
                let id = self.state().number_question((server, *minted));
                if let Some(value) = message.id_value() {
                    edits.replace(value, Fragment::unsigned(id));
                }
                let carried = Carried::Request {
                    id,
                    method: *method,
                    name: name.clone(),
                    revision: revision.clone(),
                };
                (edits, carried)
            }
            Carried::Notification {
                method: KnownMethod::SubscriptionsAcknowledged,
                ..
            } => return self.acknowledged(server, message, permit),
            Carried::Notification { method, ends, .. } => {
                let value = message.params().and_then(|it| it.get("requestId"));
                let of = value.and_then(Id::read);
                if *method == KnownMethod::Cancelled
                    && let Some(outcome) = of.and_then(|id| self.left(server, stream, &id, &permit))
                {
                    return outcome;
                }
                let mut edits = self.shown(server, *method, &message);
                let ended = ends.and_then(|id| self.state().withdraw_question((server, id)));
                if let (Some(id), Some(value)) = (ended, value) {
                    edits.replace(value, Fragment::unsigned(id));
                }
                (edits, carried.clone())
            }
        };
        let list_change = match &carried {
            Carried::Notification { method, .. } => Some(*method).filter(|it| is_list_change(*it)),
            Carried::Request { .. } | Carried::Reply { .. } => None,
        };
        let permit = permit.translated(edits.finish(), carried);
        let mut state = self.state();
        let subscription = subscription_of(&message).map(|id| self.key(stream, &id));
        let fan_out = subscription.as_ref().and_then(|key| state.fan_out(key));
        let told = match fan_out {
            Some(fan_out) => fan_out.hold_or_pass(permit),
            None => Some(permit),
        };
        match (list_change, told) {
            (Some(method), Some(permit)) => {
                state
                    .list_changes
                    .add((method, subscription), permit, now());
                self.deadlines_changed.notify_one();
                Outcome::default()
            }
            (_, told) => Outcome::of(told.into_iter().collect()),
        }
    }

    fn reply(&self, server: usize, message: Message, permit: Permit) -> Outcome {
        let mut outcome = Outcome::default();
        let Some(id) = message.id() else {
            outcome.permits.push(permit);
            return outcome;
        };
        let key = self.key(permit.passage().stream, id);
        let mut state = self.state();
        let Some(asked) = state.requests.get_mut(&key) else {
            return outcome;
        };
        let method = asked.method;
        let fan_out = match &mut asked.recipients {
            Recipients::One(of) if *of == server => {
                state.requests.remove(&key);
                drop(state);
                let mut edits = self.shown(server, method, &message);
                self.name_unknown_tool(server, &message, &mut edits);
                let line = edits.finish();
                let carried = permit.passage().carried.clone();
                outcome.permits.push(permit.translated(line, carried));
                return outcome;
            }
            Recipients::All(fan_out) if fan_out.open.contains(&server) => fan_out,
            // It was not asked.
            Recipients::One(_) | Recipients::All(_) => return outcome,
        };
        fan_out.open.remove(&server);
        let mut late_news = Vec::new();
        let greets = method == KnownMethod::Initialize && message.result().is_some();
        if fan_out.is_answered {
            late_news = news(&message, &permit);
        } else {
            fan_out.add(method, (server, message), permit);
        }
        outcome.permits.extend(fan_out.next(method, &self.names()));
        settle(&mut state, &key, &mut outcome);
        for (method, permit) in late_news {
            state.list_changes.add((method, None), permit, now());
            self.deadlines_changed.notify_one();
        }
        if greets {
            state.set_state(server, ServerState::Ready);
            let initialized = state.initialized.clone();
            let set_level = state.set_level_late(server);
            let set_level = set_level.map(|(_, source, line)| (source, line));
            for (source, line) in initialized.into_iter().chain(set_level) {
                // A server that has ended needs neither.
                let _ = self.send_surely(server, InboxMessage::Frame(source, line));
            }
        }
        outcome
    }

    /// In the gate's answer to a call of a tool that the agent does not see, and in the same of a server, the text
    /// ends with the tool's name.
    fn name_unknown_tool<'m>(&self, server: usize, message: &'m Message, edits: &mut Edits<'m>) {
        let text = message.error().and_then(|it| it.get("message"));
        let Some((text, error)) = text.and_then(|it| Some((it, it.as_str()?))) else {
            return;
        };
        if let Some(name) = error.strip_prefix(UNKNOWN_TOOL) {
            let shown = self.names().encode_tool(server, name);
            let error = format!("{UNKNOWN_TOOL}{shown}");
            edits.replace(text, Fragment::string(&error));
        }
    }

    /// A server's message, with the agent's names in it.
    fn shown<'m>(&self, server: usize, method: KnownMethod, message: &'m Message) -> Edits<'m> {
        let mut edits = message.edits();
        for place in server_names::in_server_message(message, method) {
            name_for_agent(&mut edits, place, server, &self.names());
        }
        edits
    }
}

/// The notifications by which the agent learns of a server that has answered `initialize` late.
fn news(message: &Message, permit: &Permit) -> Vec<(KnownMethod, Permit)> {
    let capabilities = message.result().and_then(|it| it.get("capabilities"));
    let lists = [
        ("tools", KnownMethod::ToolsListChanged),
        ("prompts", KnownMethod::PromptsListChanged),
        ("resources", KnownMethod::ResourcesListChanged),
    ];
    let has = |list: &str| capabilities.is_some_and(|it| it.get(list).is_some());
    let changed = lists.into_iter().filter(|(list, _)| has(list));
    let told = changed.map(|(_, method)| {
        let line = format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#);
        let carried = Carried::Notification {
            method,
            ends: None,
            revision: None,
        };
        (method, permit.translated_for(Stream::MAIN, line, carried))
    });
    told.collect()
}
