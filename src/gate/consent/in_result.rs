//! What a server asks of the agent in a result.

use std::borrow::Cow;
use std::sync::Arc;

use crate::consent::pretty;
use crate::policy::{Consent, Decision, OnDeny, PolicySnapshot};
use crate::session::Origin;
use crate::wire::{KnownMethod, Side, Value};

use crate::gate::asking::required;
use crate::gate::classified::Role;
use crate::gate::query::{Circumstances, Understood, method_of};

/// The methods by which a result asks something of the agent, each once.
fn methods(understood: &Understood<'_>) -> Vec<KnownMethod> {
    let is_waited_for = matches!(
        &understood.identified.role,
        Role::Reply(taken) if matches!(taken.exchange.origin, Origin::Peer(_))
    );
    if !is_waited_for || understood.identified.from != Side::Upstream {
        return Vec::new();
    }
    let mut methods: Vec<_> = understood.questions.iter().filter_map(method_of).collect();
    methods.sort_unstable();
    methods.dedup();
    methods
}

/// The method that people are asked about. If a result has several, a form comes first: the person who
/// would see it gets no other question.
pub(super) fn method(understood: &Understood<'_>) -> Option<KnownMethod> {
    let methods = methods(understood);
    let form = methods.contains(&KnownMethod::Elicit);
    let form = form.then_some(KnownMethod::Elicit);
    form.or_else(|| methods.first().copied())
}

/// The names of all methods, for the person who is asked.
pub(super) fn name(understood: &Understood<'_>) -> Option<Cow<'static, str>> {
    let methods = methods(understood);
    let names: Vec<_> = methods.iter().map(|method| method.name()).collect();
    match names.as_slice() {
        [] => None,
        [one] => Some(Cow::Borrowed(*one)),
        several => Some(Cow::Owned(several.join(", "))),
    }
}

fn requests<'m>(understood: &Understood<'m>) -> Option<Value<'m>> {
    let message = understood.identified.message;
    let within = message.result().and_then(|it| it.get("inputRequests"));
    within.or_else(|| required::listed(message))
}

/// All requests of a result, as a consent is bound to them.
pub(super) fn asked(understood: &Understood<'_>) -> String {
    requests(understood).map_or_else(String::new, Value::canonical)
}

/// All requests of a result, as a person sees them.
pub(super) fn shown(understood: &Understood<'_>) -> String {
    requests(understood).map_or_else(String::new, pretty)
}

/// Whether a person's consent is all that a result lacks. No consent lets an agent receive a result.
pub(super) fn is_all_that_is_missing(
    understood: &Understood<'_>,
    snapshot: &PolicySnapshot,
    now: Circumstances,
) -> bool {
    if !matches!(understood.identified.role, Role::Reply(_)) {
        return true;
    }
    let scene = &understood.identified.scene;
    understood.questions.iter().all(
        |question| match snapshot.judge(&question.facts(scene, now)) {
            Decision::Allow(_) => true,
            Decision::Deny(denial) => {
                denial.remedy() == Some(OnDeny::AskConsent) && method_of(question).is_some()
            }
        },
    )
}

/// A person has agreed to what is judged here.
pub(super) fn agree(understood: &mut Understood<'_>, consent: &Consent) {
    let scene = &mut understood.identified.scene;
    match understood.identified.role {
        // Not to the request that it answers.
        Role::Reply(_) => scene.within = Some(Arc::new(consent.clone())),
        Role::Request { .. } | Role::Notification { .. } => scene.agrees(consent),
    }
}
