//! The consent that a request brings, and the key under which it does.

use crate::consent::{Outcome, Receipt};

use super::why::Unconsented;

/// The key of the gate's question in `inputRequests`, and of its answer in `inputResponses`.
pub(in crate::gate) const KEY: &str = "mcp-protector/consent";

/// What a request brings of consent.
#[derive(Debug, Default)]
pub(in crate::gate) enum Brought {
    #[default]
    Nothing,
    /// A person has agreed while it waited.
    Receipt(Receipt),
    /// The same, and to this: it is judged under that. It is spent once the request may begin.
    Fits(Receipt),
    /// What it had is spent: it is judged under that, and is not asked about again.
    Spent,
    /// It was asked about, and has no consent.
    Refused(Unconsented),
}

impl Brought {
    pub(super) fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Granted(receipt) => Self::Receipt(receipt),
            Outcome::Denied(by) => Self::Refused(Unconsented::Denied(by)),
            Outcome::TimedOut => Self::Refused(Unconsented::TimedOut),
            Outcome::Withdrawn(void) => Self::Refused(Unconsented::withdrawn(void)),
        }
    }

    /// The request goes on: what it brought is good for nothing else.
    pub(in crate::gate) fn spend(&mut self) -> Option<Receipt> {
        let receipt = self.take_receipt()?;
        *self = Self::Spent;
        Some(receipt)
    }

    pub(super) fn take_receipt(&mut self) -> Option<Receipt> {
        match std::mem::take(self) {
            Self::Receipt(receipt) | Self::Fits(receipt) => Some(receipt),
            other @ (Self::Nothing | Self::Spent | Self::Refused(_)) => {
                *self = other;
                None
            }
        }
    }
}
