//! The kinds of messages.

use super::id::Id;
use super::method::Method;

/// Which of the three kinds of message this is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    Request {
        id: Id,
        method: Method,
    },
    Notification {
        method: Method,
    },
    /// Only error replies may come without an id, or with `null`.
    Reply {
        id: Option<Id>,
        outcome: Outcome,
    },
}

/// What a reply brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    Result,
    Error,
}
