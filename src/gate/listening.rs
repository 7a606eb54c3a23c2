//! `subscriptions/listen`: of which resources the agent hears, of those that it names.
//!
//! A server tells in its acknowledgement what it grants of what was asked (MCP 2026-07-28,
//! basic/utilities/subscriptions). So what policy refuses is not asked of it, and the rest is.

use std::collections::HashSet;

use crate::audit::{Finding, Guard};
use crate::policy::{Decision, Denial, DenialCause, PolicySnapshot};
use crate::session::Session;
use crate::wire::KnownMethod;

use super::classified::Role;
use super::context::RequestContext;
use super::edits::Removal;
use super::filter::{Filter, Flow, Hook, Leaving};
use super::query::{About, Asks, Circumstances, Doing, Question, Understood};
use super::record::Trail;
use super::rejection::Rejection;
use super::uris::{self, Kind};
use super::{granted, resources, versions};

/// The most resources that are taken out of one request; with more, all of it is refused. Each has a
/// note in the record, which holds no more.
const MOST: usize = 64;

/// Takes out of subscriptions what the agent may not hear of.
#[derive(Debug)]
pub(super) struct Subscriptions;

impl Filter for Subscriptions {
    fn on_request<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        let (session, snapshot) = (cx.session, cx.snapshot);
        let removals = unheard(&mut cx.understood, session, snapshot, cx.now, cx.trail)?;
        cx.plan.removals.extend(removals);
        Flow::DONE
    }

    fn on_leaving<'f>(
        &'f self,
        cx: &'f mut RequestContext<'_>,
        leaving: &'f Leaving<'_>,
    ) -> Hook<'f> {
        let identified = &cx.understood.identified;
        granted::note_asked(identified, leaving.opened, leaving.sent, cx.session);
        Flow::DONE
    }
}

/// What a request to listen must not ask for, what its acknowledgement must not say, and which revisions
/// a server must not name.
///
/// # Errors
/// As [`granted::unasked`].
fn unheard<'m>(
    understood: &mut Understood<'m>,
    session: &Session,
    snapshot: &PolicySnapshot,
    now: Circumstances,
    trail: &mut Trail,
) -> Result<Vec<Removal<'m>>, Rejection> {
    let mut unheard = granted::unasked(understood, session)?;
    unheard.extend(narrow(understood, session, snapshot, now, trail));
    unheard.extend(versions::unspoken(understood));
    Ok(unheard)
}

/// Takes the resources that policy refuses out of what is asked; the stream itself stays in it, and what
/// no policy could tell of. What the bridge asks for is left whole: there each resource was a request of
/// its own, of which the agent is told that it was refused.
fn narrow<'m>(
    understood: &mut Understood<'m>,
    session: &Session,
    snapshot: &PolicySnapshot,
    now: Circumstances,
    trail: &mut Trail,
) -> Vec<Removal<'m>> {
    let Role::Request {
        method: KnownMethod::SubscriptionsListen,
        ..
    } = understood.identified.role
    else {
        return Vec::new();
    };
    if session.state().protocol.bridged.is_some() {
        return Vec::new();
    }
    let scene = &understood.identified.scene;
    let params = understood.identified.message.params();
    let (mut refused, mut kept) = (HashSet::new(), HashSet::new());
    let mut removals = Vec::new();
    let mut findings = Vec::new();
    for (pointer, named) in resources::named_in(KnownMethod::SubscriptionsListen, params) {
        let uri = named.value.as_str().unwrap_or_default();
        let asked = uris::questions(&uri, Kind::Uri, Asks::Agent, || Doing::Subscribe);
        let mut judged = asked
            .iter()
            .map(|question| snapshot.judge(&question.facts(scene, now)));
        let denial = judged.find_map(refusal);
        // A candidate is not asked again of what is taken out.
        let hears = |candidate: &PolicySnapshot| {
            let mut asked = asked.iter();
            asked.all(|it| candidate.judge(&it.facts(scene, now)).is_allow())
        };
        if denial.is_some() && snapshot.shadow().is_some_and(hears) {
            findings.push(Finding {
                guard: Guard::Shadow,
                code: "shadow_permits".into(),
                detail: shown(&uri).into(),
            });
        }
        let uris = asked.into_iter().filter_map(uri_of);
        match denial {
            Some(denial) => {
                refused.extend(uris);
                removals.push(Removal {
                    item: named.value,
                    pointer,
                    because: why(&uri, &denial),
                });
                if removals.len() > MOST {
                    return Vec::new();
                }
            }
            None => kept.extend(uris),
        }
    }
    let is_asked = |question: &Question<'_>| match (&question.about, &question.doing) {
        (About::Resource(facts), Doing::Subscribe) => {
            kept.contains(&facts.uri) || !refused.contains(&facts.uri)
        }
        _ => true,
    };
    understood.questions.retain(is_asked);
    trail.found(findings);
    removals
}

/// A refusal that is a policy's. What fails is left to be refused with all that is asked.
fn refusal(decision: Decision) -> Option<Denial> {
    match decision {
        Decision::Deny(denial) => match denial.cause {
            DenialCause::Forbidden | DenialCause::NotPermitted => Some(denial),
            DenialCause::Fault(_) => None,
        },
        Decision::Allow(_) => None,
    }
}

fn uri_of(question: Question<'_>) -> Option<String> {
    if let About::Resource(facts) = question.about {
        Some(facts.uri)
    } else {
        None
    }
}

fn why(uri: &str, denial: &Denial) -> String {
    let shown = shown(uri);
    let policies: Vec<&str> = denial.reasons.iter().map(|it| it.policy.as_str()).collect();
    if policies.is_empty() {
        format!("`{shown}` is not permitted")
    } else {
        format!("`{shown}` is refused by `{}`", policies.join("`, `"))
    }
}

fn shown(uri: &str) -> String {
    uri.escape_debug().take(MOST_SHOWN).collect()
}

/// Characters of a URI that are told.
const MOST_SHOWN: usize = 128;
