//! What an agent says in its session, in the words of a server without one.

use std::collections::VecDeque;

use crate::gate::{AnswerHere, Rejection, Source, Unbridged};
use crate::session::OutOfOrder;
use crate::wire::{Fragment, Id, KnownMethod, Message, Shape, Value};

use super::call::Call;
use super::rounds;
use super::session::Session;
use super::settings::Settings;
use super::step::{Step, Taken, Then};
use super::words;

/// Messages of the largest size that are kept at once to be repeated.
const KEPT_MESSAGES: usize = 8;

/// The longest request to follow a resource, in bytes: many may wait until the server agrees.
const MAX_FOLLOWING: usize = 16 * 1024;

/// One frame, on its way.
struct Inward<'i> {
    source: &'i Source,
    frame: &'i [u8],
    message: &'i Message,
    settings: &'i Settings,
}

pub(super) fn take(
    session: &mut Session,
    steps: &mut VecDeque<Step>,
    source: &Source,
    frame: &[u8],
    settings: &Settings,
) -> Taken {
    // The gate refuses what is no message, and says so.
    let Ok(message) = Message::decode(frame, &settings.from_agent) else {
        return Taken::Not;
    };
    let inward = Inward {
        source,
        frame,
        message: &message,
        settings,
    };
    match message.shape() {
        Shape::Request { id, method } => {
            steps.extend(inward.request(session, id, method.known()));
            Taken::Yes
        }
        Shape::Notification { method } => match method.known() {
            Some(KnownMethod::Cancelled) => inward.cancellation(session, steps),
            Some(KnownMethod::Initialized) => {
                steps.push_back(inward.settle(session, Then::Begin));
                Taken::Yes
            }
            // There is nobody to tell: a server without sessions asks anew each time, and hears no
            // progress.
            Some(_) | None => {
                steps.push_back(inward.settle(session, Then::Nothing));
                Taken::Yes
            }
        },
        Shape::Reply { id, .. } => {
            let question = id
                .as_ref()
                .and_then(|id| session.questions.remove_entry(id));
            let Some((id, question)) = question else {
                return Taken::Not;
            };
            rounds::answered(session, steps, (&id, &question), &message, settings);
            Taken::Yes
        }
    }
}

