//! What a server may never ask of the agent's user, and what the agent may not do while it lends the
//! server its model. Policies have been asked before: this is what they cannot permit.

mod form;
pub(super) mod lending;
pub(super) mod required;

use std::borrow::Cow;
use std::time::Duration;

use crate::audit::{Finding, Guard};
use crate::policy::{PolicySnapshot, UNREADABLE_HOST, page_host};
use crate::session::{Awaits, Extension, Session, Spoken, State, Turn};
use crate::wire::{KnownMethod, Side, Value};

use super::Gate;
use super::decide::Stop;
use super::extensions;
use super::faults::AgentGone;
use super::forward::Lends;
use super::forward::{Agent, Upstream};
use super::identify::Role;
use super::parked::Over;
use super::refuse::Refusal;
use super::settings::{Asking, Level, Pages};
use super::talk::Talk;
use super::understand::{Doing, Understood};

/// What a question of a server's asks for that it must not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unaskable {
    /// By the name of the field.
    #[error(
        "the form asks for a secret in `{0}`: a server may ask for one on a page of its own only"
    )]
    Secret(String),
    #[error("the form is none that the protocol has: {0}")]
    Form(&'static str),
    #[error("the user may not be sent to a page of `{0}`")]
    Page(String),
}

/// What a server wants of the agent's user.
#[derive(Debug)]
pub(super) struct Elicitation<'m> {
    pub(super) mode: Cow<'m, str>,
    pub(super) fields: Vec<String>,
    /// Of the page that the user is to be sent to; empty for forms.
    pub(super) host: String,
    /// Under which the server will tell that the user is done there.
    pub(super) id: Option<Cow<'m, str>>,
    problem: Option<Unaskable>,
}

