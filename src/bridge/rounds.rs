//! What a server wants to know before it goes on (MCP 2026-07-28, multi round-trip requests): the
//! agent is asked as a server with sessions would ask it, and the request is sent again with the
//! answers. Each round is judged as a request of its own.

use std::collections::VecDeque;
use std::time::Duration;

use crate::gate::{Carried, Permit, Unbridged};
use crate::wire::{Fragment, Id, KnownMethod, Message, Value};

use super::call::{Ask, Question, Round};
use super::opening::{Opening, Urls};
use super::session::Session;
use super::settings::Settings;
use super::state::Presence;
use super::step::Step;
use super::words;

/// How often a server may ask for more before a request comes to its end.
const MOST_ROUNDS: u32 = 8;

/// A result, which ends its call unless it asks for more.
pub(super) struct Ending<'e> {
    pub(super) id: &'e Id,
    pub(super) message: &'e Message,
    pub(super) agent: Presence,
    /// When the agent must have answered what is asked of it.
    pub(super) deadline: Duration,
}

/// The server wants to know something; yields the questions.
pub(super) fn begin(
    session: &mut Session,
    steps: &mut VecDeque<Step>,
    ending: &Ending<'_>,
    permit: &Permit,
    settings: &Settings,
) -> Vec<Permit> {
    let read = match wanted(ending, &session.opening) {
        Ok(read) => read,
        Err(problem) => {
            session.fail(ending.id, problem, steps);
            return Vec::new();
        }
    };
    let Some(call) = session.calls.get_mut(ending.id) else {
        return Vec::new();
    };
    call.rounds = call.rounds.saturating_add(1);
    if call.rounds > MOST_ROUNDS {
        session.fail(ending.id, Unbridged::Rounds(MOST_ROUNDS), steps);
        return Vec::new();
    }
    let mut round = Round {
        note: read.note,
        asks: Vec::with_capacity(read.questions.len()),
        deadline: ending.deadline,
    };
    let mut permits = Vec::with_capacity(read.questions.len());
    for (key, method, params) in read.questions {
        session.latest_question = session.latest_question.saturating_add(1);
        let question = session.latest_question;
        let carried = Carried::Request {
            id: question,
            method,
            name: None,
            revision: None,
        };
        permits.push(permit.translated(words::question(question, method, params), carried));
        let call = ending.id.clone();
        session
            .questions
            .insert(Id::integer(question), Question { call });
        round.asks.push(Ask {
            key,
            question,
            method,
            answer: None,
        });
    }
    call.round = Some(round);
    if session.held() > settings.from_agent.max_bytes {
        session.fail(ending.id, Unbridged::TooLarge, steps);
        return Vec::new();
    }
    again_if_answered(session, steps, ending.id, settings);
    permits
}

/// The agent has answered a question.
pub(super) fn answered(
    session: &mut Session,
    steps: &mut VecDeque<Step>,
    (number, question): (&Id, &Question),
    reply: &Message,
    settings: &Settings,
) {
    let call = session.calls.get_mut(&question.call);
    let Some(round) = call.and_then(|call| call.round.as_mut()) else {
        return;
    };
    let mut asks = round.asks.iter_mut();
    let Some(ask) = asks.find(|ask| Id::integer(ask.question) == *number) else {
        return;
    };
    ask.answer = reply
        .result()
        .map(Fragment::copy_of)
        .or_else(|| instead(ask.method));
    if ask.answer.is_none() {
        let unanswered = Unbridged::Unanswered(ask.method.name());
        session.fail(&question.call, unanswered, steps);
        return;
    }
    if session.held() > settings.from_agent.max_bytes {
        session.fail(&question.call, Unbridged::TooLarge, steps);
        return;
    }
    again_if_answered(session, steps, &question.call, settings);
}

/// Ends the rounds whose time has run out.
pub(super) fn expire(
    session: &mut Session,
    steps: &mut VecDeque<Step>,
    settings: &Settings,
    now: Duration,
) {
    let late = |round: &Round| round.deadline <= now;
    for id in in_rounds(session, late) {
        let Session {
            calls, questions, ..
        } = &mut *session;
        let Some(call) = calls.get_mut(&id) else {
            continue;
        };
        let stream = call.source.stream;
        let open = call.round.iter_mut().flat_map(|round| &mut round.asks);
        let mut unanswered = None;
        for ask in open.filter(|ask| ask.answer.is_none()) {
            ask.answer = instead(ask.method);
            if ask.answer.is_none() {
                unanswered = Some(ask.method.name());
            } else if questions.remove(&Id::integer(ask.question)).is_some() {
                steps.push_back(Step::TakeBack {
                    stream,
                    question: ask.question,
                    why: "timed out",
                });
            }
        }
        match unanswered {
            Some(method) => session.fail(&id, Unbridged::Unanswered(method), steps),
            None => again_if_answered(session, steps, &id, settings),
        }
    }
}

