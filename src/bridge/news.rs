//! What a server tells of its own accord: `resources/subscribe`, and the changes of lists that it
//! promised, are one `subscriptions/listen` for the whole session, opened anew when it changes.
//!
//! The old one ends when the new one is confirmed, so that nothing is missed between them.

use std::collections::VecDeque;
use std::time::Duration;

use crate::gate::{AnswerHere, DENIED, Permit, Rejection, Source, Unbridged, UpstreamFault};
use crate::session::{Followed, Spoken};
use crate::wire::{Id, Limits, Message, Stream, Value};

use super::opening::Opening;
use super::settings::Settings;
use super::step::{Step, Then};
use super::words::{self, Lists};

/// How many resources a session may follow. Each of them is judged whenever one more is followed.
pub(super) const MOST_FOLLOWED: usize = 256;

/// How long nothing is asked after the server has ended a stream of news; doubled each time.
const FIRST_DELAY: Duration = Duration::from_secs(1);
const LAST_DELAY: Duration = Duration::from_mins(1);

/// JSON-RPC: the server has no such thing.
const METHOD_NOT_FOUND: i64 = -32_601;

/// The news of one session.
#[derive(Debug)]
pub(super) struct News {
    lists: Lists,
    /// What the agent follows.
    uris: Vec<String>,
    /// The same, with what it has left.
    heard: Followed,
    wanted: Wanted,
    current: Option<Listen>,
    next: Option<Listen>,
    /// Requests to follow one more, in order.
    waiting: VecDeque<Following>,
    /// Streams opened so far.
    count: u64,
    again_at: Option<Duration>,
    delay: Duration,
    patience: Duration,
    /// Of what the gate accepts.
    limits: Limits,
}

/// Whether the stream that is open says what it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// The handshake is not complete.
    NotYet,
    AsItIs,
    Anew,
    /// The server has none, or policy forbids it.
    Never,
}

/// One stream of news.
#[derive(Debug)]
struct Listen {
    id: Id,
    /// It was opened for the first request that waits.
    reason: Reason,
    deadline: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    Session,
    Request,
}

/// A request to follow a resource.
#[derive(Debug)]
struct Following {
    id: Id,
    uri: String,
    source: Source,
    frame: Vec<u8>,
    spoken: Spoken,
}

impl News {
    /// What the server has said that it tells.
    pub(super) fn promised(discovered: Value<'_>, settings: &Settings) -> Self {
        Self {
            lists: words::promised(discovered),
            uris: Vec::new(),
            heard: Followed::default(),
            wanted: Wanted::NotYet,
            current: None,
            next: None,
            waiting: VecDeque::new(),
            count: 0,
            again_at: None,
            delay: FIRST_DELAY,
            patience: settings.request_timeout,
            limits: settings.from_agent,
        }
    }

    /// The handshake is complete.
    pub(super) fn begin(&mut self) {
        if self.wanted == Wanted::NotYet {
            self.wanted = Wanted::Anew;
        }
    }

    /// Whether a request with this id waits, or one of the bridge's own.
    pub(super) fn awaits(&self, id: &Id) -> bool {
        self.is_stream(id) || self.is_waiting(id)
    }

