//! What a session has read, and what that makes of the messages that follow.
//!
//! A request is judged by what was held when it came. Before it goes anywhere, what it will read is
//! joined to that, in one step of the store that also tells what was held just before. If that is
//! not what the request was judged by, it is judged again, by exactly that: so each request is judged
//! by everything that was admitted before it, however many come at once, through whatever sessions,
//! and there is nothing to be repeated until it comes out even. What was raised stays, also if the
//! request fails later, for nobody can tell how far it got.

use std::sync::Arc;

use crate::policy::{MAX_LEVEL, Obligation, PolicySnapshot, SessionSensitivity};
use crate::session::{
    Budget, Calls, Counted, InMemory, Kept, Places, Raised, Room, Session, SessionStore,
    StoreFault, Whose,
};
use crate::wire::{KnownMethod, Side};

use super::classified::Role;
use super::context::RequestContext;
use super::filter::{Chain, Filter, Flow, Hook, Leaving, Step};
use super::permit::{self, Allowed};
use super::query::{Circumstances, Doing, Understood};
use super::rates::Pace;
use super::rejection::Rejection;
use super::stop::Stop;
use super::{Gate, isolate, leaks, resources};

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
        calls: Calls::made(state.calls),
        ..Kept::having_read(Arc::clone(&state.held))
    }
}

fn raise_own(session: &Session, by: &SessionSensitivity) -> Raised {
    let mut state = session.state();
    let raised = Raised::joining(&state.held, by);
    state.held = Arc::clone(&raised.after);
    raised
}

/// What was read in either way.
fn both(own: &Arc<SessionSensitivity>, outside: &SessionSensitivity) -> Arc<SessionSensitivity> {
    Raised::joining(own, outside).after
}

/// Judges requests by what their session has read, and raises that by what they will read.
#[derive(Debug)]
pub(super) struct Sensitivity(pub(super) Arc<Ratchet>);

impl Filter for Sensitivity {
    fn on_classified(&self, cx: &mut RequestContext<'_>) -> Result<(), Stop> {
        match cx.trail.store_fault.take() {
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
        let own = Arc::clone(&cx.session.state().held);
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
            let raised = self.0.raise(cx.session, &cx.brings).await;
            let Raised { before, after } = raised.map_err(Rejection::from)?;
            cx.trail.raised(&before, &after);
            isolate::found(cx.session, after.level);
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
        // Judged otherwise, it may be obliged to raise more than was raised for it.
        let raised = &cx.trail.raising;
        if raised.as_ref().is_some_and(|it| it.covers(&brings)) {
            return Flow::CONTINUE;
        }
        match &cx.session.whose {
            Whose::Own => {
                let raised = raise_own(cx.session, &brings);
                let calls = cx.session.state().calls;
                Ok(Flow::Now(commit(cx, brings, raised, calls)))
            }
            Whose::OwnAnd(_) | Whose::Common(_) | Whose::Unnamed => Flow::wait(async move {
                let counted = cx.session.state().calls;
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
    let expected = cx.trail.raising.take();
    let expected = expected.unwrap_or_else(|| Arc::clone(&scene.held));
    cx.trail.raised(&before, &after);
    isolate::found(cx.session, after.level);
    cx.trail.brings = Arc::new(brings);
    // Where the store took its time, another call may have been counted.
    let calls = cx.session.state().calls;
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
    cx.trail.raising = Some(after);
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
            self.pace = Arc::new(Pace::sharing(tokens));
        }
        self.ratchet = Arc::new(Ratchet::keeping(store));
        self.assemble();
        self
    }

    /// How many sessions are kept beyond their conversations, where there is an end to them.
    pub fn places(&self) -> Option<Places> {
        self.ratchet.store.places()
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
        self.ratchet.raise(session, by).await.map(|_| ())
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
    let held = places.fold(understood.tells.clone(), |all, one| all.join(&one));
    for question in &mut understood.questions {
        if let Doing::ReceiveResult(received) = &mut question.doing {
            received.level = received.level.max(held.level);
            let added = held
                .labels
                .iter()
                .filter(|it| !received.labels.contains(it));
            let added: Vec<String> = added.cloned().collect();
            received.labels.extend(added);
        }
    }
    held
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
        untrusted: false,
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
