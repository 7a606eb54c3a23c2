//! What a bridge wants of the gate.

use std::sync::Arc;

use crate::gate::{AnswerHere, Rejection, Source};
use crate::session::Spoken;
use crate::wire::{Fragment, Id, Stream};

use super::lists::Listener;

/// One thing to be done, in order; [`Bridge::carry_out`](super::Bridge::carry_out) does it.
#[derive(Debug)]
pub enum Step {
    /// Goes the path of a message of the agent's.
    Pass {
        source: Source,
        frame: Vec<u8>,
        /// The request that it cancels.
        cancels: Option<Id>,
    },
    /// Is judged, and goes no further.
    Settle {
        source: Source,
        frame: Vec<u8>,
        spoken: Spoken,
        answer: AnswerHere,
        then: Then,
    },
    /// Is refused.
    TurnBack {
        source: Source,
        frame: Vec<u8>,
        refusal: Rejection,
    },
    /// The agent need not answer a question any more.
    TakeBack {
        stream: Stream,
        question: u64,
        why: &'static str,
    },
    /// What was waited for on this stream was cancelled.
    Release(Stream),
    /// The revision that the agent speaks on its side of the bridge; none without one.
    Revision(Option<Arc<str>>),
}

/// What a message changes that was settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Then {
    Nothing,
    /// From now on the agent wants log messages from this level on.
    Level(Fragment),
    /// The handshake is complete.
    Begin,
    /// The agent does not wait any more for a request that only the bridge knows.
    Cancel(Id),
    Follow(String),
    Unfollow(String),
    /// An agent without a session hears of lists.
    Listen(Listener),
    /// It does so no more.
    Leave(Listener),
}

/// Whose a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// The bridge has no part in it: it goes to the gate as it came.
    Not,
    /// It becomes steps.
    Yes,
}
