//! What the proxy asks and tells of each connection.

use std::future::pending;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::destination::Destination;
use super::refusal::EgressRefusal;

/// One connection that a server wants. The proxy waits until it is answered.
#[derive(Debug)]
pub struct Attempt {
    pub asks: Asks,
    answer: oneshot::Sender<Verdict>,
}

/// What is to be done about a connection.
#[derive(Debug)]
pub enum Asks {
    /// Decide, and record the decision.
    Decision(Destination),
    /// Record that the proxy makes no connection.
    Record {
        /// The host and port, as far as they can be read.
        target: String,
        refusal: EgressRefusal,
        /// The decision that permitted the connection.
        reference: Option<Arc<str>>,
    },
}

/// What was decided and recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// With the name of the record.
    Permitted(Arc<str>),
    Denied,
    /// No record says what was decided.
    NotJudged,
}

/// The attempts of one server.
#[derive(Debug)]
pub struct Attempts(Option<mpsc::Receiver<Attempt>>);

impl Attempt {
    pub(super) fn new(asks: Asks) -> (Self, oneshot::Receiver<Verdict>) {
        let (answer, answered) = oneshot::channel();
        (Self { asks, answer }, answered)
    }

    /// The server may have gone meanwhile.
    pub fn answer(self, verdict: Verdict) {
        let _ = self.answer.send(verdict);
    }

    /// What is asked, and how it is answered.
    pub fn into_parts(self) -> (Asks, oneshot::Sender<Verdict>) {
        (self.asks, self.answer)
    }
}

impl Attempts {
    pub(super) fn new(attempts: mpsc::Receiver<Attempt>) -> Self {
        Self(Some(attempts))
    }

    /// Of a server without a proxy.
    pub fn none() -> Self {
        Self(None)
    }

    /// The next one. Cancel-safe: nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Attempt {
        let next = match &mut self.0 {
            Some(attempts) => attempts.recv().await,
            None => None,
        };
        match next {
            Some(attempt) => attempt,
            None => pending().await,
        }
    }
}
