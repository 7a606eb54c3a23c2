//! How many calls a session may make in all.

use crate::session::{Attempt, Budget, Calls, Counted, Rest, Room, Session, Whose};
use crate::wire::{Fragment, Side};

use crate::gate::Gate;
use crate::gate::extensions;
use crate::gate::query::Understood;
use crate::gate::rates::Rates;
use crate::gate::record::Trail;
use crate::gate::rejection::{Property, RATE_LIMITED, Rejection};
use crate::gate::stage::Stage;

/// With the time until the session counts as another one, if it does so by itself.
fn spent(most: i64, retry_after_ms: Option<i64>) -> Rejection {
    let later =
        retry_after_ms.map_or_else(String::new, |after| format!(": retry after {after} ms"));
    let text = format!("the session has made all of its {most} calls{later}");
    let reason = "session_quota_exceeded";
    let after = retry_after_ms.map(|after| ("retryAfterMs", Fragment::integer(after)));
    Rejection::new(Stage::Limit, reason, RATE_LIMITED, text)
        .with_reason_in_answer()
        .with_data(after)
        .with_properties(&[Property::KeepsConsent, Property::ReadByModelsIfConfigured])
}

impl Gate {
    /// Whether the budget of its session has one more call, as far as is known without asking again.
    pub(in crate::gate) fn within_budget(
        &self,
        understood: &Understood<'_>,
        session: &Session,
        attempt: Attempt,
    ) -> Result<(), Rejection> {
        // INVARIANT: of a call, nothing is awaited between here and `route`, which counts it.
        let identified = &understood.identified;
        let calls = understood.called_tool().is_some()
            || identified.from == Side::Agent && extensions::method(&identified.role).is_some();
        let current = self.policy.current();
        let rates = &self.terms(&current).rates;
        let (Some(most), true) = (rates.calls_per_session, calls) else {
            return Ok(());
        };
        let kept = &identified.scene.kept;
        let budget = self.budget(rates, most);
        let made = Calls::made(session.state().calls);
        let (budget, made) = match &session.whose {
            Whose::Own | Whose::OwnAnd(_) => (budget.without_rest(), made),
            Whose::Common(key) if !key.is_somebodys() => (budget.without_rest(), made),
            // What was sent before was counted then, and is not taken back there.
            Whose::Common(_) | Whose::Unnamed if attempt == Attempt::Second => return Ok(()),
            Whose::Common(_) if kept.room == Room::None => return Err(Rejection::no_room()),
            // Of one agent alone nothing ends, however long it rests, before its process does.
            Whose::Common(_) if !session.is_shared() && made.made >= most => {
                (budget.without_rest(), made)
            }
            Whose::Common(key) => (budget.of(key), kept.calls),
            Whose::Unnamed => (budget.without_rest(), kept.calls),
        };
        if budget.has_one_more(made) {
            return Ok(());
        }
        let retry_after_ms = budget.begins_anew_in(made);
        Err(spent(most, retry_after_ms))
    }

    /// What a session may make, and how long a pause ends one that has no other end.
    fn budget(&self, rates: &Rates, most: i64) -> Budget {
        let rest = rates.rest.map(|lasts| Rest {
            lasts_ms: i64::try_from(lasts.as_millis()).unwrap_or(i64::MAX),
            now_ms: self.clock.now().as_millisecond(),
        });
        Budget { most, rest }
    }

    /// Counts a call against the budget of its session, where that outlives it: whoever else makes calls
    /// in it may have made the last one meanwhile. It stays counted, whatever becomes of it.
    pub(in crate::gate) async fn count_call(
        &self,
        understood: &Understood<'_>,
        session: &Session,
        trail: &mut Trail,
    ) -> Result<(), Rejection> {
        let current = self.policy.current();
        let rates = &self.terms(&current).rates;
        let (Some(most), Attempt::First) = (rates.calls_per_session, trail.attempt) else {
            return Ok(());
        };
        let budget = self.budget(rates, most);
        let refusal = match self.ratchet.count(session, budget).await {
            Ok(Counted::Yes) => return Ok(()),
            // By somebody else, just now.
            Ok(Counted::Spent) => spent(most, None),
            Ok(Counted::NoRoom) => Rejection::no_room(),
            Err(fault) => fault.into(),
        };
        self.give_back(understood, trail);
        Err(refusal)
    }
}