impl Inward<'_> {
    /// What becomes of a request; a subscription may have become a part of the news instead.
    fn request(&self, session: &mut Session, id: &Id, method: Option<KnownMethod>) -> Option<Step> {
        if session.awaits(id) {
            return Some(self.turn_back(Rejection::reused_id()));
        }
        if session.waiting() >= self.settings.max_in_flight {
            return Some(self.turn_back(Rejection::too_many(self.settings.max_in_flight)));
        }
        let Some(method) = method else {
            return Some(self.settle(session, Then::Nothing));
        };
        if is_of_tasks(method) {
            return Some(self.turn_back(Rejection::unknown_method(method.name())));
        }
        if let Err(problem) = method.check_params(self.message.params()) {
            return Some(self.turn_back(problem.into()));
        }
        match method {
            KnownMethod::Initialize => Some(self.turn_back(OutOfOrder::AlreadyInitialized.into())),
            KnownMethod::SetLevel => {
                let level = self.params("level").map(Fragment::copy_of);
                let then = level.map_or(Then::Nothing, Then::Level);
                Some(self.settle(session, then))
            }
            KnownMethod::ResourcesSubscribe => {
                if self.frame.len() > MAX_FOLLOWING {
                    return Some(self.turn_back(Unbridged::TooLarge.into()));
                }
                let uri = self.params("uri").and_then(Value::as_str)?.into_owned();
                session.news.follow(
                    id,
                    uri,
                    self.source.clone(),
                    self.frame,
                    session.opening.spoken.clone(),
                )
            }
            KnownMethod::ResourcesUnsubscribe => {
                let uri = self.params("uri").and_then(Value::as_str)?.into_owned();
                Some(self.settle(session, Then::Unfollow(uri)))
            }
            KnownMethod::ToolsList
            | KnownMethod::ToolsCall
            | KnownMethod::ResourcesList
            | KnownMethod::ResourcesRead
            | KnownMethod::ResourceTemplatesList
            | KnownMethod::PromptsList
            | KnownMethod::PromptsGet
            | KnownMethod::Complete => Some(self.carry(session, id, method)),
            // `ping` is answered; what no session has is refused, in the words of the gate.
            KnownMethod::Ping
            | KnownMethod::Discover
            | KnownMethod::SubscriptionsListen
            | KnownMethod::Initialized
            | KnownMethod::Cancelled
            | KnownMethod::Progress
            | KnownMethod::RootsListChanged
            | KnownMethod::RootsList
            | KnownMethod::CreateMessage
            | KnownMethod::Elicit
            | KnownMethod::LogMessage
            | KnownMethod::ToolsListChanged
            | KnownMethod::ResourcesListChanged
            | KnownMethod::PromptsListChanged
            | KnownMethod::ResourceUpdated
            | KnownMethod::ElicitationComplete
            | KnownMethod::SubscriptionsAcknowledged
            | KnownMethod::TasksGet
            | KnownMethod::TasksResult
            | KnownMethod::TasksList
            | KnownMethod::TasksCancel
            | KnownMethod::TasksUpdate
            | KnownMethod::TaskStatus
            | KnownMethod::TaskNews
            | KnownMethod::Extension(_) => Some(self.settle(session, Then::Nothing)),
        }
    }

    /// A request that both revisions have.
    fn carry(&self, session: &mut Session, id: &Id, method: KnownMethod) -> Step {
        // They would mean something to the server that they did not mean to the agent.
        for key in ["inputResponses", "requestState"] {
            if self.params(key).is_some() {
                return self.turn_back(Unbridged::Foreign(key).into());
            }
        }
        let frame = words::stamped(self.message, &session.opening, session.level.as_ref());
        let limits = &self.settings.from_agent;
        let kept = session.kept.saturating_add(frame.len());
        if Message::decode(frame.as_bytes(), limits).is_err()
            || kept > limits.max_bytes.saturating_mul(KEPT_MESSAGES)
        {
            return self.turn_back(Unbridged::TooLarge.into());
        }
        let bytes = frame.clone().into_bytes();
        let call = Call {
            source: self.source.clone(),
            method,
            frame,
            rounds: 0,
            round: None,
        };
        session.open(id.clone(), call);
        Step::Pass {
            source: self.source.clone(),
            frame: bytes,
            cancels: None,
        }
    }

    fn cancellation(&self, session: &mut Session, steps: &mut VecDeque<Step>) -> Taken {
        let Some(id) = self.params("requestId").and_then(Id::read) else {
            return Taken::Not;
        };
        let only_here = session.news.is_waiting(&id)
            || session
                .calls
                .get(&id)
                .is_some_and(|call| call.round.is_some());
        if only_here {
            steps.push_back(self.settle(session, Then::Cancel(id)));
        } else if session.calls.contains_key(&id) {
            steps.push_back(Step::Pass {
                source: self.source.clone(),
                frame: self.frame.to_vec(),
                cancels: Some(id),
            });
        } else {
            // It has ended, or it is a stream of the bridge's own.
            steps.push_back(self.turn_back(Rejection::stray()));
        }
        Taken::Yes
    }

    fn settle(&self, session: &Session, then: Then) -> Step {
        Step::Settle {
            source: self.source.clone(),
            frame: self.frame.to_vec(),
            spoken: session.opening.spoken.clone(),
            answer: AnswerHere::Empty,
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

    fn params(&self, key: &str) -> Option<Value<'_>> {
        self.message.params().and_then(|params| params.get(key))
    }
}

/// The tasks of the two eras are not each other's: none are offered, and none are there.
fn is_of_tasks(method: KnownMethod) -> bool {
    matches!(
        method,
        KnownMethod::TasksGet
            | KnownMethod::TasksResult
            | KnownMethod::TasksList
            | KnownMethod::TasksCancel
            | KnownMethod::TasksUpdate
            | KnownMethod::TaskStatus
            | KnownMethod::TaskNews
    )
}
