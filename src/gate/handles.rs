//! Members of a message that a peer must get back byte for byte (cursors, states, task ids), as the protocol
//! defines them for this method and revision. Elsewhere a member of such a name is ordinary text.

use crate::mcp::revisions::FIRST_STATELESS;
use crate::session::Task;
use crate::wire::{KnownMethod, Side};

use super::classified::{Identified, Role, asks};
use super::cursors::is_paged;
use super::tasks;

/// Paths from the top of a message.
pub(super) type Handles = Vec<&'static [&'static str]>;

/// The handles that a message may have.
pub(super) fn of(identified: &Identified<'_>) -> Handles {
    match &identified.role {
        Role::Request { method, .. } => {
            let is_agents = identified.from == Side::Agent;
            let is_stateless = *identified.scene.spoken.version >= *FIRST_STATELESS;
            found([
                (is_paged(*method), &["params", "cursor"]),
                (
                    is_agents && is_stateless && asks(*method),
                    &["params", "requestState"],
                ),
                (tasks::is_about_one(*method), &["params", "taskId"]),
            ])
        }
        Role::Notification { method } => {
            let tells = matches!(method, KnownMethod::TaskStatus | KnownMethod::TaskNews);
            found([(tells, &["params", "taskId"])])
        }
        Role::Reply(taken) => {
            let exchange = &taken.exchange;
            let is_stateless = *exchange.asks.spoken.version >= *FIRST_STATELESS;
            let may_begin = matches!(exchange.asks.task, Task::MayBegin { .. });
            let is_about_one = matches!(exchange.asks.task, Task::Named(_));
            found([
                (is_paged(exchange.method), &["result", "nextCursor"]),
                (
                    is_stateless && asks(exchange.method),
                    &["result", "requestState"],
                ),
                (
                    is_about_one || is_stateless && may_begin,
                    &["result", "taskId"],
                ),
                (may_begin && !is_stateless, &["result", "task", "taskId"]),
            ])
        }
    }
}

fn found<const N: usize>(all: [(bool, &'static [&'static str]); N]) -> Handles {
    let found = all.into_iter().filter(|(is_there, _)| *is_there);
    found.map(|(_, path)| path).collect()
}
