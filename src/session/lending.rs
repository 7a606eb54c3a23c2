//! What the agent's model may still work at for a server, though no request waits for it: a sample
//! that was given up, or one that became a task.

use std::sync::Arc;
use std::time::Duration;

use crate::wire::Id;

/// How many are told apart; beyond these only time ends them.
const MOST: usize = 64;

/// Samples that may not have ended.
#[derive(Debug, Default)]
pub struct Lending(Vec<Loan>);

#[derive(Debug)]
struct Loan {
    what: Lent,
    /// When it counts as ended, whatever becomes of it: time since the clock was made.
    until: Duration,
}

/// How it will be known that a sample has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lent {
    /// By an answer under this id of the gate's, which comes too late for anything else.
    Sample(u64),
    /// By what is told of the agent's task of this id.
    Task(Arc<str>),
    /// By the request that brings the answers to an unfinished result, which is known by this digest.
    Round([u8; 32]),
    /// By time alone.
    Untold,
}

impl Lending {
    pub fn note(&mut self, what: Lent, until: Duration) {
        if self.0.len() >= MOST
            && let Some(last) = self.0.last_mut()
        {
            last.what = Lent::Untold;
            last.until = last.until.max(until);
            return;
        }
        self.0.push(Loan { what, until });
    }

    /// A sample has ended.
    pub fn ended(&mut self, what: &Lent) {
        self.0.retain(|loan| loan.what != *what);
    }

    /// The agent has answered after all.
    pub fn answered(&mut self, id: &Id) {
        let minted = id.as_integer().and_then(|id| u64::try_from(id).ok());
        if let Some(minted) = minted {
            self.ended(&Lent::Sample(minted));
        }
    }

    /// When the next of them counts as ended at the latest.
    pub fn next_end(&self) -> Option<Duration> {
        self.0.iter().map(|loan| loan.until).min()
    }

    /// Whether the model may be at work. Forgets what is over.
    pub fn is_out(&mut self, now: Duration) -> bool {
        self.0.retain(|loan| now < loan.until);
        !self.0.is_empty()
    }
}