    pub(super) fn is_waiting(&self, id: &Id) -> bool {
        self.waiting.iter().any(|it| it.id == *id)
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn is_stream(&self, id: &Id) -> bool {
        let mut streams = self.current.iter().chain(&self.next);
        streams.any(|listen| listen.id == *id)
    }

    /// The agent wants to follow a resource; yields what becomes of that at once.
    pub(super) fn follow(
        &mut self,
        id: &Id,
        uri: String,
        source: Source,
        frame: &[u8],
        spoken: Spoken,
    ) -> Option<Step> {
        let following = Following {
            id: id.clone(),
            uri,
            source,
            frame: frame.to_vec(),
            spoken,
        };
        if self.current.is_some() && self.uris.contains(&following.uri) {
            return Some(following.done());
        }
        if self.uris.len().saturating_add(self.waiting.len()) >= MOST_FOLLOWED {
            return Some(following.refused(Unbridged::TooManyFollowed(MOST_FOLLOWED)));
        }
        self.waiting.push_back(following);
        None
    }

    /// Whether the agent is to hear of a change that the server tells of.
    pub(super) fn hears_of(&self, message: &Message) -> bool {
        let uri = message
            .params()
            .and_then(|params| params.get("uri")?.as_str());
        uri.is_some_and(|uri| self.heard.hears_of(&uri))
    }

    pub(super) fn followed(&mut self, uri: String) {
        self.heard.follow(&uri);
        if !self.uris.contains(&uri) {
            self.uris.push(uri);
        }
    }

    pub(super) fn unfollow(&mut self, uri: &str) {
        self.heard.leave(uri);
        let before = self.uris.len();
        self.uris.retain(|it| it != uri);
        if self.uris.len() != before && self.wanted == Wanted::AsItIs {
            self.wanted = Wanted::Anew;
        }
    }

    /// The agent does not wait any more for a resource to be followed.
    pub(super) fn cancel(&mut self, id: &Id) -> Option<Source> {
        let at = self.waiting.iter().position(|it| it.id == *id)?;
        if at == 0
            && let Some(next) = &mut self.next
        {
            // What it opened is for nobody in particular now.
            next.reason = Reason::Session;
            self.wanted = Wanted::Anew;
        }
        self.waiting.remove(at).map(|following| following.source)
    }

    /// Opens or ends what is to be opened or ended. One stream is opened at a time, so that a
    /// refusal is known to be meant for one request.
    pub(super) fn pump(&mut self, opening: &Opening, steps: &mut VecDeque<Step>, now: Duration) {
        if self.next.is_some() {
            return;
        }
        let reason = match (self.waiting.front(), self.wanted) {
            (Some(_), _) => Reason::Request,
            (None, Wanted::Anew) if self.again_at.is_none_or(|at| at <= now) => Reason::Session,
            (None, _) => return,
        };
        let mut uris: Vec<&str> = self.uris.iter().map(String::as_str).collect();
        if reason == Reason::Request
            && let Some(following) = self.waiting.front()
            && !self.uris.contains(&following.uri)
        {
            uris.push(&following.uri);
        }
        self.again_at = None;
        if reason == Reason::Session {
            self.wanted = Wanted::AsItIs;
        }
        if uris.is_empty() && self.lists.0.is_empty() {
            self.end_current(steps);
            return;
        }
        self.count = self.count.saturating_add(1);
        let (id, frame) = words::listen(self.count, opening, &self.lists, &uris);
        if reason == Reason::Request && Message::decode(frame.as_bytes(), &self.limits).is_err() {
            let following = self.waiting.pop_front();
            steps.extend(following.map(|it| it.refused(Unbridged::TooLarge)));
            return;
        }
        steps.push_back(of_the_session(frame));
        self.next = Some(Listen {
            id,
            reason,
            deadline: now.saturating_add(self.patience),
        });
    }

    /// The server tells that it has opened a stream, and what it will tell of.
    pub(super) fn acknowledged(
        &mut self,
        stream: &Id,
        message: &Message,
        steps: &mut VecDeque<Step>,
    ) {
        let Some(next) = self.next.take_if(|next| next.id == *stream) else {
            return;
        };
        self.end_current(steps);
        self.delay = FIRST_DELAY;
        if next.reason == Reason::Request
            && let Some(following) = self.waiting.pop_front()
        {
            steps.push_back(if words::honours(message, &following.uri) {
                following.done()
            } else {
                following.refused(Unbridged::NotFollowed)
            });
        }
        if self.wanted == Wanted::NotYet {
            // The lists are in it already.
            self.wanted = Wanted::AsItIs;
        }
        self.current = Some(next);
    }

    /// A stream has ended; with the reply that says so, if there is one. Yields what the agent gets
    /// of it.
    pub(super) fn ended(
        &mut self,
        stream: &Id,
        reply: Option<(&Permit, &Message)>,
        steps: &mut VecDeque<Step>,
        now: Duration,
    ) -> Option<Permit> {
        if self.current.take_if(|it| it.id == *stream).is_some() {
            self.try_later(now);
            return None;
        }
        let next = self.next.take_if(|it| it.id == *stream)?;
        let error = reply.and_then(|(_, message)| message.error());
        let code = error
            .and_then(|error| error.get("code"))
            .and_then(Value::as_i64);
        if next.reason == Reason::Session {
            match code {
                Some(DENIED | METHOD_NOT_FOUND) => {
                    tracing::info!("changes are not told to the agent: the server was not asked");
                    self.wanted = Wanted::Never;
                }
                Some(_) | None => self.try_later(now),
            }
            return None;
        }
        let following = self.waiting.pop_front();
        match (following, reply) {
            (Some(following), Some((permit, message))) if code.is_some() => {
                let line = words::readdressed(message, &following.id);
                let carried = permit.passage().carried.clone();
                Some(permit.translated_for(following.source.stream, line, carried))
            }
            (Some(following), _) => {
                steps.push_back(following.refused(Unbridged::NotFollowed));
                None
            }
            (None, _) => None,
        }
    }

    /// A stream that was not confirmed in time is given up.
    pub(super) fn expire(&mut self, steps: &mut VecDeque<Step>, now: Duration) {
        if let Some(late) = self.next.take_if(|next| next.deadline <= now) {
            steps.push_back(of_the_session(words::cancel(&late.id)));
            if late.reason == Reason::Request
                && let Some(following) = self.waiting.pop_front()
            {
                let late = UpstreamFault::TimedOut(self.patience);
                steps.push_back(following.refused(late));
            } else {
                self.try_later(now);
            }
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Duration> {
        match &self.next {
            Some(next) => Some(next.deadline),
            None => self.again_at.filter(|_| self.wanted == Wanted::Anew),
        }
    }

    fn try_later(&mut self, now: Duration) {
        if self.wanted == Wanted::Never {
            return;
        }
        self.wanted = Wanted::Anew;
        self.again_at = Some(now.saturating_add(self.delay));
        self.delay = self.delay.saturating_mul(2).min(LAST_DELAY);
    }

    fn end_current(&mut self, steps: &mut VecDeque<Step>) {
        if let Some(old) = self.current.take() {
            steps.push_back(of_the_session(words::cancel(&old.id)));
        }
    }
}

impl Following {
    fn done(self) -> Step {
        Step::Settle {
            source: self.source,
            frame: self.frame,
            spoken: self.spoken,
            answer: AnswerHere::Empty,
            then: Then::Follow(self.uri),
        }
    }

    fn refused(self, why: impl Into<Rejection>) -> Step {
        Step::TurnBack {
            source: self.source,
            frame: self.frame,
            refusal: why.into(),
        }
    }
}

/// What the bridge itself asks belongs to no request of the agent's.
fn of_the_session(frame: String) -> Step {
    Step::Pass {
        source: Source::on(Stream::MAIN),
        frame: frame.into_bytes(),
        cancels: None,
    }
}
