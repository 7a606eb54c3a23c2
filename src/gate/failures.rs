//! Errors of tools: those that a model may correct, and those after which a session should not go on.

use std::sync::Arc;

use crate::audit::ErrorClass;
use crate::session::{Session, Target};
use crate::wire::Side;

use super::Gate;
use super::classified::{Identified, Role};
use super::context::RequestContext;
use super::dues::Ends;
use super::filter::{Filter, Flow, Hook};
use super::forward::Agent;
use super::owner::{Owner, owner};
use super::query::{Doing, Understood};
use super::ratchet::Ratchet;
use super::record::Trail;
use super::rejection::{DENIED, Property, Rejection};
use super::settings::OnFatal;
use super::stage::Stage;
use super::stop::Stop;
use super::talk::Talk;

/// What sort of error a tool has answered with, if it is one. An error of the protocol is none.
fn class(understood: &Understood<'_>) -> Option<ErrorClass> {
    let is_tools = matches!(understood.target, Target::Tool(_));
    if !is_tools || understood.identified.message.error().is_some() {
        return None;
    }
    let mut received = understood.questions.iter().filter_map(|question| {
        let Doing::ReceiveResult(received) = &question.doing else {
            return None;
        };
        Some(received)
    });
    let failed = received.find(|received| received.is_error)?;
    Some(if failed.fatal {
        ErrorClass::Fatal
    } else {
        ErrorClass::Retryable
    })
}

/// Classifies the errors of tools. A fatal one ends the session, whatever policy says of the reply: the
/// tool has failed, even if the agent does not learn of it.
#[derive(Debug)]
pub(super) struct FatalErrors(pub(super) Arc<Ratchet>);

impl Filter for FatalErrors {
    fn on_classified(&self, cx: &mut RequestContext<'_>) -> Result<(), Stop> {
        Ok(goes_on(&cx.understood.identified, cx.session)?)
    }

    fn on_request<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        let Some(class) = class(&cx.understood) else {
            return Flow::DONE;
        };
        cx.trail.is_error(class);
        let ends = class == ErrorClass::Fatal
            && cx.terms.guards.on_fatal_tool_error == OnFatal::CloseSession;
        let Some(tool) = cx.understood.target.name().filter(|_| ends) else {
            return Flow::DONE;
        };
        match owner(cx.session) {
            Owner::OneSession => {
                cx.session.state().security.failed = Some(tool.into());
                cx.trail.effects.ends_session = Ends::Session;
            }
            // Whoever carries it keeps it, or the next request would begin another one.
            Owner::OneKey => cx.session.state().security.failed = Some(tool.into()),
            Owner::Unknown => return Flow::DONE,
        }
        let session = cx.session;
        Flow::wait(async move {
            self.0.end(session, tool).await?;
            Ok(())
        })
    }
}

/// Refuses requests of an agent whose session has ended, and whatever its server begins to say. What
/// is under way may finish.
fn goes_on(identified: &Identified<'_>, session: &Session) -> Result<(), Rejection> {
    match (identified.from, &identified.role) {
        (_, Role::Reply(_)) | (Side::Agent, Role::Notification { .. }) => return Ok(()),
        (Side::Agent | Side::Upstream, Role::Request { .. })
        | (Side::Upstream, Role::Notification { .. }) => {}
    }
    let failed = session.state().security.failed.clone();
    match failed.as_ref().or(identified.scene.kept.ended.as_ref()) {
        Some(tool) => {
            let text =
                format!("the session has ended, since `{tool}` failed for good: begin another one");
            Err(
                Rejection::new(Stage::Identify, "session_ended", DENIED, text)
                    .with_reason_in_answer()
                    .with_properties(&[Property::HiddenFromServers]),
            )
        }
        None => Ok(()),
    }
}

impl Gate {
    /// The agent has been told what ended its session: whoever carries it may end it.
    pub(super) fn end_if_failed<U, A: Agent>(talk: &Talk<U, A>, trail: &Trail) {
        match trail.effects.ends_session {
            Ends::Nothing => {}
            Ends::Session => talk.agent.end(),
        }
    }
}
