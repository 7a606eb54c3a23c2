//! How often requests may come, and how many calls a session may make.
//!
//! What policies forbid is never counted as a call of its tool, or an agent that may not call it
//! could take it from those who may. So a request is looked at before it is judged, which keeps a
//! flood from costing a judgement each, and its tokens are taken when policy has allowed it. What is
//! judged and comes to nothing costs its principal, and all together, one all the same.

mod bucket;
mod table;

use std::time::Duration;

use crate::session::{self, Attempt, Room, Session, Whose};
use crate::wire::Side;

use super::Gate;
use super::decide::called_tool;
use super::extensions;
use super::identify::{Identified, Role};
use super::record::Trail;
use super::refuse::Refusal;
use super::rounds::owner;
use super::understand::Understood;
use table::{Empty, Table};

pub use bucket::Rate;
pub use table::{Limit, Rates};

/// Asks before a message goes on; with no limits it does nothing.
#[derive(Debug)]
pub(super) struct Pace {
    table: Option<Table>,
    calls_per_session: Option<i64>,
}

/// How far a message has been counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Counted {
    /// Nothing limits it, or it was refused for its rate.
    #[default]
    No,
    /// It may pass as far as is known, and is to be paid for by this principal.
    Owed(String),
}

impl Pace {
    pub(super) fn new(rates: &Rates) -> Self {
        let limits = rates.global.is_some() || rates.principal.is_some() || !rates.tools.is_empty();
        Self {
            table: limits.then(|| Table::new(rates)),
            calls_per_session: rates.calls_per_session,
        }
    }
}

impl Gate {
    /// Whether a request of the agent's may come now. The protocol's own notifications are not counted:
    /// to drop one could be to drop a cancellation, and none is answered. Those of extensions are, for
    /// they may do whatever a call does.
    pub(super) fn look_at_rates(
        &self,
        identified: &Identified<'_>,
        trail: &mut Trail,
    ) -> Result<(), Refusal> {
        let Some(table) = &self.pace.table else {
            return Ok(());
        };
        let is_counted = matches!(identified.role, Role::Request { .. })
            || extensions::method(&identified.role).is_some();
        // What was sent before was paid for then.
        if trail.attempt == Attempt::First && identified.from == Side::Agent && is_counted {
            let principal = owner(&identified.scene.agent);
            table.look(principal, self.clock.elapsed())?;
            trail.counted = Counted::Owed(principal.to_owned());
        }
        Ok(())
    }

    /// Counts a request that policy allows.
    pub(super) fn count(
        &self,
        understood: &Understood<'_>,
        session: &Session,
        trail: &mut Trail,
    ) -> Result<(), Refusal> {
        let tool = called_tool(understood);
        // INVARIANT: of a call, nothing is awaited between here and `route`, which counts it.
        let identified = &understood.identified;
        let calls = tool.is_some()
            || identified.from == Side::Agent && extensions::method(&identified.role).is_some();
        if let (Some(most), true) = (self.pace.calls_per_session, calls) {
            within_budget(understood, session, most, trail.attempt)?;
        }
        let Counted::Owed(principal) = std::mem::take(&mut trail.counted) else {
            return Ok(());
        };
        if let Some(table) = &self.pace.table {
            table.take(&principal, tool, self.clock.elapsed())?;
        }
        Ok(())
    }

    /// Counts a call against the budget of its session, where that outlives it: whoever else makes calls
    /// in it may have made the last one meanwhile. It stays counted, whatever becomes of it.
    pub(super) async fn count_call(
        &self,
        understood: &Understood<'_>,
        session: &Session,
        trail: &mut Trail,
    ) -> Result<(), Refusal> {
        let (Some(most), Attempt::First) = (self.pace.calls_per_session, trail.attempt) else {
            return Ok(());
        };
        let refusal = match self.ratchet.count(session, most).await {
            Ok(session::Counted::Yes) => return Ok(()),
            Ok(session::Counted::Spent) => Refusal::Spent(most),
            Ok(session::Counted::NoRoom) => Refusal::NoRoom,
            Err(fault) => fault.into(),
        };
        self.give_back(understood, trail);
        Err(refusal)
    }

    /// A request of a session's comes to nothing that was not paid for when it came.
    pub(super) fn charge_for(&self, session: &Session) {
        if let Some(table) = &self.pace.table {
            let agent = std::sync::Arc::clone(&session.state().agent);
            table.charge(owner(&agent), self.clock.elapsed());
        }
    }

    /// A message is through with the path: what it still owes is paid.
    pub(super) fn settle_rates(&self, trail: &mut Trail) {
        if let (Some(table), Counted::Owed(principal)) =
            (&self.pace.table, std::mem::take(&mut trail.counted))
        {
            table.charge(&principal, self.clock.elapsed());
        }
    }
}

/// Whether a session may make one more call, as far as is known without asking again.
fn within_budget(
    understood: &Understood<'_>,
    session: &Session,
    most: i64,
    attempt: Attempt,
) -> Result<(), Refusal> {
    let kept = &understood.identified.scene.kept;
    let made = match &session.whose {
        Whose::Own | Whose::OwnAnd(_) => session.state().calls,
        Whose::Common(key) if !key.is_somebodys() => session.state().calls,
        // What was sent before was counted then, and is not taken back there.
        Whose::Common(_) | Whose::Unnamed if attempt == Attempt::Second => return Ok(()),
        Whose::Common(_) if kept.room == Room::None => return Err(Refusal::NoRoom),
        Whose::Common(_) | Whose::Unnamed => kept.calls,
    };
    if made < most {
        Ok(())
    } else {
        Err(Refusal::Spent(most))
    }
}

impl From<Empty> for Refusal {
    fn from(Empty { limit, wait }: Empty) -> Self {
        Self::TooOften {
            limit,
            retry_after_ms: milliseconds(wait),
        }
    }
}

/// Rounded up: who comes back after that is not too early.
fn milliseconds(wait: Duration) -> i64 {
    i64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX)
}

impl Limit {
    /// What there are too many of.
    pub(super) fn counts(self) -> &'static str {
        match self {
            Self::Global => "requests of all agents",
            Self::Principal => "requests of this agent",
            Self::Tool => "calls of this tool",
        }
    }

    /// A stable word for it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Principal => "principal",
            Self::Tool => "tool",
        }
    }
}
