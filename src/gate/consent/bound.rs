//! What a request is bound to, and what a person is shown of it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::audit::Redactor;
use crate::consent::{Binding, Desk, Found, Holds, Question, pretty, shown};
use crate::policy::{Agent, Denial, PolicySnapshot, Server};
use crate::session::{Session, Target};
use crate::wire::{Document, KnownMethod, Limits, Side, Value};

use crate::gate::classified::Role;
use crate::gate::copied::copied_from;
use crate::gate::query::{Circumstances, Understood, method_of};

use super::in_result;

/// Members of `params` that change from one round of an agent's request to the next.
const OF_THE_ROUND: [&str; 2] = ["inputResponses", "requestState"];

/// Nobody's arguments.
const META: &str = "_meta";

/// The method of a request for which people are asked.
pub(super) fn asks(understood: &Understood<'_>) -> Option<KnownMethod> {
    let Role::Request { method, .. } = understood.identified.role else {
        return None;
    };
    let asks = match understood.identified.from {
        Side::Agent => matches!(
            method,
            KnownMethod::ToolsCall | KnownMethod::ResourcesRead | KnownMethod::PromptsGet
        ),
        Side::Upstream => matches!(
            method,
            KnownMethod::CreateMessage | KnownMethod::Elicit | KnownMethod::RootsList
        ),
    };
    asks.then_some(method)
}

/// The same of a request, or of what a result asks for.
pub(super) fn method(understood: &Understood<'_>) -> Option<KnownMethod> {
    asks(understood).or_else(|| in_result::method(understood))
}

/// What consent to a request would be bound to, or to what a result asks for.
pub(super) fn binding(
    understood: &Understood<'_>,
    snapshot: &PolicySnapshot,
    session: &Session,
) -> Option<Binding> {
    let method = method(understood)?;
    let scene = &understood.identified.scene;
    let is_reply = matches!(understood.identified.role, Role::Reply(_));
    let definition = match &understood.target {
        _ if is_reply => None,
        Target::Tool(name) => session.state().lists.tools.defined(name),
        Target::Prompt(name) => session.state().lists.prompts.defined(name),
        Target::Resource(_) | Target::Method(_) | Target::Server => None,
    };
    let params = understood.identified.message.params();
    let said = match params {
        _ if is_reply => Some(in_result::asked(understood)),
        params => params.map(|it| it.canonical_with(|key| key != META && !is_of_the_round(key))),
    };
    // Who agrees to send a text does not agree to send another server's result.
    let copied = understood.questions.iter().flat_map(copied_from);
    let copied: BTreeSet<&String> = copied.collect();
    // JSON has no line break in a text.
    let said = format!("{}\n{copied:?}", said.unwrap_or_default());
    let round = params.filter(|_| !is_reply && goes_on_at_the_server(understood));
    Some(Binding {
        principal: scene.agent.id.as_str().into(),
        rights: rights(&scene.agent),
        session: (!session.is_shared()).then(|| session.id.as_str().into()),
        server: server(&scene.server),
        method,
        name: (*name(understood)?).into(),
        definition: definition.map(|it| it.print.digest()),
        arguments: Binding::digest(&said),
        round: round.map(|it| Binding::digest(&it.canonical_with(is_of_the_round))),
        revision: snapshot.revision().as_str().into(),
    })
}

/// A consent is for this server alone, and not for another that has its name later. No name has a line break.
fn server(server: &Server) -> Arc<str> {
    match server.generation {
        0 => server.name.as_str().into(),
        generation => format!("{}\n{generation}", server.name).into(),
    }
}

/// A digest of what an agent may claim beside its name, in one order.
fn rights(agent: &Agent) -> [u8; 32] {
    let (mut roles, mut capabilities) = (agent.roles.clone(), agent.capabilities.clone());
    roles.sort_unstable();
    capabilities.sort_unstable();
    Binding::digest(&format!("{roles:?}{capabilities:?}{:?}", agent.claims))
}

