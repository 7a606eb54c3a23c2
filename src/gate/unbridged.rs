//! Why the bridge between the eras does not carry something.

use super::rejection::{DENIED, INTERNAL, INVALID_PARAMS, Rejection};
use super::stage::Stage;

/// Why the bridge between the eras does not carry something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unbridged {
    #[error("the session has no `{0}`, which belongs to the server's revision")]
    Foreign(&'static str),
    #[error("in the words of the server's revision the message is larger than is accepted")]
    TooLarge,
    #[error("the server's answer cannot be told in the session's revision: {0}")]
    Answer(&'static str),
    #[error("the server asked for more input than {0} times")]
    Rounds(u32),
    #[error("the server asked for `{0}`, and the agent did not answer")]
    Unanswered(&'static str),
    #[error("the server does not tell of changes of this resource")]
    NotFollowed,
    #[error("the server's session has no `{0}`, which belongs to the agent's revision")]
    NotInSession(&'static str),
    #[error("the server needs a session, and `initialize` failed: {0}")]
    Unopened(String),
    #[error("the server needs a session, and policy denies `initialize`")]
    Unpermitted,
    #[error("the session follows {0} resources already, and no more are followed")]
    TooManyFollowed(usize),
}

impl From<Unbridged> for Rejection {
    fn from(why: Unbridged) -> Self {
        let code = match why {
            Unbridged::Foreign(_) | Unbridged::NotInSession(_) => INVALID_PARAMS,
            Unbridged::Unpermitted => DENIED,
            Unbridged::TooLarge
            | Unbridged::Answer(_)
            | Unbridged::Rounds(_)
            | Unbridged::Unanswered(_)
            | Unbridged::NotFollowed
            | Unbridged::Unopened(_)
            | Unbridged::TooManyFollowed(_) => INTERNAL,
        };
        Self::new(Stage::Bridge, "unbridged", code, why.to_string())
    }
}