/// What a server wants of the agent's user.
pub(super) fn elicit(params: Option<Value<'_>>) -> Doing<'_> {
    let get = |key| params.and_then(|params| params.get(key)?.as_str());
    let mode = get("mode").unwrap_or("form".into());
    if mode != "url" {
        let form::Form { fields, problem } = form::read(params);
        return Doing::Elicit(Elicitation {
            mode,
            fields,
            host: String::new(),
            id: None,
            problem,
        });
    }
    let host = get("url").and_then(|url| page_host(&url));
    let has_form = params.is_some_and(|params| params.get("requestedSchema").is_some());
    Doing::Elicit(Elicitation {
        mode,
        fields: Vec::new(),
        host: host.unwrap_or(UNREADABLE_HOST.to_owned()),
        id: get("elicitationId"),
        problem: has_form.then_some(Unaskable::Form("it stands beside a page")),
    })
}

/// Whether the agent has said that it answers what a server asks or tells.
///
/// # Errors
/// [`Refusal::NotNegotiated`] if it has not said so of the method, and [`Refusal::Undeclared`] if not
/// of something in the request.
pub(super) fn negotiated(
    method: KnownMethod,
    spoken: &Spoken,
    params: Option<Value<'_>>,
) -> Result<(), Refusal> {
    let within = &spoken.within;
    let declares = |what: Extension| what == Extension::Declared;
    let needs = [
        (KnownMethod::CreateMessage, spoken.sampling),
        (KnownMethod::Elicit, knows_mode(spoken, params)),
        (KnownMethod::ElicitationComplete, declares(spoken.pages)),
        (KnownMethod::RootsList, spoken.roots),
        (KnownMethod::TasksGet, declares(within.tasks)),
        (KnownMethod::TasksResult, declares(within.tasks)),
        (KnownMethod::TasksList, declares(within.task_lists)),
        (KnownMethod::TasksCancel, declares(within.task_ends)),
    ];
    if needs.contains(&(method, false)) {
        return Err(Refusal::NotNegotiated(method.name().to_owned()));
    }
    let has = |key: &str| params.is_some_and(|params| params.get(key).is_some());
    let (is_sample, is_form) = (
        method == KnownMethod::CreateMessage,
        method == KnownMethod::Elicit,
    );
    let finer = [
        (
            is_sample && (has("tools") || has("toolChoice")),
            within.sample_tools,
            "sampling.tools",
        ),
        (
            is_sample && has("task"),
            within.sample_tasks,
            "tasks.requests.sampling.createMessage",
        ),
        (
            is_form && has("task"),
            within.elicit_tasks,
            "tasks.requests.elicitation.create",
        ),
    ];
    let undeclared = finer
        .into_iter()
        .find(|(asks, declared, _)| *asks && *declared == Extension::Undeclared);
    match undeclared {
        Some((_, _, what)) => Err(Refusal::Undeclared(what)),
        None => Ok(()),
    }
}

/// Whether the agent has said that it answers questions of this mode.
fn knows_mode(spoken: &Spoken, params: Option<Value<'_>>) -> bool {
    let mode = params.and_then(|params| params.get("mode")?.as_str());
    match mode.as_deref() {
        Some("url") => spoken.pages == Extension::Declared,
        Some(_) | None => spoken.elicitation,
    }
}

/// Whether what a server asks of the user may be asked at all; what is only to be recorded is told.
pub(super) fn check(understood: &Understood<'_>, asking: &Asking) -> Result<Vec<Finding>, Refusal> {
    let mut findings = Vec::new();
    for question in &understood.questions {
        let Doing::Elicit(asked) = &question.doing else {
            continue;
        };
        match (&asked.problem, asking.secrets) {
            (None, _) | (Some(Unaskable::Secret(_)), Level::Off) => {}
            (Some(problem @ Unaskable::Secret(_)), Level::Warn) => {
                let detail = problem.to_string().into();
                findings.push(Finding {
                    guard: Guard::Elicitation,
                    code: Refusal::from(problem.clone()).code().into(),
                    detail,
                });
            }
            (Some(problem), _) => return Err(problem.clone().into()),
        }
        let is_open = match &asking.pages {
            Pages::Any => true,
            Pages::Only(hosts) => hosts.contains(&asked.host),
        };
        if asked.mode == "url" && !is_open {
            return Err(Unaskable::Page(asked.host.clone()).into());
        }
    }
    Ok(findings)
}

/// Holds calls that could change something, or reach somebody, while the agent's model works for
/// the server: what it was given to read would be acting. A call that brings what the server has asked
/// is that of before; one that merely repeats its state is not.
///
/// # Errors
/// [`Stop::Hold`] for a request; [`Refusal::WhileSampling`] for a notification or a reply.
pub(super) fn while_sampling(
    understood: &Understood<'_>,
    turn: Turn,
    snapshot: &PolicySnapshot,
    session: &Session,
    (lends, now): (Lends, Duration),
) -> Result<(), Stop> {
    let labels = snapshot.labels();
    let of_tool = understood.called_tool().filter(|_| turn.answers == 0);
    let of_tool = of_tool.map(|tool| labels.permissions(tool));
    let role = &understood.identified.role;
    let of_method = extensions::method(role).map(|_| labels.unlabelled.permissions);
    let Some(permissions) = of_tool.or(of_method) else {
        return Ok(());
    };
    let may_change = permissions.write || permissions.connect;
    if understood.identified.from != Side::Agent
        || !may_change
        || !works(lends, &mut session.state(), now)
    {
        return Ok(());
    }
    match role {
        Role::Request { .. } => Err(Stop::Hold),
        Role::Notification { .. } | Role::Reply(_) => Err(Refusal::WhileSampling.into()),
    }
}

/// Whether the agent's model works for the server.
fn works(lends: Lends, state: &mut State, now: Duration) -> bool {
    // It forgets the samples that are over, which would wake the conversation again and again.
    let is_out = state.lending.is_out(now);
    is_out || lends == Lends::Model || state.to_agent.has_method(KnownMethod::CreateMessage)
}

impl Gate {
    /// Wakes the requests that wait for the agent's model, if it does not work for the server any more.
    pub fn let_go_on<U, A: Agent>(&self, talk: &Talk<U, A>) {
        let (lends, now) = (talk.agent.lends(), self.clock.elapsed());
        let mut state = talk.session.state();
        if !state.awaits_model() {
            return;
        }
        if works(lends, &mut state, now) {
            talk.session.arm(&state, state.lending.next_end());
        } else {
            talk.session.parked_may_go_on();
        }
    }

    /// Refuses the requests that wait for the agent's model: the gate reads the agent no more, so that its
    /// model cannot answer.
    ///
    /// # Errors
    /// [`AgentGone`] when the agent can no longer be told anything.
    pub async fn hears_no_more<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
    ) -> Result<(), AgentGone> {
        let held = || {
            let mut state = talk.session.state();
            let at = state
                .parked
                .iter()
                .position(|it| it.awaits == Awaits::Model);
            state.parked.remove(at?)
        };
        let _in_hand = talk.session.take_in_hand();
        while let Some(parked) = held() {
            self.end_parked(talk, &parked, Over::Time).await?;
        }
        Ok(())
    }
}
