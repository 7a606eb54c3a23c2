//! How far the request has come that a connection brings.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use super::misframed::Misframed;
use super::places::{Displaced, Place};

/// Of one connection. Whoever reads it and whoever answers it each know a part.
#[derive(Debug)]
pub struct Progress {
    place: Place,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    step: Step,
    /// Why the request that comes next is none.
    misframed: Option<Misframed>,
    /// Wants to know when this request is answered.
    reader: Option<Waker>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Step {
    #[default]
    Nothing,
    /// Some of a head has come.
    Begun,
    /// A head has come, and not all of its body.
    Headed,
    /// All of it has come, and it is being answered.
    Whole,
    /// The answer is there, and not all of it is written.
    Answered,
    /// It has been answered before all of its body has come.
    Left,
    /// What came was no request, which has been told: nothing is read any more.
    Over,
    /// What comes from now on is for another.
    Tunnel,
}

/// A request that is being answered, until this is dropped.
#[derive(Debug)]
pub struct Answering(Arc<Progress>);

impl Progress {
    pub(super) fn new(place: Place) -> Self {
        Self {
            place,
            state: Mutex::default(),
        }
    }

    /// The request that has just come; or why what came is none, which is to be answered in its place.
    pub fn take(self: &Arc<Self>) -> (Answering, Option<Misframed>) {
        let misframed = self.state().misframed;
        (Answering(Arc::clone(self)), misframed)
    }

    /// Whether there is something of a request that nobody answers.
    pub fn is_half_sent(&self) -> bool {
        matches!(self.state().step, Step::Begun | Step::Over)
    }

    /// Resolves when the connection has to make room for another.
    pub async fn displaced(&self) {
        self.place.displaced().await;
    }

    /// Bytes of a head have come.
    pub(super) fn heard(&self) {
        self.state().step = Step::Begun;
    }

    /// A head has come, and some of its body is still to come.
    pub(super) fn headed(&self) {
        self.state().step = Step::Headed;
        self.place.waits();
    }

    /// A request has come behind which no other one comes.
    pub(super) fn tunnels(&self) -> Result<(), Displaced> {
        self.state().step = Step::Tunnel;
        self.place.works()
    }

    /// All of a request has come.
    pub(super) fn whole(&self) -> Result<(), Displaced> {
        let mut state = self.state();
        if state.step == Step::Left {
            state.step = Step::Nothing;
            return Ok(());
        }
        state.step = Step::Whole;
        self.place.works()
    }

    /// What has come is no request.
    pub(super) fn misframed(&self, cause: Misframed) -> Result<(), Displaced> {
        self.state().misframed = Some(cause);
        self.whole()
    }

    /// Whether the last request, all of which had come, is through. If not, `reader` is woken when it
    /// is.
    pub(super) fn is_through(&self, reader: Option<&Waker>) -> bool {
        let mut state = self.state();
        let is_through = !matches!(state.step, Step::Whole | Step::Answered);
        state.reader = reader.filter(|_| !is_through).cloned();
        is_through
    }

    /// Nothing is left to be written just now.
    pub(super) fn written(&self) {
        let mut state = self.state();
        if state.step != Step::Answered {
            return;
        }
        state.step = match state.misframed {
            Some(_) => Step::Over,
            None => Step::Nothing,
        };
        self.place.waits();
        let reader = state.reader.take();
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    fn answered(&self) {
        let mut state = self.state();
        match state.step {
            Step::Whole => state.step = Step::Answered,
            Step::Headed => {
                state.step = Step::Left;
                self.place.waits();
            }
            Step::Nothing
            | Step::Begun
            | Step::Answered
            | Step::Left
            | Step::Over
            | Step::Tunnel => {}
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.answered();
    }
}
