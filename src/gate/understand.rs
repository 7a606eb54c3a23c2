//! What a message asks for, in the words of the policy model. Every method is an action. Most messages
//! ask one question; a subscription asks one per URI, and all of them must be allowed.

use crate::mcp::revisions::FIRST_STATELESS;
use crate::session::Extension;
use crate::wire::{KnownMethod, Side, Value};

use super::asking::declared;
use super::classified::{Identified, Role};
use super::look::Look;
use super::query::{Asks, Understood};
use super::questions::ask;
use super::rejection::Rejection;
use super::tasks::{self, Recalled};
use super::{inspect, resources};

/// Turns a message into questions.
///
/// What it says of tasks is a question about what they began with.
pub(super) fn understand<'m>(
    understood: &mut Understood<'m>,
    recalled: &'m Recalled,
    look: Look<'_>,
) -> Result<(), Rejection> {
    let identified = &mut understood.identified;
    let (method, asks) = match &identified.role {
        Role::Request { method, .. } | Role::Notification { method } => {
            let asks = match identified.from {
                Side::Agent => Asks::Agent,
                Side::Upstream => Asks::Server,
            };
            (*method, asks)
        }
        Role::Reply(_) if recalled.is_missing => {
            return Err(Rejection::bad_reply(
                "it belongs to a task that is not known",
            ));
        }
        Role::Reply(_) => {
            (understood.target, understood.questions) =
                inspect::understand_reply(identified, look)?;
            return Ok(());
        }
    };
    let params = identified.message.params();
    negotiated(method, params, identified)?;
    method.check_params(params)?;

    if recalled.is_missing {
        return Err(if identified.is_request() {
            tasks::unknown_task()
        } else {
            Rejection::stray()
        });
    }
    understood.tells = tasks::tells(method, asks, params, recalled);
    (understood.target, understood.questions) = if recalled.works.is_empty() {
        ask(method, asks, params, look)?
    } else {
        // Calls are counted once, when they are made.
        let before = recalled.works.iter().map(|work| work.calls).min();
        identified.scene.calls = before.unwrap_or(identified.scene.calls);
        // As is consent asked for once: where all that it may mean has some.
        let agreed: Option<Vec<_>> = recalled
            .works
            .iter()
            .map(|it| it.consent.as_ref())
            .collect();
        // Not to the resources that a listener names beside its tasks.
        let names_others = !resources::named_in(method, params).is_empty();
        let agreed = agreed.as_ref().and_then(|all| all.first());
        if let Some(consent) = agreed.filter(|_| !names_others) {
            identified.scene.agrees(consent);
        }
        tasks::questions(method, asks, params, recalled, look)?
    };
    Ok(())
}

/// A server may ask only for what the agent has said it answers, and tell only of that; an agent
/// without sessions asks for tasks only if it has said that it knows them (SEP-2663).
fn negotiated(
    method: KnownMethod,
    params: Option<Value<'_>>,
    identified: &Identified<'_>,
) -> Result<(), Rejection> {
    let scene = &identified.scene;
    let is_stateless = *scene.spoken.version >= *FIRST_STATELESS;
    if is_stateless && tasks::is_about_one(method) && scene.spoken.tasks == Extension::Undeclared {
        return Err(tasks::missing_capability());
    }
    match identified.from {
        Side::Agent => Ok(()),
        Side::Upstream => declared::negotiated(method, &scene.spoken, params),
    }
}
