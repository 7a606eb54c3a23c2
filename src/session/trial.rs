//! Whether the server shakes hands where no agent has come to do it.

use std::sync::Arc;

/// How far a trial has come, in a conversation that is one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Trial {
    /// Nothing has come of it yet.
    #[default]
    Open,
    /// The server has answered as one that can serve.
    Passed,
    /// It does not speak what it was asked in; how it says so.
    Otherwise(Arc<str>),
    /// There is no answer that is of any use; why.
    Failed(Arc<str>),
}

/// What a trial begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// `server/discover`: what needs no session (from `2026-07-28` on).
    Discover,
    /// `initialize`: a session.
    Initialize,
}
