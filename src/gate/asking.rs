//! What a server may never ask of the agent's user, and what the agent may not do while it lends the
//! server its model. Policies have been asked before: this is what they cannot permit.

pub(super) mod declared;
mod form;
pub(super) mod lending;
pub(super) mod required;

use std::time::Duration;

use crate::audit::{Finding, Guard};
use crate::policy::PolicySnapshot;
use crate::session::{Awaits, Session, State, Turn};
use crate::wire::{KnownMethod, Message, Side};

use super::arrival::Lends;
use super::classified::Role;
use super::context::RequestContext;
use super::faults::AgentGone;
use super::filter::{Filter, Flow, Hook};
use super::forward::{Agent, Upstream};
use super::parked::Over;
use super::query::{Doing, Unaskable, Understood};
use super::rejection::{DENIED, INVALID_PARAMS, Property, Rejection};
use super::settings::{Asking, Level, Pages};
use super::stage::Stage;
use super::stop::Stop;
use super::talk::Talk;
use super::{Gate, extensions};

impl Unaskable {
    /// A stable word for it, in records.
    fn code(&self) -> &'static str {
        match self {
            Self::Secret(_) => "elicitation_requests_secret",
            Self::Form(_) => "form",
            Self::Page(_) => "elicitation_url_not_allowed",
        }
    }
}

impl From<Unaskable> for Rejection {
    fn from(what: Unaskable) -> Self {
        let (code, properties): (_, &[_]) = match what {
            Unaskable::Secret(_) | Unaskable::Form(_) => (INVALID_PARAMS, &[]),
            Unaskable::Page(_) => (DENIED, &[Property::HiddenFromServers]),
        };
        Self::new(Stage::Guard, what.code(), code, what.to_string()).with_properties(properties)
    }
}

/// Checks what a server asks the agent's user for, and holds back what changes something while the agent's
/// model works for the server.
#[derive(Debug)]
pub(super) struct ServerRequests;

impl Filter for ServerRequests {
    fn on_classified(&self, cx: &mut RequestContext<'_>) -> Result<(), Stop> {
        lending::heard(&cx.understood.identified, cx.session, cx.now.at);
        Ok(())
    }

    fn check(&self, cx: &RequestContext<'_>, _: Option<&Message>) -> Result<Vec<Finding>, Stop> {
        Ok(check(&cx.understood, &cx.terms.guards.asking)?)
    }

    fn on_permitted<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        let lends = (cx.now.lends, cx.now.at);
        let (turn, session) = (cx.trail.about.turn, cx.session);
        while_sampling(&cx.understood, turn, cx.snapshot, session, lends)?;
        Flow::DONE
    }
}

/// Whether what a server asks of the user may be asked at all; what is only to be recorded is told.
fn check(understood: &Understood<'_>, asking: &Asking) -> Result<Vec<Finding>, Rejection> {
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
                    code: problem.code().into(),
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
/// [`Stop::Hold`] for a request; [`Rejection`] for a notification or a reply.
fn while_sampling(
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
        Role::Notification { .. } | Role::Reply(_) => {
            Err(Rejection::blocked_during_sampling().into())
        }
    }
}

/// Whether the agent's model works for the server.
fn works(lends: Lends, state: &mut State, now: Duration) -> bool {
    // It forgets the samples that are over, which would wake the conversation again and again.
    let is_out = state.agent_side.lending.is_out(now);
    is_out
        || lends == Lends::Model
        || state
            .waiting
            .to_agent
            .has_method(KnownMethod::CreateMessage)
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
            talk.session
                .arm(&state, state.agent_side.lending.next_end());
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
                .waiting
                .parked
                .iter()
                .position(|it| it.awaits == Awaits::Model);
            state.waiting.parked.remove(at?)
        };
        let _in_hand = talk.session.take_in_hand();
        while let Some(parked) = held() {
            self.end_parked(talk, &parked, Over::Time).await?;
        }
        Ok(())
    }
}
