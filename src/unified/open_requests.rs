//! Requests of the agent's that servers answer late, or never.

use std::collections::BTreeSet;
use std::future::pending;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep, sleep_until};

use super::routing_state::{Recipients, RequestKey, RoutingState};
use super::session::{InboxMessage, UnifiedSession};
use crate::gate::{Agent, AgentGone, Permit, Source};
use crate::wire::{Id, KnownMethod, Stream};

/// The effects of a server's message, or of a deadline.
#[derive(Default)]
pub(super) struct Outcome {
    /// What the agent gets.
    pub(super) permits: Vec<Permit>,
    /// Requests that are cancelled then, each with its stream, and the servers that have not answered it.
    called_off: Vec<(RequestKey, Stream, BTreeSet<usize>)>,
}

/// A request that its server has not answered before its end.
#[derive(Debug)]
pub struct Unanswered {
    pub id: Id,
    pub method: KnownMethod,
    pub stream: Stream,
}

impl Outcome {
    pub(super) fn of(permits: Vec<Permit>) -> Self {
        Self {
            permits,
            ..Self::default()
        }
    }
}

impl<A: Agent> UnifiedSession<A> {
    /// Answers requests at their deadlines, and tells of changed lists, until the agent has gone.
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
                () = self.deadlines_changed.notified() => {}
                () = over => {
                    let _turn = self.subscription_order.lock().await;
                    let late = self.late();
                    if self.carry_out(late).await == Err(AgentGone) {
                        return AgentGone;
                    }
                }
            }
        }
    }

    /// The conversation with this server has ended. Yields the requests that have no answer without it.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn ended(&self, server: usize) -> Result<Vec<Unanswered>, AgentGone> {
        self.close(server);
        let _turn = self.subscription_order.lock().await;
        let mut outcome = Outcome::default();
        let mut unanswered = Vec::new();
        {
            let mut state = self.state();
            state.end_server(server);
            for key in state.open_at(server) {
                let Some(request) = state.requests.get_mut(&key) else {
                    continue;
                };
                let (method, stream) = (request.method, request.stream);
                let is_answered = match &mut request.recipients {
                    Recipients::One(_) => false,
                    Recipients::All(fan_out) => {
                        fan_out.lose(server);
                        let permits = fan_out.next(method, &self.names());
                        outcome.permits.extend(permits);
                        fan_out.is_answered || !fan_out.open.is_empty()
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

    pub(super) async fn carry_out(&self, outcome: Outcome) -> Result<(), AgentGone> {
        for permit in outcome.permits {
            self.agent.deliver(permit).await?;
        }
        for ((_, id), stream, servers) in outcome.called_off {
            for server in servers {
                // A server that has ended works on nothing.
                let _ = self.send_surely(server, self.call_off(&id, stream));
            }
        }
        Ok(())
    }

    /// The answers and notices whose time has come.
    fn late(&self) -> Outcome {
        let mut state = self.state();
        let now = now();
        let mut outcome = Outcome::default();
        let mut due = Vec::new();
        for (key, asked) in &mut state.requests {
            let Recipients::All(fan_out) = &mut asked.recipients else {
                continue;
            };
            if fan_out.is_due(now) {
                let permits = fan_out.next(asked.method, &self.names());
                outcome.permits.extend(permits);
                due.push(key.clone());
            }
        }
        for key in due {
            settle(&mut state, &key, &mut outcome);
        }
        for ((_, subscription), permit) in state.list_changes.take_due(now) {
            let is_open = subscription.is_none_or(|key| state.requests.contains_key(&key));
            outcome.permits.extend(is_open.then_some(permit));
        }
        outcome
    }

    /// The message by which a server stops working on a request.
    fn call_off(&self, id: &Id, stream: Stream) -> InboxMessage {
        if self.settings.is_stateless {
            return InboxMessage::HungUp(stream);
        }
        let line = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{},"reason":"other servers have answered"}}}}"#,
            id.json()
        );
        InboxMessage::Frame(Source::on(stream), Bytes::from(line))
    }
}

pub(super) fn now() -> Instant {
    sleep(Duration::ZERO).deadline()
}

/// Removes a request once it is answered, and has its servers cancel what is left of it.
pub(super) fn settle(state: &mut RoutingState, key: &RequestKey, outcome: &mut Outcome) {
    let is_complete = state
        .requests
        .get(key)
        .is_some_and(|asked| match &asked.recipients {
            Recipients::One(server) => !state.is_there(*server),
            Recipients::All(fan_out) => fan_out.is_complete(asked.method),
        });
    if let Some(asked) = is_complete.then(|| state.requests.remove(key)).flatten()
        && let Recipients::All(fan_out) = asked.recipients
        && !fan_out.open.is_empty()
    {
        let open = fan_out.open;
        outcome.called_off.push((key.clone(), asked.stream, open));
    }
}
