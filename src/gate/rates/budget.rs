//! How many calls a session may make in all.

use crate::gate::Gate;
use crate::gate::decide::called_tool;
use crate::gate::extensions;
use crate::gate::record::Trail;
use crate::gate::refuse::Refusal;
use crate::gate::understand::Understood;
use crate::session::{Attempt, Counted, Room, Session, Whose};
use crate::wire::Side;

impl Gate {
    /// Whether the budget of its session has one more call, as far as is known without asking again.
    pub(in crate::gate) fn within_budget(
        &self,
        understood: &Understood<'_>,
        session: &Session,
        attempt: Attempt,
    ) -> Result<(), Refusal> {
        // INVARIANT: of a call, nothing is awaited between here and `route`, which counts it.
        let identified = &understood.identified;
        let calls = called_tool(understood).is_some()
            || identified.from == Side::Agent && extensions::method(&identified.role).is_some();
        let (Some(most), true) = (self.pace.rates.calls_per_session, calls) else {
            return Ok(());
        };
        let kept = &identified.scene.kept;
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

    /// Counts a call against the budget of its session, where that outlives it: whoever else makes calls
    /// in it may have made the last one meanwhile. It stays counted, whatever becomes of it.
    pub(in crate::gate) async fn count_call(
        &self,
        understood: &Understood<'_>,
        session: &Session,
        trail: &mut Trail,
    ) -> Result<(), Refusal> {
        let (Some(most), Attempt::First) = (self.pace.rates.calls_per_session, trail.attempt)
        else {
            return Ok(());
        };
        let refusal = match self.ratchet.count(session, most).await {
            Ok(Counted::Yes) => return Ok(()),
            Ok(Counted::Spent) => Refusal::Spent(most),
            Ok(Counted::NoRoom) => Refusal::NoRoom,
            Err(fault) => fault.into(),
        };
        self.give_back(understood, trail);
        Err(refusal)
    }
}
