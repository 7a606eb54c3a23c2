//! What servers say: to the agent under its names, and what several of them answer as one answer.

use std::collections::BTreeSet;
use std::future::pending;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{sleep, sleep_until};

use super::rename::shown;
use super::server_names;
use super::session::{Inward, Unified};
use super::waiting::{Of, Progress, RequestKey, Waiting};
use crate::gate::{Agent, AgentGone, Carried, Permit, Source};
use crate::mcp::meta;
use crate::wire::{Edits, Fragment, Id, KnownMethod, Limits, Message, Stream};

/// What comes of a server's message, or of time.
#[derive(Default)]
struct Outcome {
    /// What the agent gets.
    permits: Vec<Permit>,
    /// Then, requests whose answers nobody waits for any more: each with its stream, and the servers that have it.
    called_off: Vec<(RequestKey, Stream, BTreeSet<usize>)>,
}

/// What a server has left unanswered.
#[derive(Debug)]
pub struct Unanswered {
    pub id: Id,
    pub method: KnownMethod,
    pub stream: Stream,
}

impl<A: Agent> Unified<A> {
    /// Brings the agent what the gate of this server permits.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn deliver(&self, server: usize, permit: Permit) -> Result<(), AgentGone> {
        let limits = Limits {
            max_bytes: usize::MAX,
            max_nodes: usize::MAX,
            ..self.settings.limits
        };
        let Ok(message) = Message::decode(permit.line().as_bytes(), &limits) else {
            tracing::error!("a permitted message could not be decoded, and was not delivered");
            return Ok(());
        };
        let _turn = match subscription_of(&message) {
            Some(_) => Some(self.turn.lock().await),
            None => None,
        };
        let outcome = self.outward(server, message, permit);
        self.carry_out(outcome).await
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
                    let _turn = self.turn.lock().await;
                    let late = self.late();
                    if self.carry_out(late).await == Err(AgentGone) {
                        return AgentGone;
                    }
                }
            }
        }
    }

    /// Nothing more goes to this server, and nothing more comes from it. Yields the requests to which there is no
    /// other answer.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn ended(&self, server: usize) -> Result<Vec<Unanswered>, AgentGone> {
        self.close(server);
        let _turn = self.turn.lock().await;
        let mut outcome = Outcome::default();
        let mut unanswered = Vec::new();
        {
            let mut state = self.state();
            state.ended(server);
            for key in state.open_at(server) {
                let Some(request) = state.asked.get_mut(&key) else {
                    continue;
                };
                let (method, stream) = (request.method, request.stream);
                let is_answered = match &mut request.of {
                    Of::One(_) => false,
                    Of::All(gathering) => {
                        gathering.lose(server);
                        let permits = gathering.next(method, &self.settings.naming);
                        outcome.permits.extend(permits);
                        gathering.is_answered || !gathering.open.is_empty()
                    }
                };
                if !is_answered {
                    let (_, id) = key.clone();
                    unanswered.push(Unanswered { id, method, stream });
                }
                settle(&mut state, &key, &mut outcome);
            }
        }
        self.carry_out(outcome).await?;
        Ok(unanswered)
    }

    async fn carry_out(&self, outcome: Outcome) -> Result<(), AgentGone> {
        for permit in outcome.permits {
            self.agent.deliver(permit).await?;
        }
        for ((_, id), stream, servers) in outcome.called_off {
            for server in servers {
                // One that has ended works on nothing.
                let _ = self.send_surely(server, self.call_off(&id, stream));
            }
        }
        Ok(())
    }

    /// What the agent gets for what the gate of a server permits.
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
                let id = self.state().ask((server, *minted));
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
                let ended = ends.and_then(|id| self.state().withdrawn((server, id)));
                if let (Some(id), Some(value)) = (ended, value) {
                    edits.replace(value, Fragment::unsigned(id));
                }
                (edits, carried.clone())
            }
        };
        let permit = permit.translated(edits.finish(), carried);
        let mut state = self.state();
        let subscription = subscription_of(&message).map(|id| self.key(stream, &id));
        let told = match subscription.and_then(|key| state.gathering(&key)) {
            Some(gathering) => gathering.in_turn(permit),
            None => Some(permit),
        };
        Outcome {
            permits: told.into_iter().collect(),
            ..Outcome::default()
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
        let Some(asked) = state.asked.get_mut(&key) else {
            return outcome;
        };
        let method = asked.method;
        let gathering = match &mut asked.of {
            Of::One(of) if *of == server => {
                state.asked.remove(&key);
                drop(state);
                let line = self.shown(server, method, &message).finish();
                let carried = permit.passage().carried.clone();
                outcome.permits.push(permit.translated(line, carried));
                return outcome;
            }
            Of::All(gathering) if gathering.open.contains(&server) => gathering,
            // It was not asked.
            Of::One(_) | Of::All(_) => return outcome,
        };
        gathering.open.remove(&server);
        let greets = method == KnownMethod::Initialize && message.result().is_some();
        if gathering.is_answered {
            outcome.permits = news(&message, &permit);
        } else {
            gathering.add(server, message, permit);
        }
        outcome
            .permits
            .extend(gathering.next(method, &self.settings.naming));
        settle(&mut state, &key, &mut outcome);
        if greets {
            state.now(server, Progress::Ready);
            if let Some((source, line)) = state.initialized.clone() {
                // One that has ended is told nothing more.
                let _ = self.send_surely(server, Inward::Frame(source, line));
            }
        }
        outcome
    }

    /// The server has taken its part of a subscription.
    fn acknowledged(&self, server: usize, message: Message, permit: Permit) -> Outcome {
        let mut state = self.state();
        let stream = permit.passage().stream;
        let key = subscription_of(&message).map(|id| self.key(stream, &id));
        let mut outcome = Outcome::default();
        if let Some(gathering) = key.and_then(|key| state.gathering(&key)) {
            gathering.acknowledge(server, message, permit);
            outcome.permits = gathering.acknowledgement(&self.settings.naming);
        }
        outcome
    }

    /// A server ends its part of what it was asked with others: the agent learns of it with the last one. `None`
    /// if the message is not that.
    fn left(&self, server: usize, stream: Stream, id: &Id, permit: &Permit) -> Option<Outcome> {
        let key = self.key(stream, id);
        let mut state = self.state();
        let gathering = state.gathering(&key)?;
        let mut outcome = Outcome::default();
        gathering.lose(server);
        if gathering.open.is_empty() {
            state.asked.remove(&key);
            let carried = permit.passage().carried.clone();
            outcome
                .permits
                .push(permit.translated(permit.line().to_owned(), carried));
        } else {
            outcome.permits = gathering.acknowledgement(&self.settings.naming);
        }
        Some(outcome)
    }

    /// The answers that wait for no server any more.
    fn late(&self) -> Outcome {
        let mut state = self.state();
        let now = sleep(Duration::ZERO).deadline();
        let mut outcome = Outcome::default();
        let mut due = Vec::new();
        for (key, asked) in &mut state.asked {
            let Of::All(gathering) = &mut asked.of else {
                continue;
            };
            if gathering.is_due(now) {
                let permits = gathering.next(asked.method, &self.settings.naming);
                outcome.permits.extend(permits);
                due.push(key.clone());
            }
        }
        for key in due {
            settle(&mut state, &key, &mut outcome);
        }
        outcome
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

/// Forgets a request of which nothing is awaited any more.
fn settle(state: &mut Waiting, key: &RequestKey, outcome: &mut Outcome) {
    let is_over = state.asked.get(key).is_some_and(|asked| match &asked.of {
        Of::One(server) => !state.is_there(*server),
        Of::All(gathering) => gathering.is_over(asked.method),
    });
    if let Some(asked) = is_over.then(|| state.asked.remove(key)).flatten()
        && let Of::All(gathering) = asked.of
        && !gathering.open.is_empty()
    {
        let open = gathering.open;
        outcome.called_off.push((key.clone(), asked.stream, open));
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
