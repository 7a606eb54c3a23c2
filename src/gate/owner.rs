//! Whether the requests of a session belong to one agent.

use crate::session::{Session, Whose};

/// To whom the requests of a session belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// One agent, which begins another session when this one has ended.
    OneSession,
    /// One agent, known by the key that its requests share. Its session has no end.
    OneKey,
    /// Perhaps several agents, so that none may end the session for another.
    Unknown,
}

pub(super) fn has_one_agent(session: &Session) -> bool {
    owner(session) != Owner::Unknown
}

pub(super) fn owner(session: &Session) -> Owner {
    if !session.is_shared() {
        return Owner::OneSession;
    }
    match &session.whose {
        Whose::Common(key) if key.is_somebodys() => Owner::OneKey,
        Whose::Common(_) | Whose::Own | Whose::OwnAnd(_) | Whose::Unnamed => Owner::Unknown,
    }
}
