//! What a session has read, and what that makes of the messages that follow.
//!
//! A request is judged by what was held when it came. Before it goes anywhere, what it will read is
//! joined to that, in one step of the store that also tells what was held just before. If that is
//! not what the request was judged by, it is judged again, by exactly that: so each request is judged
//! by everything that was admitted before it, however many come at once, through whatever sessions,
//! and there is nothing to be repeated until it comes out even. What was raised stays, also if the
//! request fails later, for nobody can tell how far it got.

use std::sync::Arc;

use crate::policy::SessionSensitivity;
use crate::session::{
    Budget, Calls, Counted, InMemory, Kept, Places, Raised, Session, SessionStore, StoreFault,
    Whose,
};

/// What is known of what sessions have read.
#[derive(Debug)]
pub(super) struct Ratchet {
    store: Arc<dyn SessionStore>,
    highest: Arc<SessionSensitivity>,
}

impl Default for Ratchet {
    fn default() -> Self {
        Self::keeping(Arc::new(InMemory::default()))
    }
}

impl Ratchet {
    pub(super) fn keeping(store: Arc<dyn SessionStore>) -> Self {
        Self {
            store,
            highest: Arc::new(SessionSensitivity::highest()),
        }
    }

    /// How many sessions the store keeps, if it has a limit.
    pub(super) fn places(&self) -> Option<Places> {
        self.store.places()
    }

    /// What is kept of a session. Where that cannot be told it has read everything, and there is a fault.
    pub(super) async fn kept(&self, session: &Session) -> (Kept, Option<StoreFault>) {
        match &session.whose {
            Whose::Own => (own(session), None),
            Whose::OwnAnd(key) => {
                let own = own(session);
                self.told(self.store.kept(key).get().await.map(|outside| Kept {
                    held: both(&own.held, &outside.held),
                    room: outside.room,
                    ..own
                }))
            }
            Whose::Common(key) => self.told(self.store.kept(key).get().await),
            Whose::Unnamed => (self.anybodys(), None),
        }
    }

    /// What a session has read. Where that cannot be told it is everything, and there is a fault.
    pub(super) async fn held(
        &self,
        session: &Session,
    ) -> (Arc<SessionSensitivity>, Option<StoreFault>) {
        let (kept, fault) = self.kept(session).await;
        (kept.held, fault)
    }

    fn told(&self, kept: Result<Kept, StoreFault>) -> (Kept, Option<StoreFault>) {
        match kept {
            Ok(kept) => (kept, None),
            Err(fault) => (self.anybodys(), Some(fault)),
        }
    }

    /// Of a session that may be any: it has read everything, and made all of its calls.
    fn anybodys(&self) -> Kept {
        Kept {
            calls: Calls::ALL,
            ..Kept::having_read(Arc::clone(&self.highest))
        }
    }

    /// Counts a call against the budget of what outlives its session; what does not is counted there.
    ///
    /// # Errors
    /// [`StoreFault`] where it cannot be kept.
    pub(super) async fn count(
        &self,
        session: &Session,
        budget: Budget,
    ) -> Result<Counted, StoreFault> {
        match &session.whose {
            Whose::Own | Whose::OwnAnd(_) => Ok(Counted::Yes),
            // Those that are not known to be one would take it from each other, for good.
            Whose::Common(key) if !key.is_somebodys() => Ok(Counted::Yes),
            Whose::Common(key) => self.store.count(key, budget.of(key)).get().await,
            Whose::Unnamed => Ok(Counted::Spent),
        }
    }

    /// A session that somebody has named has ended, and does not begin again.
    ///
    /// # Errors
    /// [`StoreFault`] where it cannot be kept.
    pub(super) async fn end(&self, session: &Session, tool: &str) -> Result<(), StoreFault> {
        match &session.whose {
            Whose::Common(key) if key.session().is_some() => self.store.end(key, tool).get().await,
            Whose::Common(_) | Whose::Own | Whose::OwnAnd(_) | Whose::Unnamed => Ok(()),
        }
    }

    /// # Errors
    /// [`StoreFault`] where it cannot be kept.
    pub(super) async fn raise(
        &self,
        session: &Session,
        by: &SessionSensitivity,
    ) -> Result<Raised, StoreFault> {
        match &session.whose {
            Whose::Own => Ok(raise_own(session, by)),
            Whose::OwnAnd(key) => {
                // After its own: whatever is read outside of it meanwhile counts.
                let own = raise_own(session, by);
                let outside = self.store.kept(key).get().await?.held;
                Ok(Raised {
                    before: both(&own.before, &outside),
                    after: both(&own.after, &outside),
                })
            }
            Whose::Common(key) if by.is_nothing() => {
                let kept = self.store.kept(key).get().await?;
                Ok(Raised::unchanged(&kept.held))
            }
            Whose::Common(key) => self.store.raise(key, by).get().await,
            Whose::Unnamed => Ok(Raised::unchanged(&self.highest)),
        }
    }
}

/// Of a session that nobody can come back to.
fn own(session: &Session) -> Kept {
    let state = session.state();
    Kept {
        calls: Calls::made(state.security.calls),
        ..Kept::having_read(Arc::clone(&state.security.held))
    }
}

pub(super) fn raise_own(session: &Session, by: &SessionSensitivity) -> Raised {
    let mut state = session.state();
    let raised = Raised::joining(&state.security.held, by);
    state.security.held = Arc::clone(&raised.after);
    raised
}

/// What was read in either way.
fn both(own: &Arc<SessionSensitivity>, outside: &SessionSensitivity) -> Arc<SessionSensitivity> {
    Raised::joining(own, outside).after
}

/// Remembers the highest level at which a session was found.
pub(super) fn note_level(session: &Session, level: i64) {
    let mut state = session.state();
    state.security.found_at = state.security.found_at.max(level);
}
