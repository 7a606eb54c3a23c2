//! What servers say: to the agent under its names, and what several of them answer as one answer.

use std::future::pending;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{sleep, sleep_until};

use super::rename::shown;
use super::server_names;
use super::session::{Inward, Unified};
use super::waiting::{Of, Progress};
use crate::gate::{Agent, AgentGone, Carried, Permit, Source};
use crate::mcp::meta;
use crate::wire::{Edits, Fragment, Id, KnownMethod, Limits, Message, Stream};

impl<A: Agent> Unified<A> {
    /// Brings the agent what the gate of this server permits.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn deliver(&self, server: usize, permit: Permit) -> Result<(), AgentGone> {
        for permit in self.outward(server, permit) {
            self.agent.deliver(permit).await?;
        }
        Ok(())
    }

    /// Answers requests for which the time of their servers is over, until nothing reaches the agent any more.
    pub async fn keep_time(&self) -> AgentGone {
        loop {
            let next = self.state().next_deadline();
            let over = async {
                match next {
                    Some(next) => sleep_until(next).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                () = self.waits.notified() => {}
                () = over => {
                    for permit in self.late() {
                        if self.agent.deliver(permit).await == Err(AgentGone) {
                            return AgentGone;
                        }
                    }
                }
            }
        }
    }

    /// What the agent gets for what the gate of a server permits.
    fn outward(&self, server: usize, permit: Permit) -> Vec<Permit> {
        let limits = Limits {
            max_bytes: usize::MAX,
            ..self.settings.limits
        };
        let Ok(message) = Message::decode(permit.line().as_bytes(), &limits) else {
            tracing::error!("a permitted message is none");
            return Vec::new();
        };
        let carried = &permit.passage().carried;
        let (edits, carried) = match carried {
            Carried::Reply { .. } => return self.reply(server, message, permit),
            Carried::Request { id, method, .. } => {
                let mut edits = self.shown(server, *method, &message);
                let id = self.state().ask((server, *id));
                if let Some(value) = message.id_value() {
                    edits.replace(value, Fragment::unsigned(id));
                }
                (edits, carried.with_id(id))
            }
            Carried::Notification {
                method: KnownMethod::SubscriptionsAcknowledged,
                ..
            } => return self.acknowledged(server, message, permit),
            Carried::Notification { method, ends, .. } => {
                let mut edits = self.shown(server, *method, &message);
                let ended = ends.and_then(|id| self.state().withdrawn((server, id)));
                let value = message.params().and_then(|it| it.get("requestId"));
                if let (Some(id), Some(value)) = (ended, value) {
                    edits.replace(value, Fragment::unsigned(id));
                }
                (edits, carried.clone())
            }
        };
        let line = edits.finish();
        self.in_turn(&message, permit.translated(line, carried))
    }

    fn reply(&self, server: usize, message: Message, permit: Permit) -> Vec<Permit> {
        let Some(id) = message.id().cloned() else {
            return vec![permit];
        };
        let mut state = self.state();
        let Some(asked) = state.asked.get_mut(&id) else {
            return Vec::new();
        };
        let method = asked.method;
        let gathering = match &mut asked.of {
            Of::One(of) if *of == server => {
                state.asked.remove(&id);
                let line = self.shown(server, method, &message).finish();
                let carried = permit.passage().carried.clone();
                return vec![permit.translated(line, carried)];
            }
            Of::All(gathering) if gathering.open.contains(&server) => gathering,
            // It was not asked.
            Of::One(_) | Of::All(_) => return Vec::new(),
        };
        gathering.open.remove(&server);
        let greets = method == KnownMethod::Initialize && message.result().is_some();
        let mut told = Vec::new();
        if gathering.is_answered {
            told = news(&message, &permit);
        } else {
            gathering.add(server, message, permit);
        }
        told.extend(gathering.acknowledgement(&self.settings.naming));
        told.extend(gathering.answer(method, &self.settings.naming));
        if gathering.is_over(method) {
            state.asked.remove(&id);
        }
        if greets {
            state.now(server, Progress::Ready);
            if let Some((source, line)) = state.initialized.clone() {
                // If its inbox is full, it has more to do than this.
                let _ = self.send(server, Inward::Frame(source, line));
            }
        }
        told
    }

    /// The server has taken its part of a subscription.
    fn acknowledged(&self, server: usize, message: Message, permit: Permit) -> Vec<Permit> {
        let mut waiting = self.state();
        let subscription = subscription_of(&message);
        let Some(gathering) = subscription.and_then(|id| waiting.gathering(&id)) else {
            return Vec::new();
        };
        gathering.acknowledge(server, message, permit);
        gathering.acknowledgement(&self.settings.naming)
    }

    /// What a server tells, after what it must not come before.
    fn in_turn(&self, message: &Message, permit: Permit) -> Vec<Permit> {
        let mut waiting = self.state();
        let subscription = subscription_of(message);
        let told = match subscription.and_then(|id| waiting.gathering(&id)) {
            Some(gathering) => gathering.in_turn(permit),
            None => Some(permit),
        };
        told.into_iter().collect()
    }

    /// The answers that wait for no server any more.
    fn late(&self) -> Vec<Permit> {
        let mut state = self.state();
        let now = sleep(Duration::ZERO).deadline();
        let mut told = Vec::new();
        let mut cancelled = Vec::new();
        for (id, asked) in &mut state.asked {
            let Of::All(gathering) = &mut asked.of else {
                continue;
            };
            if gathering.is_due(now) {
                told.extend(gathering.acknowledgement(&self.settings.naming));
                told.extend(gathering.answer(asked.method, &self.settings.naming));
                if gathering.is_over(asked.method) {
                    cancelled.push((
                        id.clone(),
                        asked.stream,
                        std::mem::take(&mut gathering.open),
                    ));
                }
            }
        }
        for (id, stream, servers) in cancelled {
            state.asked.remove(&id);
            for server in servers {
                let _ = self.send(server, self.call_off(&id, stream));
            }
        }
        told
    }

    /// What a server gets of whose answer nobody waits any more.
    fn call_off(&self, id: &Id, stream: Stream) -> Inward {
        if self.settings.is_stateless {
            return Inward::HungUp(stream);
        }
        let line = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{},"reason":"other servers have answered"}}}}"#,
            id.json()
        );
        Inward::Frame(Source::on(stream), Bytes::from(line))
    }

    /// What makes of a server's message what the agent knows it as.
    fn shown<'m>(&self, server: usize, method: KnownMethod, message: &'m Message) -> Edits<'m> {
        let mut edits = message.edits();
        for place in server_names::of_server(message, method) {
            shown(&mut edits, place, server, &self.settings.naming);
        }
        edits
    }
}

/// The request of the subscription that a message belongs to (since 2026-07-28).
fn subscription_of(message: &Message) -> Option<Id> {
    let meta = message.params()?.get("_meta")?;
    Id::read(meta.get(meta::SUBSCRIPTION)?)
}

/// What the agent is told of a server that has greeted it late: there is more.
fn news(message: &Message, permit: &Permit) -> Vec<Permit> {
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
        permit.translated_for(Stream::MAIN, line, carried)
    });
    told.collect()
}
