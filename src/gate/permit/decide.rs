//! From questions to what policy allows.

use std::sync::Arc;

use crate::policy::{Decision, Denial, PolicySnapshot, Resource, UseTime};
use crate::session::{Offer, Session};
use crate::wire::Side;

use crate::gate::classified::Role;
use crate::gate::copied::explained;
use crate::gate::faults::UpstreamFault;
use crate::gate::names::Readers;
use crate::gate::outside::Outside;
use crate::gate::permit::{Allowed, listed};
use crate::gate::pin::Pins;
use crate::gate::query::{Circumstances, Question, Understood};
use crate::gate::rejection::Rejection;
use crate::gate::stop::Stop;
use crate::gate::{canonical, extensions};

use super::visible::visible;

/// Asks policy every question of a message; all of them must be allowed.
pub(in crate::gate) fn decide(
    understood: &Understood<'_>,
    snapshot: &PolicySnapshot,
    pins: Pins<'_>,
    now: Circumstances,
) -> Result<Allowed, Stop> {
    let scene = &understood.identified.scene;
    let readers = Readers {
        snapshot,
        pins,
        scene,
        now,
    };
    let mut allowances = Vec::with_capacity(understood.questions.len());
    let mut standing = None;
    for question in &understood.questions {
        let facts = question.facts(scene, now);
        match snapshot.judge(&facts) {
            Decision::Allow(allowance) => {
                allowances.push(allowance);
                standing = standing.or_else(|| snapshot.standing_consent(&facts));
            }
            Decision::Deny(denial) => {
                return Err(denied(understood, question, denial, readers));
            }
        }
    }
    if let Some(name) = understood.called_tool() {
        // A call that is permitted could still be of a tool that may not be listed.
        if !listed(&pins.tool(name, snapshot), scene, snapshot, now) {
            // It could be called, and must not be listed.
            return Err(Rejection::unknown_tool(name, "not_listed").into());
        }
        exists(name, pins.session)?;
        if let Some(misleading) = readers.misled(name) {
            return Err(Rejection::unknown_tool(name, misleading.code()).into());
        }
    }
    canonical::bounded(understood, snapshot)?;
    let paths = canonical::due(understood, snapshot, &allowances)?;
    if !paths.is_empty() {
        let params = understood.identified.message.params();
        let arguments = params.and_then(|params| params.get("arguments"));
        let asked = understood.questions.iter();
        for question in asked.filter_map(|it| canonical::asked_again(it, arguments, &paths)) {
            match snapshot.judge(&question.facts(scene, now)) {
                Decision::Allow(allowance) => allowances.push(allowance),
                Decision::Deny(denial) => {
                    return Err(denied(understood, &question, denial, readers));
                }
            }
        }
    }
    let to = match understood.identified.from {
        Side::Agent => Side::Upstream,
        Side::Upstream => Side::Agent,
    };
    let uris = canonical::due_uris(understood, &allowances)?;
    let asked = understood.questions.iter();
    for question in asked.filter_map(|it| extensions::asked_again(it, &uris)) {
        match snapshot.judge(&question.facts(scene, now)) {
            Decision::Allow(allowance) => allowances.push(allowance),
            Decision::Deny(denial) => return Err(denied(understood, &question, denial, readers)),
        }
    }
    Ok(Allowed {
        respelled: canonical::respelled(&paths, uris),
        allowances,
        standing,
        to,
    })
}

/// A tool that the agent cannot see is answered as one that does not exist, and the answer for a
/// visible one must not come before it is known that the tool exists.
fn denied(
    understood: &Understood<'_>,
    question: &Question<'_>,
    denial: Denial,
    readers: Readers<'_>,
) -> Stop {
    let Readers {
        snapshot,
        pins,
        scene,
        now,
    } = readers;
    let Some(name) = understood.called_tool() else {
        return Rejection::denied(denial).into();
    };
    let tool = [Resource::Tool(&pins.tool(name, snapshot))];
    // What only this session may not call is there: its agent is told why.
    if visible(snapshot, scene, now, UseTime::Ever, &tool) != [true] {
        return Rejection::hidden(name, denial).into();
    }
    match exists(name, pins.session) {
        // What the agent cannot see is answered as everything that it cannot see.
        Ok(()) if readers.misled(name).is_some() => Rejection::hidden(name, denial).into(),
        Ok(()) => {
            let outside = Outside::of(understood, question, &denial, snapshot, scene, now);
            let denied = Rejection::denied(denial);
            match outside {
                Some(outside) => outside.explains(denied),
                None => explained(denied, question),
            }
            .into()
        }
        Err(stop) => stop,
    }
}

fn exists(name: &str, session: &Session) -> Result<(), Stop> {
    let tools = &session.state().lists.tools;
    match tools.offers(name) {
        Offer::Offered => Ok(()),
        Offer::NotOffered => Err(Rejection::unknown_tool(name, "unknown_tool").into()),
        Offer::Unknown => Err(Stop::Park),
        Offer::Unlisted => Err(UpstreamFault::unlisted(tools.fetch_fault()).into()),
    }
}

/// The snapshot that judges a message: the reply to a request is judged under the revision that
/// admitted the request.
pub(in crate::gate) fn revision(role: &Role, current: Arc<PolicySnapshot>) -> Arc<PolicySnapshot> {
    match role {
        Role::Request { .. } | Role::Notification { .. } => current,
        Role::Reply(taken) => Arc::clone(&taken.exchange.admission.snapshot),
    }
}
