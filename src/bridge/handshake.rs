//! Finds out whether the server has sessions, when an agent asks for one.
//!
//! `initialize` is passed on as it is. Only if the server refuses it is it asked what it speaks
//! (`server/discover`): a server that has sessions sees nothing of a bridge.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use memchr::memmem;

use crate::gate::{Carried, DENIED, Permit, Source};
use crate::mcp::revisions::FIRST_STATELESS;
use crate::wire::{KnownMethod, Message, Method, Shape, Value};

use super::news::News;
use super::opening::Asked;
use super::outward::Outward;
use super::session::Session;
use super::settings::Settings;
use super::state::Phase;
use super::step::Step;
use super::words;

/// The handshake that a frame begins, if it does. Most frames do not, and are not decoded for it:
/// one that writes the name with escapes gets the server's own answer.
pub(super) fn asked(
    source: &Source,
    frame: &[u8],
    settings: &Settings,
    now: Duration,
) -> Option<Asked> {
    memmem::find(frame, b"\"initialize\"")?;
    let message = Message::decode(frame, &settings.from_agent).ok()?;
    let Shape::Request {
        id,
        method: Method::Known(KnownMethod::Initialize),
    } = message.shape()
    else {
        return None;
    };
    KnownMethod::Initialize
        .check_params(message.params())
        .ok()?;
    Some(Asked {
        id: id.clone(),
        source: source.clone(),
        since: now,
        opening: words::opening(message.params()?)?,
    })
}

/// Whether a frame goes to the gate though the handshake is under way: a reply to the server, a
/// `ping`, and what is no message.
pub(super) fn may_overtake(frame: &[u8], settings: &Settings) -> bool {
    let Ok(message) = Message::decode(frame, &settings.from_agent) else {
        return true;
    };
    match message.shape() {
        Shape::Reply { .. } => true,
        Shape::Request { method, .. } => method.known() == Some(KnownMethod::Ping),
        Shape::Notification { .. } => false,
    }
}

/// Something is for the agent while the handshake is under way.
pub(super) fn answered(
    phase: &mut Phase,
    steps: &mut VecDeque<Step>,
    permit: Permit,
    settings: &Settings,
    now: Duration,
) -> Outward {
    let Carried::Reply { error, .. } = permit.passage().carried else {
        return Outward::AsItIs(permit);
    };
    let Ok(reply) = Message::decode(permit.line().as_bytes(), &settings.permitted()) else {
        return Outward::AsItIs(permit);
    };
    match std::mem::take(phase) {
        Phase::Asked(asked) if reply.id() == Some(&asked.id) => {
            let Some(code) = error else {
                *phase = Phase::Sessions;
                return Outward::AsItIs(permit);
            };
            let discover = words::discover(&asked).into_bytes();
            if !may_lack_sessions(code, &reply, now.saturating_sub(asked.since), settings)
                || Message::decode(&discover, &settings.from_agent).is_err()
            {
                return Outward::AsItIs(permit);
            }
            steps.push_back(Step::Revision(Some(asked.opening.revision())));
            steps.push_back(Step::Pass {
                source: asked.source.clone(),
                frame: discover,
                cancels: None,
            });
            *phase = Phase::Probing(asked, Box::new(permit));
            Outward::Instead(Vec::new())
        }
        Phase::Probing(asked, refusal) if reply.id() == Some(&asked.id) => {
            discovered(phase, steps, *asked, (*refusal, permit), &reply, settings)
        }
        other @ (Phase::Apart
        | Phase::Asked(_)
        | Phase::Probing(..)
        | Phase::Sessions
        | Phase::Carried(_)
        | Phase::Bridged(_)) => {
            *phase = other;
            Outward::AsItIs(permit)
        }
    }
}

/// The server has said what it speaks, or has not.
fn discovered(
    phase: &mut Phase,
    steps: &mut VecDeque<Step>,
    mut asked: Asked,
    (refusal, permit): (Permit, Permit),
    reply: &Message,
    settings: &Settings,
) -> Outward {
    let found = reply.result().filter(|found| words::is_stateless(*found));
    let Some(found) = found else {
        steps.push_back(Step::Revision(None));
        // What policy denies is said as a denial; otherwise the agent gets what the server said.
        let denied = match permit.passage().carried {
            Carried::Reply { error, .. } => error == Some(DENIED),
            Carried::Request { .. } | Carried::Notification { .. } => false,
        };
        return Outward::AsItIs(if denied { permit } else { refusal });
    };
    let revision: Arc<str> = words::agreed(&asked.opening.spoken.version).into();
    asked.opening.spoken.version = Arc::clone(&revision);
    steps.push_back(Step::Revision(Some(revision)));
    let welcome = words::welcome(&asked, found, &settings.server);
    let news = News::promised(found, settings);
    *phase = Phase::Bridged(Box::new(Session::new(asked.opening, news)));
    let welcome = permit.answering(welcome, None);
    Outward::Instead(vec![welcome])
}

/// Whether a server that refuses `initialize` so may be one without sessions. There is no one code
/// for it (MCP 2026-07-28, basic/lifecycle). What a policy denied was not the server's to refuse; one
/// that names only revisions with sessions has them; and one that took all the time that a request
/// has is not given as much again.
fn may_lack_sessions(code: i64, reply: &Message, took: Duration, settings: &Settings) -> bool {
    if code == DENIED || took >= settings.request_timeout {
        return false;
    }
    let supported = reply
        .error()
        .and_then(|error| error.at(&["data", "supported"]));
    match supported.filter(|supported| supported.is_array()) {
        None => true,
        Some(supported) => supported
            .items()
            .filter_map(Value::as_str)
            .any(|revision| *revision >= *FIRST_STATELESS),
    }
}
