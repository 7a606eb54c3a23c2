//! Messages judged by what their session has read, and what they add to that. Its store is in
//! `ratchet.rs`.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::policy::{MAX_LEVEL, Obligation, PolicySnapshot, SessionSensitivity};
use crate::session::{Places, Raised, Room, Session, SessionStore, StoreFault, Whose};
use crate::wire::{KnownMethod, Side};

use super::classified::Role;
use super::context::RequestContext;
use super::filter::{Chain, Filter, Flow, Hook, Leaving, Step};
use super::permit::{self, Allowed};
use super::query::{Asks, Circumstances, Doing, Question, Understood};
use super::ratchet::{self, Ratchet, raise_own};
use super::rates::Pace;
use super::rejection::Rejection;
use super::stop::Stop;
use super::{Gate, leaks, resources};

/// Judges requests by what their session has read, and raises that by what they will read.
#[derive(Debug)]
pub(super) struct Sensitivity(pub(super) Arc<Ratchet>);

impl Filter for Sensitivity {
    fn on_classified(&self, cx: &mut RequestContext<'_>) -> Result<(), Stop> {
        match cx.trail.sensitivity.store_fault.take() {
            Some(fault) => Err(fault.into()),
            None => Ok(()),
        }
    }

    fn on_request<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        let held = Arc::clone(&cx.understood.identified.scene.held);
        cx.trail.raised(&held, &held);
        Flow::DONE
    }

    /// A request whose session has no place in the store is denied for that alone, if it would pass by what
    /// the session is known to have read.
    fn on_denied<'f>(
        &'f self,
        cx: &'f mut RequestContext<'_>,
        denied: &'f Stop,
        _: &'f Chain,
    ) -> Hook<'f, Step> {
        let scene = &mut cx.understood.identified.scene;
        let is_denial = denied
            .rejection()
            .and_then(Rejection::open_denial)
            .is_some();
        if scene.kept.room == Room::Left || !is_denial {
            return Flow::CONTINUE;
        }
        let own = Arc::clone(&cx.session.state().security.held);
        let counted = std::mem::replace(&mut scene.held, own);
        let known = permit::decide(&cx.understood, cx.snapshot, cx.pins, cx.now);
        cx.understood.identified.scene.held = counted;
        match known {
            Ok(_) => Err(Rejection::no_room().into()),
            Err(_) => Flow::CONTINUE,
        }
    }

    /// Raises what the receiver's session has read by what was found in a message of the server's.
    fn on_leaving<'f>(&'f self, cx: &'f mut RequestContext<'_>, _: &'f Leaving<'_>) -> Hook<'f> {
        if cx.understood.identified.from == Side::Agent || cx.brings.is_nothing() {
            return Flow::DONE;
        }
        Flow::wait(async {
            let brings = cx.brings.clone();
            let brings = brings.from_server(&cx.understood.identified.scene.server);
            let raised = self.0.raise(cx.session, &brings).await;
            let Raised { before, after } = raised.map_err(Rejection::from)?;
            cx.trail.raised(&before, &after);
            ratchet::note_level(cx.session, after.level);
            Ok(())
        })
    }

    fn on_allowed<'f>(
        &'f self,
        cx: &'f mut RequestContext<'_>,
        allowed: &'f Allowed,
    ) -> Hook<'f, Step> {
        if cx.understood.identified.from == Side::Upstream {
            return Flow::CONTINUE;
        }
        let brings = brings(&cx.understood, cx.snapshot, cx.now)
            .join(&obliged(allowed))
            .join(&cx.brings);
        let brings = if brings.is_nothing() {
            brings
        } else {
            brings.from_server(&cx.understood.identified.scene.server)
        };
        // Judged otherwise, it may be obliged to raise more than was raised for it.
        let raised = &cx.trail.sensitivity.raising;
        if raised.as_ref().is_some_and(|it| it.covers(&brings)) {
            return Flow::CONTINUE;
        }
        match &cx.session.whose {
            Whose::Own => {
                let raised = raise_own(cx.session, &brings);
                let calls = cx.session.state().security.calls;
                Ok(Flow::Now(commit(cx, brings, raised, calls)))
            }
            Whose::OwnAnd(_) | Whose::Common(_) | Whose::Unnamed => Flow::wait(async move {
                let counted = cx.session.state().security.calls;
                let raised = self.0.raise(cx.session, &brings).await;
                Ok(commit(
                    cx,
                    brings,
                    raised.map_err(Rejection::from)?,
                    counted,
                ))
            }),
        }
    }
}

/// Whether a request was judged by what its session had read before it, and by the calls made before it.
///
/// INVARIANT: nothing is awaited from here to `route`, which counts calls.
fn commit(
    cx: &mut RequestContext<'_>,
    brings: SessionSensitivity,
    Raised { before, after }: Raised,
    counted: i64,
) -> Step {
    let scene = &mut cx.understood.identified.scene;
    let expected = cx.trail.sensitivity.raising.take();
    let expected = expected.unwrap_or_else(|| Arc::clone(&scene.held));
    cx.trail.raised(&before, &after);
    ratchet::note_level(cx.session, after.level);
    cx.trail.sensitivity.brings = Arc::new(brings);
    // Where the store took its time, another call may have been counted.
    let calls = cx.session.state().security.calls;
    let is_overtaken = *before != *expected;
    if !is_overtaken && calls == counted {
        return Step::Continue;
    }
    if is_overtaken {
        scene.held = before;
    }
    // Of a task it is the count of the call that began it.
    if scene.calls == counted {
        scene.calls = calls;
    }
    cx.trail.sensitivity.raising = Some(after);
    Step::Rejudge
}