/// The agent will answer nothing more.
pub(super) fn give_up(session: &mut Session, steps: &mut VecDeque<Step>) {
    for id in in_rounds(session, |_| true) {
        let round = session.calls.get(&id).and_then(|call| call.round.as_ref());
        let mut asks = round.into_iter().flat_map(|round| &round.asks);
        let unanswered = asks.find(|ask| ask.answer.is_none());
        let method = unanswered.map_or("", |ask| ask.method.name());
        session.fail(&id, Unbridged::Unanswered(method), steps);
    }
}

/// What a round asks, and what comes back to the server as it was.
struct Wanted<'w> {
    note: Option<Fragment>,
    questions: Vec<(String, KnownMethod, Option<Value<'w>>)>,
}

fn wanted<'w>(ending: &Ending<'w>, opening: &Opening) -> Result<Wanted<'w>, Unbridged> {
    let result = ending.message.result();
    let get = |key| result.and_then(|result: Value<'w>| result.get(key));
    let note = get("requestState");
    if note.is_some_and(|note| note.as_str().is_none()) {
        return Err(Unbridged::Answer("its `requestState` is not a string"));
    }
    let mut questions = Vec::new();
    for (key, request) in get("inputRequests").into_iter().flat_map(Value::entries) {
        let method = request.get("method").and_then(Value::as_str);
        let method = method.as_deref().and_then(KnownMethod::from_name);
        let params = request.get("params");
        let method = match method {
            Some(KnownMethod::Elicit) => {
                let mode = params.and_then(|params| params.get("mode"));
                if mode.and_then(Value::as_str).as_deref() == Some("url")
                    && opening.urls == Urls::Refused
                {
                    return Err(Unbridged::Answer(
                        "it asks the user to open a page, which the agent has not offered",
                    ));
                }
                KnownMethod::Elicit
            }
            Some(known @ (KnownMethod::CreateMessage | KnownMethod::RootsList)) => known,
            Some(_) | None => {
                return Err(Unbridged::Answer(
                    "it asks the agent for a method that cannot be asked",
                ));
            }
        };
        questions.push((key.into_owned(), method, params));
    }
    if questions.is_empty() && note.is_none() {
        return Err(Unbridged::Answer(
            "it asks for input and does not say which",
        ));
    }
    if let (Presence::Closed, Some((_, method, _))) = (ending.agent, questions.first()) {
        return Err(Unbridged::Unanswered(method.name()));
    }
    let note = note.map(Fragment::copy_of);
    Ok(Wanted { note, questions })
}

/// Sends the request again when nothing is left to be answered.
fn again_if_answered(
    session: &mut Session,
    steps: &mut VecDeque<Step>,
    id: &Id,
    settings: &Settings,
) {
    let Some(call) = session.calls.get_mut(id) else {
        return;
    };
    let answered = |round: &mut Round| round.asks.iter().all(|ask| ask.answer.is_some());
    let Some(round) = call.round.take_if(answered) else {
        return;
    };
    let limits = &settings.from_agent;
    let again = Message::decode(call.frame.as_bytes(), limits)
        .ok()
        .map(|first| words::again(&first, round));
    let source = call.source.clone();
    match again.filter(|again| Message::decode(again.as_bytes(), limits).is_ok()) {
        Some(again) => steps.push_back(Step::Pass {
            source,
            frame: again.into_bytes(),
            cancels: None,
        }),
        None => session.fail(id, Unbridged::TooLarge, steps),
    }
}

/// What an agent that does not answer would have said: it could always have dismissed a form.
fn instead(method: KnownMethod) -> Option<Fragment> {
    (method == KnownMethod::Elicit)
        .then(|| Fragment::object([("action", Fragment::string("cancel"))]))
}

fn in_rounds(session: &Session, wanted: impl Fn(&Round) -> bool) -> Vec<Id> {
    let calls = session.calls.iter();
    calls
        .filter(|(_, call)| call.round.as_ref().is_some_and(&wanted))
        .map(|(id, _)| id.clone())
        .collect()
}
