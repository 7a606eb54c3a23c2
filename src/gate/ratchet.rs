//! What a session has read, and what that makes of the messages that follow.
//!
//! A request is judged by what was held when it came. Before it goes anywhere, what it will read is
//! joined to that, in one step of the store that also tells what was held just before. If that is
//! not what the request was judged by, it is judged again, by exactly that: so each request is judged
//! by everything that was admitted before it, however many come at once, through whatever sessions,
//! and there is nothing to be repeated until it comes out even. What was raised stays, also if the
//! request fails later, for nobody can tell how far it got.

use std::sync::Arc;

use crate::audit::{self, Finding};
use crate::policy::{MAX_LEVEL, Obligation, PolicySnapshot, SessionSensitivity};
use crate::session::{
    Budget, Calls, Counted, InMemory, Kept, Places, Raised, Room, Session, SessionStore,
    StoreFault, Whose,
};
use crate::wire::{KnownMethod, Side};

use super::Gate;
use super::classified::Role;
use super::isolate;
use super::kept;
use super::leaks;
use super::permit;
use super::permit::Allowed;
use super::pin::Pins;
use super::query::{Circumstances, Doing, Understood};
use super::record::Trail;
use super::rejection::Rejection;
use super::stop::Stop;
use super::{resources, schemas, shadow};

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

impl Gate {
    /// With what sessions have read kept here, beyond each of them.
    #[must_use]
    pub fn remembering(mut self, store: Arc<dyn SessionStore>) -> Self {
        if let Some(tokens) = store.tokens() {
            self.pace.share(tokens);
        }
        self.ratchet = Ratchet::keeping(store);
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

    /// Asks policies and guards about a message, and raises what its session has read by what it
    /// will read.
    pub(super) async fn admit(
        &self,
        understood: &mut Understood<'_>,
        snapshot: &Arc<PolicySnapshot>,
        pins: Pins<'_>,
        now: Circumstances,
        trail: &mut Trail,
    ) -> Result<Allowed, Stop> {
        let session = pins.session;
        if kept::names_ours(understood) {
            return Err(kept::not_kept().into());
        }
        if self.brings_consent(understood, trail) {
            let counted = session.state().calls;
            Box::pin(self.consented(session, understood, snapshot, trail)).await?;
            // An answer is recorded first, and others may go on meanwhile. Of a task it is the count of
            // the call that began it.
            let scene = &mut understood.identified.scene;
            if scene.calls == counted {
                scene.calls = session.state().calls;
            }
        }
        trail.shadowed(shadow::shadow(understood, snapshot, pins, now));
        let held = Arc::clone(&understood.identified.scene.held);
        trail.raised(&held, &held);
        let judged = Judged::of(self, understood, snapshot, pins, now, trail);
        // What is refused needs no server, and nobody is asked about what goes nowhere.
        if matches!(judged, Ok(_) | Err(Stop::Ask(_))) {
            self.within_its_era(understood, session)?;
        }
        let mut judged =
            judged.map_err(|stop| for_want_of_room(stop, understood, snapshot, pins, now))?;
        if understood.identified.from == Side::Agent {
            let again = |understood: &mut Understood<'_>, trail: &mut Trail| {
                Judged::of(self, understood, snapshot, pins, now, trail)
            };
            let raising = self.raise_as_judged(understood, session, judged, trail, again);
            judged = raising.await?;
        }
        trail.allowed(&judged.allowed);
        trail.found(judged.findings);
        trail.offered = schemas::offered(&understood.target, session, &self.terms(snapshot).guards);
        Ok(judged.allowed)
    }