/// What is asked about by name: what a server asks of the agent has no other than its method's.
fn name<'u>(understood: &'u Understood<'_>) -> Option<Cow<'u, str>> {
    match (&understood.identified.role, understood.identified.from) {
        (Role::Reply(_), _) => in_result::name(understood),
        (_, Side::Agent) => understood.target.name().map(Cow::Borrowed),
        (_, Side::Upstream) => asks(understood).map(|method| Cow::Borrowed(method.name())),
    }
}

fn is_of_the_round(key: &str) -> bool {
    OF_THE_ROUND.contains(&key)
}

/// Whether a request has answers or a state for whoever gets it. What answers the gate goes no further.
fn goes_on_at_the_server(understood: &Understood<'_>) -> bool {
    let params = understood.identified.message.params();
    let brings = |key: &&str| params.is_some_and(|params| params.get(key).is_some());
    ours(understood).is_none() && OF_THE_ROUND.iter().any(brings)
}

/// What a request says that its agent begins anew, if it went on with another: its agent is asked by a
/// result, and brings the answer in the place of what it has brought now.
pub(super) fn begun_anew(understood: &Understood<'_>, secrets: &Redactor) -> Option<String> {
    let is_agents = understood.identified.from == Side::Agent;
    let goes_on = is_agents && goes_on_at_the_server(understood);
    goes_on.then(|| {
        secrets
            .redact(&said(understood, Rounds::Begin))
            .into_owned()
    })
}

/// Whether what is said of a request has what it goes on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rounds {
    GoOn,
    Begin,
}

/// What a request says, as indented JSON.
fn said(understood: &Understood<'_>, rounds: Rounds) -> String {
    let params = understood.identified.message.params();
    match understood.identified.from {
        Side::Upstream if !understood.identified.is_request() => in_result::shown(understood),
        Side::Agent => {
            let named_by = match asks(understood) {
                Some(KnownMethod::ResourcesRead) => "uri",
                Some(_) | None => "name",
            };
            let goes_on = rounds == Rounds::GoOn && goes_on_at_the_server(understood);
            let is_shown =
                |key: &str| key != META && key != named_by && (goes_on || !is_of_the_round(key));
            let members = params.into_iter().flat_map(Value::entries);
            let others = members.filter(|(key, _)| is_shown(key) && key != "arguments");
            match (params, others.count()) {
                (Some(params), 1..) => whole(params, is_shown),
                (params, _) => {
                    let arguments = params.and_then(|params| params.get("arguments"));
                    arguments.map_or_else(String::new, pretty)
                }
            }
        }
        Side::Upstream => {
            params.map_or_else(String::new, |params| whole(params, |key| key != META))
        }
    }
}

/// The members of `params` that are shown, as indented JSON.
fn whole(params: Value<'_>, is_shown: impl Fn(&str) -> bool) -> String {
    let said = params.canonical_with(is_shown);
    match Document::decode(said.as_bytes(), &Limits::default()) {
        Ok(document) => pretty(document.root()),
        Err(_) => shown(&said),
    }
}

/// What whoever answers is shown. Secrets of the gate's own configuration are not for them.
pub(super) fn question(
    understood: &Understood<'_>,
    snapshot: &PolicySnapshot,
    session: &Session,
    denial: &Denial,
    now: Circumstances,
    secrets: &Redactor,
) -> Question {
    let safe = |text: &str| shown(&secrets.redact(text));
    let scene = &understood.identified.scene;
    let name = name(understood).unwrap_or_default();
    let method = method(understood).map_or("", KnownMethod::name);
    let policies = denial.reasons.iter();
    Question {
        server: safe(&scene.server.name),
        method: method.to_owned(),
        name: safe(&name),
        arguments: secrets.redact(&said(understood, Rounds::GoOn)).into_owned(),
        principal: safe(&scene.agent.id),
        client: safe(&scene.agent.client.name),
        session: session.id.as_str().to_owned(),
        advice: advice(denial).as_deref().map(safe),
        holds: Holds::Once,
        policies: policies
            .map(|reason| safe(reason.policy.as_str()))
            .collect(),
        found: Found {
            datasets: scene.held.datasets.iter().map(|name| safe(name)).collect(),
            sources: scene.held.sources.iter().map(|key| safe(key)).collect(),
            untrusted_from: scene
                .held
                .untrusted_from
                .iter()
                .map(|key| safe(key))
                .collect(),
            told_roots: told_roots(understood, session, &safe),
            ..found(understood, snapshot, now, &safe)
        },
    }
}

