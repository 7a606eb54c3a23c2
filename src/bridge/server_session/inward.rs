//! What an agent without a session sends, in the words of the session.

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::gate::{AnswerHere, Rejection, Source, TakenOver, Unbridged, said};
use crate::mcp::meta;
use crate::mcp::revisions::{self, FIRST_STATELESS};
use crate::session::OutOfOrder;
use crate::wire::{Id, KnownMethod, Message, Method, Shape, Stream, Value};

use super::super::lists::Listener;
use super::super::settings::Settings;
use super::super::step::{Step, Taken, Then};
use super::session::{Call, MOST_LISTENERS, ServerSession, cancelled};
use super::translated::Translated;
use super::words;

/// Whether a request can be answered in the session, or from it.
fn is_carried(method: KnownMethod) -> bool {
    const CARRIED: [KnownMethod; 10] = [
        KnownMethod::Discover,
        KnownMethod::SubscriptionsListen,
        KnownMethod::ToolsList,
        KnownMethod::ToolsCall,
        KnownMethod::ResourcesList,
        KnownMethod::ResourcesRead,
        KnownMethod::ResourceTemplatesList,
        KnownMethod::PromptsList,
        KnownMethod::PromptsGet,
        KnownMethod::Complete,
    ];
    CARRIED.contains(&method)
}

/// One frame, on its way.
struct Inward<'i> {
    source: Source,
    frame: &'i [u8],
    message: &'i Message,
    settings: &'i Settings,
}

pub(in super::super) fn take(
    session: &mut ServerSession,
    steps: &mut VecDeque<Step>,
    source: &Source,
    frame: &[u8],
    settings: &Settings,
) -> Taken {
    let read = Translated::of(source, frame, settings);
    // The gate refuses what is no message, and says so.
    let Some(message) = read.message else {
        return Taken::Not;
    };
    let inward = Inward {
        source: read.source,
        frame,
        message: &message,
        settings,
    };
    let step = match message.shape() {
        Shape::Request { id, method } => match inward.request(session, id, method) {
            Ok(step) => step,
            Err(refusal) => Some(inward.turn_back(refusal)),
        },
        Shape::Notification { method } if method.known() == Some(KnownMethod::Cancelled) => {
            inward.cancellation(session, steps)
        }
        Shape::Notification { method } => {
            Some(inward.turn_back(Rejection::unknown_method(method.name())))
        }
        // The agent has been asked for nothing.
        Shape::Reply { .. } => Some(inward.turn_back(Rejection::stray())),
    };
    steps.extend(step);
    Taken::Yes
}

