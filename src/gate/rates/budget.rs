//! How many calls a session may make in all.

use std::sync::Arc;

use crate::session::{Attempt, Budget, Calls, Counted, Rest, Room, Whose};
use crate::wire::{Fragment, Side};

use crate::gate::context::RequestContext;
use crate::gate::extensions;
use crate::gate::filter::{Filter, Flow, Hook, Leaving};
use crate::gate::query::Circumstances;
use crate::gate::ratchet::Ratchet;
use crate::gate::rates::Rates;
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

/// Bounds the number of calls of a session.
#[derive(Debug)]
pub(in crate::gate) struct CallBudget(pub(in crate::gate) Arc<Ratchet>);

impl Filter for CallBudget {
    // INVARIANT: of a call, nothing is awaited between here and `route`, which counts it.
    fn on_permitted<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        within_budget(cx)?;
        Flow::DONE
    }

    /// Counts a call against the budget of its session, where the store keeps that: another request may
    /// have made the last call meanwhile. The call stays counted, even if it is not sent.
    fn on_leaving<'f>(
        &'f self,
        cx: &'f mut RequestContext<'_>,
        leaving: &'f Leaving<'_>,
    ) -> Hook<'f> {
        let rates = &cx.terms.rates;
        let (Some(most), Attempt::First, true) = (
            rates.calls_per_session,
            cx.trail.retry.attempt,
            leaving.counted,
        ) else {
            return Flow::DONE;
        };
        let budget = budget(rates, most, cx.now);
        Flow::wait(async move {
            match self.0.count(cx.session, budget).await {
                Ok(Counted::Yes) => Ok(()),
                // Another request made the last call meanwhile.
                Ok(Counted::Spent) => Err(spent(most, None).into()),
                Ok(Counted::NoRoom) => Err(Rejection::no_room().into()),
                Err(fault) => Err(fault.into()),
            }
        })
    }
}

/// Whether the budget of its session has one more call, as far as is known without asking again.
fn within_budget(cx: &RequestContext<'_>) -> Result<(), Rejection> {
    let (identified, session) = (&cx.understood.identified, cx.session);
    let calls = cx.understood.called_tool().is_some()
        || identified.from == Side::Agent && extensions::method(&identified.role).is_some();
    let rates = &cx.terms.rates;
    let (Some(most), true) = (rates.calls_per_session, calls) else {
        return Ok(());
    };
    let kept = &identified.scene.kept;
    let budget = budget(rates, most, cx.now);
    let made = Calls::made(session.state().security.calls);
    let (budget, made) = match &session.whose {
        Whose::Own | Whose::OwnAnd(_) => (budget.without_rest(), made),
        Whose::Common(key) if !key.is_somebodys() => (budget.without_rest(), made),
        // What was sent before was counted then, and is not taken back there.
        Whose::Common(_) | Whose::Unnamed if cx.trail.retry.attempt == Attempt::Second => {
            return Ok(());
        }
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
fn budget(rates: &Rates, most: i64, now: Circumstances) -> Budget {
    let rest = rates.rest.map(|lasts| Rest {
        lasts_ms: i64::try_from(lasts.as_millis()).unwrap_or(i64::MAX),
        now_ms: now.now_ms,
    });
    Budget { most, rest }
}
