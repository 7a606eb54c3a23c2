//! Where it is kept what sessions have read, and whose reading counts together.

use std::sync::Arc;

use crate::config::{self, Config};
use crate::identity::Identity;
use crate::session::{Ids, InMemory, OnDisk, Session, SessionKey, SessionStore, Whose};

use super::super::exit::Exit;
use super::start_failures::invalid;

/// Where what outlives a session is kept.
pub(super) fn store(config: &Config) -> Result<Arc<dyn SessionStore>, Exit> {
    let ratchet = &config.ratchet;
    let most = ratchet.max_sessions;
    let servers: Vec<_> = config.servers.keys().cloned().collect();
    Ok(match ratchet.journal() {
        Some((file, key)) => Arc::new(
            OnDisk::open(file, &key, most)
                .map_err(|cause| invalid(&format!("`ratchet.file`: {cause}")))?
                .before_servers(&servers),
        ),
        None => Arc::new(InMemory::holding(most)),
    })
}

/// The one session of a gate on standard streams: with a journal it goes on where an earlier one
/// ended.
pub(super) fn of_process(session: Session, ratchet: &config::Ratchet) -> Session {
    if ratchet.file.is_none() && ratchet.session.is_none() {
        return session;
    }
    of_user(session, ratchet)
}

/// A session of a user's agents: all that are attached to one gate are one, as far as it knows.
pub(super) fn of_user(session: Session, ratchet: &config::Ratchet) -> Session {
    let principal = session.state().parties.agent.id.clone();
    let key = SessionKey::of(&principal, ratchet.session.as_deref());
    session.reading_as(Whose::Common(key))
}

/// Whose reading counts together over HTTP: that of one named session of one agent; of an MCP session
/// if it has no other name, with what its principal did without any; of all that an agent does, where it has not even that.
pub(super) fn of_agent(identity: &Identity, ids: Ids, names: Names) -> Whose {
    match (&identity.session, names, ids) {
        (Some(session), _, _) => Whose::Common(SessionKey::of(&identity.subject, Some(session))),
        (None, Names::Required, _) => Whose::Unnamed,
        (None, Names::Shared, _) => Whose::Common(SessionKey::of(&identity.subject, None)),
        (None, Names::Unknown, ids) => {
            let principal = SessionKey::of(&identity.subject, None);
            match ids {
                Ids::OfStream => Whose::Common(principal),
                // Of those who have proved nothing, each may be another.
                Ids::OfSession if principal.is_somebodys() => Whose::OwnAnd(principal),
                Ids::OfSession => Whose::Own,
            }
        }
    }
}

/// Whether somebody is to name the sessions of agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    Required,
    Unknown,
    /// A session without a name may have been at each of several servers.
    Shared,
}

impl Names {
    pub(super) fn of(config: &Config) -> Self {
        match (&config.ratchet.session_header, &config.key) {
            (Some(_), _) => Self::Required,
            (None, Some(_)) => Self::Shared,
            (None, None) => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_counts_for_the_session_that_was_named_or_for_all_that_may_be_it() {
        let check = |session: Option<&str>, ids, names, expected: &Whose| {
            let identity = Identity {
                session: session.map(str::to_owned),
                ..Identity::named("ada")
            };
            assert_eq!(
                &of_agent(&identity, ids, names),
                expected,
                "{session:?} {ids:?}"
            );
        };
        let common = |session| Whose::Common(SessionKey::of("ada", session));
        for ids in [Ids::OfSession, Ids::OfStream] {
            for names in [Names::Required, Names::Unknown] {
                check(Some("s"), ids, names, &common(Some("s")));
            }
            check(None, ids, Names::Required, &Whose::Unnamed);
        }
        let with_hers = Whose::OwnAnd(SessionKey::of("ada", None));
        check(None, Ids::OfSession, Names::Unknown, &with_hers);
        let anonymous = of_agent(
            &Identity::named("anonymous"),
            Ids::OfSession,
            Names::Unknown,
        );
        assert_eq!(anonymous, Whose::Own);
        check(None, Ids::OfStream, Names::Unknown, &common(None));
        // Before several servers one conversation may go on in another.
        for ids in [Ids::OfSession, Ids::OfStream] {
            check(Some("s"), ids, Names::Shared, &common(Some("s")));
            check(None, ids, Names::Shared, &common(None));
        }
    }
}
