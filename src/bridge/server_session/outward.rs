//! What a server says in the session, in the words of an agent that has none.

use std::collections::VecDeque;

use crate::gate::{Carried, DENIED, Permit, Unbridged};
use crate::wire::{KnownMethod, Message, Stream};

use super::super::outward::Outward;
use super::super::settings::Settings;
use super::super::step::Step;
use super::session::ServerSession;
use super::{inward, words};

/// Characters of a server's refusal that the agent gets.
const MOST_TOLD: usize = 300;

/// Notifications that mean the same without a session.
const PASSED: [KnownMethod; 2] = [
    KnownMethod::Progress,
    KnownMethod::SubscriptionsAcknowledged,
];

/// Whether the session goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Goes {
    On,
    /// It was not opened.
    No,
}

pub(in super::super) fn translate(
    session: &mut ServerSession,
    steps: &mut VecDeque<Step>,
    permit: Permit,
    settings: &Settings,
) -> (Outward, Goes) {
    let nothing = || Outward::Instead(Vec::new());
    let carried = permit.passage().carried.clone();
    let Ok(message) = Message::decode(permit.line().as_bytes(), &settings.permitted()) else {
        tracing::error!("a permitted message cannot be read, and is not sent");
        return (nothing(), Goes::On);
    };
    match carried {
        Carried::Request { id, method, .. } => {
            steps.push_back(session.says(words::answer(id, method)));
            (nothing(), Goes::On)
        }
        Carried::Notification { method, .. } => (session.told(permit, method, &message), Goes::On),
        Carried::Reply { error, .. } => {
            // It is of the main stream, on which agents over HTTP ask nothing.
            let is_handshake =
                message.id() == Some(&session.handshake) && permit.passage().stream == Stream::MAIN;
            if is_handshake && !session.is_open() {
                return (nothing(), session.opened(steps, &message, error, settings));
            }
            (session.replied(permit, &message, error), Goes::On)
        }
    }
}

impl ServerSession {
    /// The server has answered `initialize`.
    fn opened(
        &mut self,
        steps: &mut VecDeque<Step>,
        message: &Message,
        error: Option<i64>,
        settings: &Settings,
    ) -> Goes {
        let Some(result) = message.result() else {
            let told = message
                .error()
                .and_then(|error| error.get("message")?.as_str());
            let told: String = told.unwrap_or_default().chars().take(MOST_TOLD).collect();
            let refusal = || match error {
                Some(DENIED) => Unbridged::Unpermitted.into(),
                Some(_) | None => Unbridged::Unopened(told.clone()).into(),
            };
            self.refuse_all(refusal, steps);
            return Goes::No;
        };
        self.greeting = Some(words::greeting(result));
        self.held = 0;
        let waiting = std::mem::take(&mut self.waiting);
        steps.push_back(self.says(words::initialized()));
        for (source, frame) in waiting {
            inward::take(self, steps, &source, &frame, settings);
        }
        Goes::On
    }

    fn replied(&mut self, permit: Permit, message: &Message, error: Option<i64>) -> Outward {
        let id = message.id().cloned();
        let stream = permit.passage().stream;
        let call = id.and_then(|id| self.calls.remove(&(id, stream)));
        // The gate answers some itself.
        let Some(call) = call else {
            return Outward::AsItIs(permit);
        };
        let Some(told) = error else {
            let line = words::complete(message, call.method, self.greeting.as_ref());
            return Outward::Instead(vec![permit.answering(line, None)]);
        };
        match words::failed(message, call.method, told) {
            Some((line, code)) => Outward::Instead(vec![permit.answering(line, Some(code))]),
            None => Outward::AsItIs(permit),
        }
    }

    fn told(&self, permit: Permit, method: KnownMethod, message: &Message) -> Outward {
        let is_asked_log =
            method == KnownMethod::LogMessage && self.logs_on(permit.passage().stream, message);
        if is_asked_log || PASSED.contains(&method) {
            return Outward::AsItIs(permit);
        }
        // What no stream was opened for has no place in the agent's revision.
        let hearers = self.listeners.iter();
        let hearers = hearers.filter(|it| it.lists.contains(&method));
        let told = hearers.map(|listener| {
            let carried = permit.passage().carried.clone();
            let line = words::tagged(message, listener);
            permit.translated_for(listener.stream, line, carried)
        });
        Outward::Instead(told.collect())
    }

    /// Whether a request on this stream asks for a log message of this level.
    fn logs_on(&self, stream: Stream, message: &Message) -> bool {
        let Some(level) = words::level_of_log(message) else {
            return false;
        };
        let mut calls = self.calls.iter().filter(|((_, of), _)| *of == stream);
        calls.any(|(_, call)| call.level.is_some_and(|least| level >= least))
    }
}