    /// Raises what the session has read by what a request of its agent's brings. One that was overtaken is
    /// judged again by what was read before it, and raises by what that obliges to.
    pub(super) async fn raise_as_judged<'m>(
        &self,
        understood: &mut Understood<'m>,
        session: &Session,
        mut judged: Judged,
        trail: &mut Trail,
        mut again: impl FnMut(&mut Understood<'m>, &mut Trail) -> Result<Judged, Stop>,
    ) -> Result<Judged, Stop> {
        let mut expected = Arc::clone(&understood.identified.scene.held);
        for _ in 0..MOST_JUDGED {
            let counted = session.state().calls;
            let raised = self.ratchet.raise(session, &judged.brings).await;
            let Raised { before, after } = raised.map_err(Rejection::from)?;
            trail.raised(&before, &after);
            isolate::found(session, after.level);
            trail.brings = Arc::new(judged.brings.clone());
            // INVARIANT: nothing is awaited from here to `route`, which counts calls. Where the
            // store took its time, another call may have been counted.
            let calls = session.state().calls;
            let is_overtaken = *before != *expected;
            if !is_overtaken && calls == counted {
                return Ok(judged);
            }
            let scene = &mut understood.identified.scene;
            if is_overtaken {
                scene.held = before;
            }
            // Of a task it is the count of the call that began it.
            if scene.calls == counted {
                scene.calls = calls;
            }
            judged = again(understood, trail)?;
            // Judged otherwise, it may be obliged to raise more than was raised for it.
            if after.covers(&judged.brings) {
                return Ok(judged);
            }
            expected = after;
        }
        Err(Rejection::from(StoreFault::new("it rises again and again")).into())
    }

    /// Raises what the session of whoever gets a message has read by what was found in it.
    pub(super) async fn learn(
        &self,
        understood: &Understood<'_>,
        session: &Session,
        brings: &SessionSensitivity,
        trail: &mut Trail,
    ) -> Result<(), Stop> {
        if understood.identified.from == Side::Agent || brings.is_nothing() {
            return Ok(());
        }
        let raised = self.ratchet.raise(session, brings).await;
        let Raised { before, after } = raised.map_err(Rejection::from)?;
        trail.raised(&before, &after);
        isolate::found(session, after.level);
        Ok(())
    }
}

/// Why a request is denied whose session has no place among those that are kept: for that alone, if it would
/// pass by what it is known to have read.
fn for_want_of_room(
    stop: Stop,
    understood: &mut Understood<'_>,
    snapshot: &Arc<PolicySnapshot>,
    pins: Pins<'_>,
    now: Circumstances,
) -> Stop {
    let scene = &mut understood.identified.scene;
    if scene.kept.room == Room::Left || stop.rejection().and_then(Rejection::open_denial).is_none()
    {
        return stop;
    }
    let own = Arc::clone(&pins.session.state().held);
    let counted = std::mem::replace(&mut scene.held, own);
    let known = permit::decide(understood, snapshot, pins, now);
    understood.identified.scene.held = counted;
    match known {
        Ok(_) => Rejection::no_room().into(),
        Err(_) => stop,
    }
}

/// How often a request is judged again, at most, because it is overtaken.
const MOST_JUDGED: usize = 4;

/// What policies and guards say of a message.
pub(super) struct Judged {
    pub(super) allowed: Allowed,
    pub(super) findings: Vec<Finding>,
    pub(super) brings: SessionSensitivity,
}

impl Judged {
    fn of(
        gate: &Gate,
        understood: &mut Understood<'_>,
        snapshot: &Arc<PolicySnapshot>,
        pins: Pins<'_>,
        now: Circumstances,
        trail: &mut Trail,
    ) -> Result<Self, Stop> {
        let decided = permit::decide(understood, snapshot, pins, now);
        let allowed = gate.lifted(decided, understood, snapshot, pins, now, trail)?;
        let findings = gate.guard(understood, &allowed, pins.session, snapshot)?;
        let brings = brings(understood, snapshot, now).join(&obliged(&allowed));
        Ok(Self {
            allowed,
            findings,
            brings,
        })
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

/// A level as the audit calls it.
pub(super) fn told(held: &SessionSensitivity) -> audit::Level {
    match held.level {
        ..=0 => audit::Level::Public,
        1 => audit::Level::Internal,
        2 => audit::Level::Confidential,
        MAX_LEVEL.. => audit::Level::Secret,
    }
}
