//! The room in which a message is judged, and messages for which there is none.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};

use crate::wire::{self, Side};

use super::arrival::{AnswerTo, Arrival, Waited};
use super::dues::Counted;
use super::forward::{Agent, Upstream};
use super::look::shows;
use super::record::Trail;
use super::rejection::Rejection;
use super::runs::has_left_since;
use super::stop::Stop;
use super::talk::Talk;
use super::{Gate, apart, panics};

impl Gate {
    /// Judges a message as soon as there is room for that. INVARIANT: a task that holds
    /// such room waits neither for more nor for a task that may wait for some.
    ///
    /// # Errors
    /// [`Rejection`] when there is no room. [`Stop::Elsewhere`] when its session has moved
    /// meanwhile, [`Stop::Settled`] when somebody has ended the request that it answers.
    pub(super) async fn pass_in_room<U: Upstream, A: Agent>(
        &self,
        talk: &Talk<U, A>,
        arrival: Arrival,
        frame: &[u8],
        trail: &mut Trail,
    ) -> Result<(), Stop> {
        let then = match arrival.from {
            Side::Agent => talk.session.run(),
            Side::Upstream => trail.server.run,
        };
        let most_values = self.limits(arrival.from).max_nodes;
        trail.holds.room = self.memory.room_to_judge(frame, most_values).await;
        if let Waited::ForAPerson(minted) = arrival.waited
            && !talk.session.state().waiting.to_upstream.has_replied(minted)
        {
            return Err(Stop::Settled);
        }
        // Ids count up: a late reply of the open server could answer a request to the isolated one.
        if has_left_since(talk, then) {
            return Err(Stop::Elsewhere);
        }
        if trail.holds.room.is_none() {
            self.unjudged(talk, arrival, frame, trail);
            return Err(Rejection::no_memory().into());
        }
        // It is counted once it is known what it is.
        trail.holds.counted = Counted::No;
        let passing = Box::pin(self.exchange(talk, arrival, frame, trail));
        // The wait for room stays outside: each message that waits would be woken on a thread of its own.
        let mut passing = Box::pin(panics::caught(passing));
        let passed = apart::steps(frame.len(), passing.as_mut()).await;
        drop(passing);
        let Ok(passed) = passed else {
            trail.forget(talk);
            return Err(Rejection::panicked().into());
        };
        passed.map_err(|stop| self.naming_versions(talk, stop, trail))
    }

    /// Finds out which side gets the error for a message without room.
    fn unjudged<U, A>(&self, talk: &Talk<U, A>, arrival: Arrival, frame: &[u8], trail: &mut Trail) {
        if let Waited::ForAPerson(minted) = arrival.waited {
            trail.waited(talk, minted);
            return;
        }
        let (id, likeness) = apart::work(frame.len(), || wire::seems(frame));
        trail.unread(talk, arrival.from, (id.as_ref(), likeness));
        match (arrival.from, &id) {
            (Side::Upstream, Some(id)) => trail.asked_unread(talk, id, likeness),
            (Side::Agent, None) if tells(frame) => trail.envelope.answer_to = AnswerTo::None,
            (Side::Agent, Some(_) | None) | (Side::Upstream, None) => {}
        }
        // The answer would repeat this id, and nothing can stand for an id.
        let secrets = &self.settings.secrets;
        if let AnswerTo::Asker(from, asker) = &trail.envelope.answer_to
            && shows(asker.id.json(), secrets)
        {
            trail.cannot_repeat_its_id(*from);
        }
    }
}

/// Whether a message is a notification (a method, no id), read without decoding it.
#[expect(
    clippy::disallowed_methods,
    reason = "nothing of it is decoded, and of two equal names there is an error"
)]
fn tells(frame: &[u8]) -> bool {
    /// The members that tell. Nothing of a message is kept.
    #[derive(Deserialize)]
    struct Members {
        #[serde(default, deserialize_with = "is_there")]
        method: bool,
        #[serde(default, deserialize_with = "is_there")]
        id: bool,
    }

    fn is_there<'de, D: Deserializer<'de>>(member: D) -> Result<bool, D::Error> {
        IgnoredAny::deserialize(member).map(|_| true)
    }

    serde_json::from_slice::<Members>(frame).is_ok_and(|it| it.method && !it.id)
}
