//! How far what the requests of a session have in common reaches.

use crate::session::{Session, Whose};

/// How far what a session's requests have in common reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lasts {
    /// It is one agent's, which begins another one when it has ended.
    Itself,
    /// Its requests have a key in common, and no end but that none comes any more.
    WhileAsked,
    /// Those who ask may know nothing of each other: none ends for another.
    Nobodys,
}

/// Whether what a session's requests have in common is known to be one agent's.
pub(super) fn is_one_agents(session: &Session) -> bool {
    lasts(session) != Lasts::Nobodys
}

pub(super) fn lasts(session: &Session) -> Lasts {
    if !session.is_shared() {
        return Lasts::Itself;
    }
    match &session.whose {
        Whose::Common(key) if key.is_somebodys() => Lasts::WhileAsked,
        Whose::Common(_) | Whose::Own | Whose::OwnAnd(_) | Whose::Unnamed => Lasts::Nobodys,
    }
}
