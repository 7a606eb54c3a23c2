//! How long the agent's model works for a server: longer than a request for it waits, if that was given
//! up or has become a task.

use std::sync::Arc;
use std::time::Duration;

use crate::session::{Lent, Session, State, Taken};
use crate::wire::{KnownMethod, Side, Value};

use crate::gate::classified::{Identified, Role};
use crate::gate::digest::Digest;
use crate::gate::owner::has_one_agent;
use crate::gate::query::{Doing, Understood};
use crate::gate::tasks;

/// The longest that a task of the agent's is taken to work of which nothing is heard.
const LONGEST: Duration = Duration::from_hours(1);

/// A request to the agent was given up before it was answered. If it was for a sample, the agent may
/// not have heard of it yet, or not heed it: it counts as working until it answers, or until then.
pub(in crate::gate) fn given_up(taken: &Taken, state: &mut State, until: Duration) {
    if taken.exchange.method == KnownMethod::CreateMessage {
        state
            .agent_side
            .lending
            .note(Lent::Sample(taken.minted), until);
    }
}

/// When a sample counts as ended that was given up before its time was over.
pub(in crate::gate) fn in_time(taken: &Taken) -> Duration {
    taken
        .exchange
        .deadline
        .unwrap_or(taken.exchange.received.started)
}

/// The same for one whose time was over: once more that time.
pub(in crate::gate) fn after_time(taken: &Taken) -> Duration {
    let deadline = in_time(taken);
    deadline.saturating_add(deadline.saturating_sub(taken.exchange.received.started))
}

/// An unfinished result asks for a sample, and the agent is about to get it. No message says when its model
/// begins; it is done when the request is repeated with the answers, or else counts as such after as long as
/// a request for a sample would be waited for, and once more that time.
///
/// Not where the bridge stands between, which knows better, and not among agents that know nothing of each
/// other: none is held back for what another is asked.
pub(in crate::gate) fn asked_within(
    understood: &Understood<'_>,
    session: &Session,
    round: Digest,
    now: Duration,
    timeout: Duration,
) {
    let mut asked = understood.questions.iter();
    let samples = asked.any(|question| matches!(question.doing, Doing::Sample { .. }));
    if !samples || !has_one_agent(session) {
        return;
    }
    let mut state = session.state();
    if state.protocol.bridged.is_none() {
        let until = now.saturating_add(timeout).saturating_add(timeout);
        state.agent_side.lending.note(Lent::Round(round), until);
    }
}

/// A request brings what a server has asked for within a result.
pub(in crate::gate) fn answered_within(session: &Session, round: Option<Digest>) {
    if let Some(round) = round {
        session
            .state()
            .agent_side
            .lending
            .ended(&Lent::Round(round));
    }
}

/// Takes in what the agent says of samples that have become tasks, whatever becomes of its message.
pub(in crate::gate) fn heard(identified: &Identified<'_>, session: &Session, now: Duration) {
    if identified.from != Side::Agent {
        return;
    }
    let has_ended = |told: Option<Value<'_>>| {
        let status = told.and_then(|told| told.get("status")?.as_str());
        let status = status.as_deref().unwrap_or_default();
        ["completed", "failed", "cancelled"].contains(&status)
    };
    let message = identified.message;
    let ended: Option<Arc<str>> = match &identified.role {
        Role::Reply(taken) if taken.exchange.method == KnownMethod::CreateMessage => {
            let task = message.result().and_then(|result| result.get("task"));
            if let Some(id) = tasks::begins(identified).filter(|_| !has_ended(task)) {
                let until = now.saturating_add(tasks::lifetime(message).min(LONGEST));
                let task = Lent::Task(id.into());
                session.state().agent_side.lending.note(task, until);
            }
            None
        }
        Role::Reply(taken) => {
            let is_result = taken.exchange.method == KnownMethod::TasksResult;
            let id = taken.exchange.asks.task.id();
            id.filter(|_| is_result || has_ended(message.result()))
        }
        Role::Notification {
            method: KnownMethod::TaskStatus,
        } => {
            let params = message.params().filter(|params| has_ended(Some(*params)));
            let id = params.and_then(|params| params.get("taskId")?.as_str());
            id.map(|id| Arc::from(&*id))
        }
        Role::Notification { .. } | Role::Request { .. } => None,
    };
    if let Some(id) = ended {
        session.state().agent_side.lending.ended(&Lent::Task(id));
    }
}
