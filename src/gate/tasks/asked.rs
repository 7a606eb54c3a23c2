//! What policy is asked about tasks: what was asked about the requests that they began with.

use crate::policy::{Decision, PolicySnapshot, SessionSensitivity};
use crate::session::Target;
use crate::wire::{KnownMethod, Value};

use crate::gate::classified::Scene;
use crate::gate::look::Look;
use crate::gate::pin::Pins;
use crate::gate::query::{Asks, Circumstances, Question};
use crate::gate::questions::ask;
use crate::gate::rejection::Rejection;
use crate::gate::{inspect, uris};

use super::memory::{Recalled, Work};
use super::said::{asks_within, is_about_one};
use super::told::says_more;

/// The questions of a message about tasks: those of the requests that they began with.
pub(in crate::gate) fn questions<'m>(
    method: KnownMethod,
    asks: Asks,
    params: Option<Value<'m>>,
    recalled: &'m Recalled,
    look: Look<'_>,
) -> Result<(Target, Vec<Question<'m>>), Rejection> {
    let mut target = None;
    let mut begun = Vec::new();
    for work in &recalled.works {
        let (about, questions) = ask(work.method, work.asks, Some(work.params.root()), look)?;
        // A listener may name several tasks. One task whose results could be those of two tools
        // would be received as the result of only one of them.
        let one = target.get_or_insert_with(|| about.clone());
        if *one != about && method != KnownMethod::SubscriptionsListen {
            return Err(super::unknown_task());
        }
        begun.extend(questions);
    }
    let target = target.unwrap_or(Target::Server);
    if is_about_one(method) && method != KnownMethod::TasksCancel {
        return Ok((target, begun));
    }
    // To give up what was begun is never more than to have begun it.
    let (own, mut questions) = ask(method, asks, params, look)?;
    if method == KnownMethod::SubscriptionsListen {
        questions.extend(begun);
        return Ok((own, questions));
    }
    let told = news_of_a_result(method, asks, params);
    if told.is_some_and(asks_within) {
        return Err(Rejection::bad_reply(
            "the result of its task is not finished",
        ));
    }
    let content = told.map(inspect::Content::Result);
    let received = content.map(|content| inspect::received(&content, &target, look));
    let works = recalled.works.iter().zip(&received);
    let again = works.flat_map(|(work, it)| uris::received_otherwise(it, work.method));
    let again: Vec<_> = again.collect();
    questions.extend(received.into_iter().chain(again));
    Ok((target, questions))
}

/// Whether policy would permit now what tasks began with.
pub(in crate::gate) fn may_ask(
    works: &[Work],
    scene: &Scene,
    snapshot: &PolicySnapshot,
    pins: Pins<'_>,
    now: Circumstances,
    look: Look<'_>,
) -> bool {
    works.iter().all(|work| {
        let mut scene = Scene {
            calls: work.calls,
            ..scene.clone()
        };
        if let Some(consent) = &work.consent {
            scene.agrees(consent);
        }
        let asked = ask(work.method, work.asks, Some(work.params.root()), look);
        asked.is_ok_and(|(_, mut questions)| {
            questions.iter_mut().all(|question| {
                question.about.pin(pins, snapshot);
                let decision = snapshot.judge(&question.facts(&scene, now));
                matches!(decision, Decision::Allow(_))
            })
        })
    })
}

/// Whether what is told of a task is no more than anybody may be told who may ask about it: what came of
/// the call is not labelled, so that nothing is looked for in it later, the session has read all that it
/// brings, and policy permits it as its result, as it is.
pub(in crate::gate) fn may_be_told(
    works: &[Work],
    told: Value<'_>,
    scene: &Scene,
    snapshot: &PolicySnapshot,
    pins: Pins<'_>,
    now: Circumstances,
    look: Look<'_>,
) -> bool {
    let is_permitted = |work: &Work| {
        let asked = ask(work.method, work.asks, Some(work.params.root()), look);
        asked.is_ok_and(|(target, _)| {
            let mut question = inspect::received(&inspect::Content::Result(told), &target, look);
            question.about.pin(pins, snapshot);
            let decision = snapshot.judge(&question.facts(scene, now));
            matches!(decision, Decision::Allow(allowance) if allowance.obligations.is_empty())
        })
    };
    let raises_nothing =
        |work: &Work| !work.brings.is_labelled() && scene.held.covers(&work.brings);
    let mut works = works.iter();
    works.len() > 0 && works.all(|work| raises_nothing(work) && is_permitted(work))
}

/// What news of tasks bring into the session of whoever is told.
pub(in crate::gate) fn tells(
    method: KnownMethod,
    asks: Asks,
    params: Option<Value<'_>>,
    recalled: &Recalled,
) -> SessionSensitivity {
    let told = news_of_a_result(method, asks, params);
    let works = recalled.works.iter().filter(|_| told.is_some());
    works.fold(SessionSensitivity::default(), |all, work| {
        all.join(&work.brings)
    })
}

/// What a server tells of a task that may come of the call with which it began.
fn news_of_a_result(
    method: KnownMethod,
    asks: Asks,
    params: Option<Value<'_>>,
) -> Option<Value<'_>> {
    let is_news = matches!(method, KnownMethod::TaskNews | KnownMethod::TaskStatus);
    params.filter(|told| is_news && asks == Asks::Server && says_more(*told))
}