/// Adds to the facts of a server's message what it holds of places that the host has labelled.
#[derive(Debug)]
pub(super) struct ContainedPlaces;

impl Filter for ContainedPlaces {
    fn on_request<'f>(&'f self, cx: &'f mut RequestContext<'_>) -> Hook<'f> {
        let contained = contained(&mut cx.understood, cx.snapshot);
        cx.brings = std::mem::take(&mut cx.brings).join(&contained);
        Flow::DONE
    }
}

impl Gate {
    /// With what sessions have read kept here, beyond each of them.
    #[must_use]
    pub fn remembering(mut self, store: Arc<dyn SessionStore>) -> Self {
        if let Some(tokens) = store.tokens() {
            self.stores.pace = Arc::new(Pace::sharing(tokens));
        }
        self.stores.ratchet = Arc::new(Ratchet::keeping(store));
        self.assemble();
        self
    }

    /// How many sessions are kept beyond their conversations, where there is an end to them.
    pub fn places(&self) -> Option<Places> {
        self.stores.ratchet.places()
    }

    /// Raises what a session has read, from outside any message.
    ///
    /// # Errors
    /// [`StoreFault`] where it cannot be kept.
    pub async fn raise(
        &self,
        session: &Session,
        by: &SessionSensitivity,
    ) -> Result<(), StoreFault> {
        self.stores.ratchet.raise(session, by).await.map(|_| ())
    }
}

/// What the policies that permit a message oblige to.
pub(super) fn obliged(allowed: &Allowed) -> SessionSensitivity {
    let due = allowed.allowances.iter();
    let due = due.flat_map(|allowance| &allowance.obligations);
    due.filter_map(Obligation::brings)
        .fold(SessionSensitivity::default(), |all, one| all.join(&one))
}

/// What a message of the server's holds of places that the host has labelled, whatever it was asked for, and
/// what it tells unasked of a task. What is received is of that level as well.
pub(super) fn contained(
    understood: &mut Understood<'_>,
    snapshot: &PolicySnapshot,
) -> SessionSensitivity {
    if understood.identified.from == Side::Agent {
        return SessionSensitivity::default();
    }
    let labels = snapshot.labels();
    let places = resources::contained(understood).map(|uri| labels.lies_at(&uri));
    let mut held = places.fold(understood.tells.clone(), |all, one| all.join(&one));
    if understood.questions.iter().any(is_server_request) {
        held = held.from_server(&understood.identified.scene.server);
    }
    raise_received(understood, &held);
    held
}

/// Whether a server asks the agent for something, with texts of its own.
fn is_server_request(question: &Question<'_>) -> bool {
    let has_texts = matches!(
        question.doing,
        Doing::Sample { .. } | Doing::Elicit(_) | Doing::Extend(..)
    );
    has_texts && matches!(question.asks, Asks::Server)
}

/// Raises what is received to that sensitivity.
pub(super) fn raise_received(understood: &mut Understood<'_>, held: &SessionSensitivity) {
    let join = |own: &mut Vec<String>, more: &BTreeSet<String>| {
        let added = more.iter().filter(|it| !own.contains(it));
        let added: Vec<String> = added.cloned().collect();
        own.extend(added);
    };
    for question in &mut understood.questions {
        if let Doing::ReceiveResult(received) = &mut question.doing {
            received.level = received.level.max(held.level);
            join(&mut received.labels, &held.labels);
            join(&mut received.datasets, &held.datasets);
        }
    }
}

/// What credentials bring that were found in what the server sends. Those that were taken out have not
/// come in, but where one is, there may be more.
pub(super) fn shown(found: &leaks::Received<'_>) -> SessionSensitivity {
    let shown = !found.findings.is_empty();
    let concealed = !found.strings.is_empty();
    SessionSensitivity {
        level: if shown { MAX_LEVEL } else { 0 },
        labels: (shown || concealed)
            .then(|| CREDENTIALS.to_owned())
            .into_iter()
            .collect(),
        ..SessionSensitivity::default()
    }
}

/// The label of sessions whose servers have sent credentials.
const CREDENTIALS: &str = "credentials";

/// What a request will read, as far as its labels tell.
fn brings(
    understood: &Understood<'_>,
    snapshot: &PolicySnapshot,
    now: Circumstances,
) -> SessionSensitivity {
    let scene = &understood.identified.scene;
    // To give up what was begun reads nothing.
    if let Role::Request {
        method: KnownMethod::TasksCancel,
        ..
    } = understood.identified.role
    {
        return SessionSensitivity::default();
    }
    let questions = understood.questions.iter();
    let labels = snapshot.labels();
    questions
        .map(|question| labels.brings(&question.facts(scene, now)))
        .fold(SessionSensitivity::default(), |all, one| all.join(&one))
}