impl Inward<'_> {
    /// # Errors
    /// [`Rejection`] of what is not carried.
    fn request(
        &self,
        session: &mut ServerSession,
        id: &Id,
        method: &Method,
    ) -> Result<Option<Step>, Rejection> {
        if method.known() == Some(KnownMethod::Initialize) {
            return Err(self.has_session());
        }
        let revision = self.names_revision()?;
        let key = (id.clone(), self.source.stream);
        if session.calls.contains_key(&key) {
            return Err(Rejection::reused_id());
        }
        let unknown = || Rejection::unknown_method(method.name());
        let known = method.known().filter(|known| is_carried(*known));
        let known = known.ok_or_else(unknown)?;
        known.check_params(self.message.params())?;
        // Over HTTP, `initialize` begins a conversation of its own.
        let is_http = self.source.stream != Stream::MAIN;
        if known == KnownMethod::Discover && is_http && words::can_be_asked(self.message) {
            return Err(Rejection::may_begin_session(&revision));
        }
        let Some(greeting) = &session.greeting else {
            return match session.hold(self.source.clone(), self.frame, self.settings) {
                TakenOver::Yes => Ok(None),
                TakenOver::No => Err(Rejection::too_many(self.settings.max_in_flight)),
            };
        };
        if known == KnownMethod::Discover {
            let answer = AnswerHere::Result(greeting.discovered.clone());
            return Ok(Some(self.settle(answer, Then::Nothing)));
        }
        if known == KnownMethod::SubscriptionsListen {
            return self.listens(session, id).map(Some);
        }
        let call = Call {
            method: known,
            level: words::level(self.message),
        };
        let step = self.carry()?;
        session.shows(&self.source);
        session.calls.insert(key, call);
        Ok(Some(step))
    }

    /// Refuses `initialize`: the agent has the session of the bridge, and may go on without its own.
    fn has_session(&self) -> Rejection {
        let asked = self
            .message
            .params()
            .and_then(|it| it.get("protocolVersion"));
        match asked.and_then(Value::as_str) {
            Some(revision) => Rejection::other_stateless_version(&revision),
            None => OutOfOrder::AlreadyInitialized.into(),
        }
    }

    /// A request that belongs to no session says so itself.
    fn names_revision(&self) -> Result<Cow<'_, str>, Rejection> {
        let named = self.message.meta().and_then(|meta| meta.get(meta::VERSION));
        let named = named.and_then(Value::as_str);
        match named {
            Some(revision) if !revisions::is_known(&revision) => {
                Err(Rejection::other_stateless_version(&revision))
            }
            Some(revision) if *revision >= *FIRST_STATELESS => Ok(revision),
            Some(_) | None => Err(OutOfOrder::NotInitialized.into()),
        }
    }

    fn carry(&self) -> Result<Step, Rejection> {
        // The server has asked for nothing, and would not know what it is given.
        for key in ["inputResponses", "requestState"] {
            if self
                .message
                .params()
                .is_some_and(|params| params.get(key).is_some())
            {
                return Err(Unbridged::NotInSession(key).into());
            }
        }
        Ok(Step::Pass {
            source: self.source.clone(),
            frame: words::in_session(self.message).into_bytes(),
            cancels: None,
        })
    }

    /// The gate itself tells of lists: the server has a stream for the whole session.
    fn listens(&self, session: &ServerSession, id: &Id) -> Result<Step, Rejection> {
        let stream = self.source.stream;
        let is_open = |it: &Listener| it.id == *id && it.stream == stream;
        if session.listeners.iter().any(is_open) {
            return Err(Rejection::reused_id());
        }
        if session.listeners.len() >= MOST_LISTENERS {
            return Err(Rejection::too_many(MOST_LISTENERS));
        }
        let told = session.greeting.as_ref();
        let told = told.map(|it| it.lists.as_slice()).unwrap_or_default();
        let lists = words::asked(self.message, told);
        let granted = words::granted(&lists);
        let listener = Listener {
            id: id.clone(),
            stream,
            lists: lists.iter().map(|list| list.changed).collect(),
        };
        let answer = AnswerHere::Subscribed(granted);
        Ok(self.settle(answer, Then::Listen(listener)))
    }

    fn cancellation(
        &self,
        session: &mut ServerSession,
        steps: &mut VecDeque<Step>,
    ) -> Option<Step> {
        let id = self
            .message
            .params()
            .and_then(|params| params.get("requestId"));
        let Some(id) = id.and_then(Id::read) else {
            return Some(self.turn_back(Rejection::stray()));
        };
        if session
            .calls
            .contains_key(&(id.clone(), self.source.stream))
        {
            return Some(Step::Pass {
                source: self.source.clone(),
                frame: words::in_session(self.message).into_bytes(),
                cancels: Some(id),
            });
        }
        if let Some(waiting) = session.take_waiting(&id, self.source.stream, self.settings) {
            steps.push_back(cancelled(waiting));
            return None;
        }
        let is_it = |it: &&Listener| it.id == id && it.stream == self.source.stream;
        if let Some(listener) = session.listeners.iter().find(is_it) {
            return Some(self.settle(AnswerHere::Empty, Then::Leave(listener.clone())));
        }
        Some(self.turn_back(Rejection::stray()))
    }

    fn settle(&self, answer: AnswerHere, then: Then) -> Step {
        let meta = self.message.meta();
        let version = meta.and_then(|meta| meta.get(meta::VERSION)?.as_str());
        let version = version.unwrap_or(FIRST_STATELESS.into());
        let capabilities = meta.and_then(|meta| meta.get(meta::CAPABILITIES));
        Step::Settle {
            source: self.source.clone(),
            frame: self.frame.to_vec(),
            spoken: said(&version, capabilities),
            answer,
            then,
        }
    }

    fn turn_back(&self, refusal: Rejection) -> Step {
        Step::TurnBack {
            source: self.source.clone(),
            frame: self.frame.to_vec(),
            refusal,
        }
    }
}
