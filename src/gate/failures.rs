//! Errors of tools: those that a model may correct, and those after which a session should not go on.

use crate::audit::ErrorClass;
use crate::gate::context::RequestContext;
use crate::gate::filter::Filter;
use crate::gate::filter::Flow;
use crate::gate::filter::Hook;
use crate::gate::ratchet::Ratchet;
use crate::gate::stop::Stop;
use crate::guard::text::{TextPurpose, sanitize};
use crate::session::{Session, Target, Whose};
use crate::wire::{Side, Value};
use std::sync::Arc;

use super::Gate;
use super::classified::{Identified, Role};
use super::forward::Agent;
use super::query::{Doing, Understood};
use super::record::Trail;
use super::rejection::{DENIED, Property, Rejection};
use super::settings::OnFatal;
use super::stage::Stage;
use super::talk::Talk;

/// How the first text of an error begins after which nothing is to be tried again.
const FATAL: &str = "[FATAL] ";

/// Whether the result of a tool, which says that it is an error, says that it is a fatal one: as the
/// server wrote it, or as its reader sees it, without invisible characters.
pub(super) fn is_fatal(result: Value<'_>) -> bool {
    let blocks = result.get("content").into_iter().flat_map(Value::items);
    let mut texts = blocks.filter(|block| {
        let kind = block.get("type").and_then(Value::as_str);
        kind.as_deref() == Some("text")
    });
    let first = texts.next().and_then(|block| block.get("text")?.as_str());
    first.is_some_and(|text| {
        text.starts_with(FATAL)
            || sanitize(&text, TextPurpose::Content)
                .text
                .starts_with(FATAL)
    })
}

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
        match lasts(cx.session) {
            Lasts::Itself => {
                cx.session.state().failed = Some(tool.into());
                cx.trail.ends_session = Ends::Session;
            }
            // Whoever carries it keeps it, or the next request would begin another one.
            Lasts::WhileAsked => cx.session.state().failed = Some(tool.into()),
            Lasts::Nobodys => return Flow::DONE,
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
    let failed = session.state().failed.clone();
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
        match trail.ends_session {
            Ends::Nothing => {}
            Ends::Session => talk.agent.end(),
        }
    }
}

/// How far what a session's requests have in common reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lasts {
    /// It is one agent's, which begins another one when it has ended.
    Itself,
    /// Its requests have a key in common, and no end but that none comes any more.
    WhileAsked,
    /// Those who ask may know nothing of each other: none ends for another.
    Nobodys,
}

/// Whether what a session's requests have in common is known to be one agent's.
pub(super) fn is_one_agents(session: &Session) -> bool {
    lasts(session) != Lasts::Nobodys
}

fn lasts(session: &Session) -> Lasts {
    if !session.is_shared() {
        return Lasts::Itself;
    }
    match &session.whose {
        Whose::Common(key) if key.is_somebodys() => Lasts::WhileAsked,
        Whose::Common(_) | Whose::Own | Whose::OwnAnd(_) | Whose::Unnamed => Lasts::Nobodys,
    }
}

/// What a message ends besides the request that it answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Ends {
    #[default]
    Nothing,
    Session,
}