/// What the policies advise that ask, each advice once.
fn advice(denial: &Denial) -> Option<String> {
    let mut all: Vec<&str> = Vec::new();
    for advice in denial.reasons.iter().filter_map(|it| it.advice.as_deref()) {
        if !all.contains(&advice) {
            all.push(advice);
        }
    }
    (!all.is_empty()).then(|| all.join("; "))
}

fn found(
    understood: &Understood<'_>,
    snapshot: &PolicySnapshot,
    now: Circumstances,
    safe: &dyn Fn(&str) -> String,
) -> Found {
    let scene = &understood.identified.scene;
    let questions = understood.questions.iter();
    let touches = questions.filter_map(|question| snapshot.touched(&question.facts(scene, now)));
    // Of a call it is all that it may reach, as it is written and behind links.
    let targets = touches.reduce(|mut all, one| {
        let added = one.roots.into_iter().filter(|it| !all.roots.contains(it));
        let added: Vec<String> = added.collect();
        all.roots.extend(added);
        all.outside |= one.outside;
        all
    });
    let Some(targets) = targets else {
        return Found::default();
    };
    let shown = |names: &[String]| names.iter().map(|name| safe(name)).collect();
    Found {
        roots: shown(&targets.roots),
        outside: targets.outside && !snapshot.labels().roots.is_empty(),
        hosts: shown(&targets.hosts),
        secrets: shown(&targets.secrets),
        copied_from: shown(&targets.copied_from),
        destinations: shown(&targets.destinations),
        ..Found::default()
    }
}

/// What the server has been told of roots, if that is what it asks.
fn told_roots(
    understood: &Understood<'_>,
    session: &Session,
    safe: &dyn Fn(&str) -> String,
) -> Vec<String> {
    let mut questions = understood.questions.iter();
    if !questions.any(|it| method_of(it) == Some(KnownMethod::RootsList)) {
        return Vec::new();
    }
    let state = session.state();
    let told = state.waiting.asking.told_roots.iter();
    told.map(|uri| safe(uri)).collect()
}

/// Whether a request goes on with one that was not finished.
pub(super) fn goes_on(understood: &Understood<'_>) -> bool {
    let params = understood.identified.message.params();
    understood.identified.from == Side::Agent
        && params.is_some_and(|params| params.get("requestState").is_some())
}

/// The state that a request brings, if the gate gave it.
pub(super) fn ours(understood: &Understood<'_>) -> Option<Arc<str>> {
    asks(understood)?;
    let of_agent = Some(understood.identified.message).filter(|_| goes_on(understood));
    let params = of_agent.and_then(crate::wire::Message::params);
    let state = params.and_then(|params| params.get("requestState"));
    let state = state.and_then(Value::as_str)?;
    Desk::is_ours(&state).then(|| state.as_ref().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_consent_is_for_one_server_and_not_for_another_with_its_key() {
        let named = |name: &str, generation| {
            server(&Server {
                name: name.to_owned(),
                generation,
                ..Server::default()
            })
        };
        assert_eq!(&*named("crm", 0), "crm");
        let all = [
            named("crm", 0),
            named("crm", 1),
            named("crm", 2),
            named("mail", 1),
        ];
        for (at, one) in all.iter().enumerate() {
            let same = all.iter().filter(|other| *other == one).count();
            assert_eq!(same, 1, "{at}");
        }
    }
}
