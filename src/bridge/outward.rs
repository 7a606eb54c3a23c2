//! What a server without sessions says, in the words of an agent that has one.

use std::collections::VecDeque;
use std::time::Duration;

use crate::gate::{Carried, Permit, Unbridged};
use crate::wire::{Id, KnownMethod, Message, Value};

use super::rounds::{self, Ending};
use super::session::Session;
use super::settings::Settings;
use super::state::Presence;
use super::step::Step;
use super::words;

/// What the agent gets of something that was permitted.
#[derive(Debug)]
pub(super) enum Outward {
    AsItIs(Permit),
    Instead(Vec<Permit>),
}

const NOTHING: Outward = Outward::Instead(Vec::new());

pub(super) fn translate(
    session: &mut Session,
    steps: &mut VecDeque<Step>,
    permit: Permit,
    agent: Presence,
    settings: &Settings,
    now: Duration,
) -> Outward {
    let carried = permit.passage().carried.clone();
    let Ok(message) = Message::decode(permit.line().as_bytes(), &settings.permitted()) else {
        tracing::error!("a permitted message cannot be read, and is not sent");
        return NOTHING;
    };
    match carried {
        // A server without sessions sends none.
        Carried::Request { .. } => Outward::AsItIs(permit),
        Carried::Notification { method, .. } => told(session, steps, permit, method, &message, now),
        Carried::Reply { error, .. } => {
            let Some(id) = message.id() else {
                return Outward::AsItIs(permit);
            };
            if session.news.is_stream(id) {
                let reply = Some((&permit, &message));
                let told = session.news.ended(id, reply, steps, now);
                return Outward::Instead(told.into_iter().collect());
            }
            if error.is_some() {
                return failed(session, steps, permit, id, &message);
            }
            let ending = Ending {
                id,
                message: &message,
                agent,
                deadline: now.saturating_add(settings.request_timeout),
            };
            ending.replied(session, steps, &permit, settings)
        }
    }
}

impl Ending<'_> {
    fn replied(
        &self,
        session: &mut Session,
        steps: &mut VecDeque<Step>,
        permit: &Permit,
        settings: &Settings,
    ) -> Outward {
        let result = self.message.result();
        let kind = result.and_then(|result| result.get("resultType"));
        let kind = kind.map(|kind| kind.as_str().unwrap_or_default());
        let method = session.calls.get(self.id).map(|call| call.method);
        match (kind.as_deref(), method) {
            (None | Some("complete"), _) => match words::complete(self.message, method) {
                Ok(line) => {
                    session.close(self.id, steps);
                    Outward::Instead(vec![permit.answering(line, None)])
                }
                Err(problem) => {
                    session.fail(self.id, problem, steps);
                    NOTHING
                }
            },
            (Some("input_required"), Some(_)) => {
                Outward::Instead(rounds::begin(session, steps, self, permit, settings))
            }
            (Some(_), Some(_)) => {
                let unknown = Unbridged::Answer("its `resultType` is not one that a session has");
                session.fail(self.id, unknown, steps);
                NOTHING
            }
            // Whoever asked has cancelled it.
            (Some(_), None) => NOTHING,
        }
    }
}

fn failed(
    session: &mut Session,
    steps: &mut VecDeque<Step>,
    permit: Permit,
    id: &Id,
    message: &Message,
) -> Outward {
    let Some(call) = session.close(id, steps) else {
        return Outward::AsItIs(permit);
    };
    match words::not_found(message, call.method) {
        Some((line, code)) => Outward::Instead(vec![permit.answering(line, Some(code))]),
        None => Outward::AsItIs(permit),
    }
}

fn told(
    session: &mut Session,
    steps: &mut VecDeque<Step>,
    permit: Permit,
    method: KnownMethod,
    message: &Message,
    now: Duration,
) -> Outward {
    let stream = words::stream_of_news(message);
    match (method, stream) {
        (KnownMethod::SubscriptionsAcknowledged, stream) => {
            if let Some(stream) = stream {
                session.news.acknowledged(&stream, message, steps);
            }
            NOTHING
        }
        (KnownMethod::Cancelled, _) => {
            let ends = message.params().and_then(|params| params.get("requestId"));
            match ends.and_then(|id: Value<'_>| Id::read(id)) {
                Some(id) if session.news.is_stream(&id) => {
                    session.news.ended(&id, None, steps, now);
                    NOTHING
                }
                Some(_) | None => Outward::AsItIs(permit),
            }
        }
        // The old stream may still tell of what is not followed any more.
        (KnownMethod::ResourceUpdated, Some(_)) if !session.news.hears_of(message) => NOTHING,
        (_, Some(stream)) if session.news.is_stream(&stream) => {
            let line = words::untagged(message);
            let carried = permit.passage().carried.clone();
            Outward::Instead(vec![permit.translated(line, carried)])
        }
        // One that was opened anew meanwhile tells the same.
        (_, Some(_)) => NOTHING,
        (_, None) => Outward::AsItIs(permit),
    }
}
