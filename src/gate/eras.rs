//! Which servers take requests that belong to no session, as they say it themselves (MCP 2026-07-28,
//! `server/discover`). One that does not say so is sent nothing of that era: some would do what they
//! are asked to without any handshake, under rules that nobody agreed on.
//!
//! What an agent asks is not believed for others where the answer is a refusal: what it sent may be
//! why. Then the gate asks itself.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::audit::Finding;
use crate::clock::Clock;
use crate::mcp::revisions::FIRST_STATELESS;
use crate::session::{
    Instance, Lifecycle, Origin, OutOfOrder, PerInstance, Probe, Session, State, Taken, Waits,
};
use crate::wire::{KnownMethod, Message, Outcome, Shape, Side, Value};

use super::classified::Role;
use super::context::RequestContext;
use super::faults::UpstreamFault;
use super::filter::{Filter, Flow, Hook, Step};
use super::lack::{How, Lack, needs_session};
use super::permit::Allowed;
use super::query::Understood;
use super::record::Trail;
use super::rejection::{HEADER_MISMATCH, MISSING_CAPABILITY, Rejection, UNSUPPORTED_VERSION};
use super::settings::Eras;
use super::stop::Stop;

/// How long a server is believed that it needs no sessions.
const BELIEVED: Duration = Duration::from_mins(10);

/// How long one is believed that it does: whoever waits for a newer one need not wait long.
const LACK_BELIEVED: Duration = Duration::from_mins(1);

/// Revisions of a server that are told.
const MOST_NAMED: usize = 16;

/// MCP 2026-07-28, basic/versioning: errors that only servers of that era give. The first one names
/// revisions.
const OF_THE_ERA: [i64; 2] = [MISSING_CAPABILITY, HEADER_MISMATCH];

/// What the servers of one gate have said, of whatever conversation.
#[derive(Debug)]
pub(super) struct Known {
    asked: Eras,
    clock: Arc<dyn Clock>,
    beliefs: PerInstance<Mutex<Option<Belief>>>,
}

#[derive(Debug)]
pub(super) struct Belief {
    says: Says,
    /// The revisions that it named then.
    pub(super) named: Vec<String>,
    /// When it said so: time since the clock was made.
    since: Duration,
    /// How long that is believed, by the same clock.
    pub(super) until: Duration,
}

/// What a server says of requests that belong to no session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Says {
    Takes,
    Lacks(Arc<Lack>),
}

/// Checks that the server speaks the revision of a message.
#[derive(Debug)]
pub(super) struct EraFilter(pub(super) Arc<Known>);

impl Filter for EraFilter {
    fn check(&self, cx: &RequestContext<'_>, _: Option<&Message>) -> Result<Vec<Finding>, Stop> {
        self.0.within_its_era(&cx.understood, cx.session)?;
        Ok(Vec::new())
    }

    /// What a reply says of the server's revisions counts once policy has allowed the reply.
    fn on_allowed<'f>(&'f self, cx: &'f mut RequestContext<'_>, _: &'f Allowed) -> Hook<'f, Step> {
        if let Role::Reply(taken) = &cx.understood.identified.role {
            self.0
                .hear(cx.session, taken, cx.understood.identified.message)?;
        }
        Flow::CONTINUE
    }
}

/// What a request waits for.
#[derive(Debug)]
pub(super) enum Awaited {
    /// The list of tools.
    Catalogue,
    /// What the server says of this revision.
    Era(Arc<str>),
}

/// Whether an answer without a message tells something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Something,
    Nothing,
}

impl Known {
    pub(super) fn new(asked: Eras, clock: Arc<dyn Clock>) -> Self {
        Self {
            asked,
            clock,
            beliefs: PerInstance::default(),
        }
    }

    pub(super) fn of(&self, instance: Instance) -> MutexGuard<'_, Option<Belief>> {
        let belief = self.beliefs.of(instance);
        belief.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn believed(&self, instance: Instance) -> Option<Says> {
        let now = self.clock.elapsed();
        let belief = self.of(instance);
        let belief = belief.as_ref().filter(|belief| now < belief.until);
        belief.map(|belief| belief.says.clone())
    }

    pub(super) fn note(&self, instance: Instance, (says, named): (Says, Vec<String>)) {
        let now = self.clock.elapsed();
        let lasts = match says {
            Says::Takes => BELIEVED,
            Says::Lacks(_) => LACK_BELIEVED,
        };
        let until = now.saturating_add(lasts);
        let before = self.of(instance).replace(Belief {
            says: says.clone(),
            named,
            since: now,
            until,
        });
        if let Says::Lacks(lack) = says
            && before.is_none_or(|before| before.says == Says::Takes)
        {
            tracing::warn!(
                "the server speaks no revision without sessions ({lack}): without the bridge, agents have to \
                 begin with `initialize`"
            );
        }
    }

    /// A server that takes such requests says what one of sessions would say: it may have been replaced.
    /// So it is asked again, but once a minute at most, since it may as well have meant the request.
    fn doubt(&self, instance: Instance) {
        if let Some(belief) = self.of(instance).as_mut()
            && belief.says == Says::Takes
        {
            let soon = belief.since.saturating_add(LACK_BELIEVED);
            belief.until = belief.until.min(soon);
        }
    }

    /// Another process may be another server.
    pub(super) fn forget(&self, instance: Instance) {
        *self.of(instance) = None;
    }
}

impl Known {
    /// Whether a judged message may go on, as far as the eras of its two sides go.
    ///
    /// # Errors
    /// [`Stop::Park`] while it is not known; [`Rejection`] if the server needs a session.
    fn within_its_era(&self, understood: &Understood<'_>, session: &Session) -> Result<(), Stop> {
        let identified = &understood.identified;
        let version = &identified.scene.spoken.version;
        match &identified.role {
            Role::Request { method, .. } if identified.from == Side::Agent => {
                match self.says(session, *method, version)? {
                    Some(Says::Takes) => Ok(()),
                    Some(Says::Lacks(lack)) => Err(needs_session(*method, version, &lack).into()),
                    None => Err(Stop::Park),
                }
            }
            // It does what a call does, and nobody waits for it.
            Role::Notification {
                method: method @ KnownMethod::Extension(_),
            } if identified.from == Side::Agent => match self.says(session, *method, version)? {
                Some(Says::Takes) => Ok(()),
                Some(Says::Lacks(lack)) => Err(needs_session(*method, version, &lack).into()),
                None => Err(OutOfOrder::Undiscovered.into()),
            },
            Role::Request { .. } | Role::Notification { .. } | Role::Reply(_) => Ok(()),
        }
    }

    /// Takes in what a reply says of the server's revisions.
    ///
    /// # Errors
    /// [`Rejection`] if the server needs a session.
    fn hear(&self, session: &Session, taken: &Taken, message: &Message) -> Result<(), Rejection> {
        if self.concerns(session, taken) && sounds_old(message) {
            self.doubt(instance_of(session, taken));
        }
        self.discovered(session, taken, message)
    }

    /// What the server says of requests like this one; nothing if that is not known.
    ///
    /// # Errors
    /// [`UpstreamFault`] where it could not be asked.
    pub(super) fn says(
        &self,
        session: &Session,
        method: KnownMethod,
        version: &str,
    ) -> Result<Option<Says>, UpstreamFault> {
        let may_concern =
            self.asked == Eras::Asked && method != KnownMethod::Discover && is_stateless(version);
        if !may_concern {
            return Ok(Some(Says::Takes));
        }
        let state = session.state();
        if !matches!(state.protocol.lifecycle, Lifecycle::New) || has_agent_of_sessions(&state) {
            return Ok(Some(Says::Takes));
        }
        let known = self.believed(state.run().instance);
        match (&state.protocol.probe, known) {
            (_, Some(says)) => Ok(Some(says)),
            (Probe::Failed(why), None) => Err(UpstreamFault::undiscovered(why)),
            (Probe::Idle | Probe::Running, None) => Ok(None),
        }
    }

    /// What a request waits for that cannot go on yet.
    ///
    /// # Errors
    /// [`Rejection`] if the server needs a session, or could not be asked.
    pub(super) fn awaited(&self, session: &Session, trail: &Trail) -> Result<Awaited, Rejection> {
        let (Some(method), Some(version)) = (trail.envelope.method, &trail.carried.version) else {
            return Ok(Awaited::Catalogue);
        };
        match self.says(session, method, version)? {
            Some(Says::Takes) => Ok(Awaited::Catalogue),
            Some(Says::Lacks(lack)) => Err(needs_session(method, version, &lack)),
            None => Ok(Awaited::Era(Arc::clone(version))),
        }
    }

    /// Takes in what the server says to an agent that asks what it speaks.
    ///
    /// # Errors
    /// [`Rejection`] if the server needs a session.
    fn discovered(
        &self,
        session: &Session,
        taken: &Taken,
        message: &Message,
    ) -> Result<(), Rejection> {
        if !self.is_discovery(session, taken) {
            return Ok(());
        }
        let instance = instance_of(session, taken);
        match said(message) {
            Says::Takes => {
                self.note(instance, (Says::Takes, named(message)));
                Ok(())
            }
            Says::Lacks(lack) => self.lacks(instance, &taken.exchange.asks.spoken.version, &lack),
        }
    }

    /// What becomes of a request that the server did not answer with a message.
    pub(super) fn without_message(
        &self,
        session: &Session,
        taken: &Taken,
        fault: UpstreamFault,
    ) -> Rejection {
        if lack_of(&fault).is_some() && self.concerns(session, taken) {
            self.doubt(instance_of(session, taken));
        }
        match lack_of(&fault) {
            Some(lack) if self.is_discovery(session, taken) => {
                let instance = instance_of(session, taken);
                let version = &taken.exchange.asks.spoken.version;
                let refused = self.lacks(instance, version, &lack);
                refused.err().unwrap_or_else(|| fault.into())
            }
            Some(_) | None => fault.into(),
        }
    }

    fn lacks(&self, instance: Instance, version: &str, lack: &Lack) -> Result<(), Rejection> {
        // Of one that is known to speak it, the error is about the request.
        if self.believed(instance) == Some(Says::Takes) {
            return Ok(());
        }
        tracing::info!(
            "the server does not speak {version} ({lack}): an agent has to begin with `initialize`"
        );
        Err(needs_session(KnownMethod::Discover, version, lack))
    }

    /// Whether it is an agent's question what the server speaks; not a bridge's, which goes on with
    /// whatever comes of it.
    fn is_discovery(&self, session: &Session, taken: &Taken) -> bool {
        taken.exchange.method == KnownMethod::Discover && self.concerns(session, taken)
    }

    /// Whether it is a request of an agent's that belongs to no session.
    fn concerns(&self, session: &Session, taken: &Taken) -> bool {
        self.asked == Eras::Asked
            && matches!(taken.exchange.origin, Origin::Peer(_))
            && is_stateless(&taken.exchange.asks.spoken.version)
            && !has_agent_of_sessions(&session.state())
    }
}

/// Whether a bridge stands before an agent that has a session.
fn has_agent_of_sessions(state: &State) -> bool {
    let revision = state.protocol.bridged.as_deref();
    revision.is_some_and(|revision| !is_stateless(revision))
}

/// Which instance of the server replies.
fn instance_of(session: &Session, taken: &Taken) -> Instance {
    match taken.waits {
        Waits::Here => session.run().instance,
        Waits::Elsewhere(instance) => instance,
    }
}

/// Revisions are dates, so their order is that of text.
pub(super) fn is_stateless(version: &str) -> bool {
    version >= FIRST_STATELESS
}

/// What a reply to `server/discover` says.
pub(super) fn said(message: &Message) -> Says {
    let Shape::Reply { outcome, .. } = message.shape() else {
        return Says::Takes;
    };
    let (how, named) = match outcome {
        Outcome::Result => {
            let result = message.result();
            let named = result.and_then(|result| result.get("supportedVersions"));
            (How::Result, revisions(named))
        }
        Outcome::Error => {
            let error = message.error();
            let code = error.and_then(|error| error.get("code")?.as_i64());
            let code = code.unwrap_or_default();
            if OF_THE_ERA.contains(&code) {
                return Says::Takes;
            }
            let named = error.and_then(|error| error.at(&["data", "supported"]));
            let named = revisions(named.filter(|_| code == UNSUPPORTED_VERSION));
            // It is itself as clear as can be.
            if code == UNSUPPORTED_VERSION && named.is_empty() {
                return Says::Takes;
            }
            (How::Error(code), named)
        }
    };
    if named.iter().any(|version| is_stateless(version)) {
        return Says::Takes;
    }
    Says::Lacks(Arc::new(Lack { named, how }))
}

/// Whether a server that needs sessions could say this: an error of JSON-RPC's own that is not of the later
/// era, or a result that does not say what it is (`resultType`, which servers of that era have to write).
fn sounds_old(message: &Message) -> bool {
    if let Some(result) = message.result() {
        return result.get("resultType").is_none();
    }
    let code = message
        .error()
        .and_then(|error| error.get("code")?.as_i64());
    let is_plain = code.is_some_and(|code| RESERVED.contains(&code) && code != INTERNAL);
    is_plain && matches!(said(message), Says::Lacks(_))
}

/// JSON-RPC 2.0, section 5.1. That something failed inside the server says nothing of its era.
const RESERVED: std::ops::RangeInclusive<i64> = -32_768..=-32_000;
const INTERNAL: i64 = -32_603;

/// What looks like a revision; a server may name anything.
pub(super) fn revisions(named: Option<Value<'_>>) -> Vec<String> {
    let named = named.into_iter().flat_map(Value::items);
    let named = named.filter_map(|one| Some(one.as_str()?.into_owned()));
    named.filter(|one| is_date(one)).take(MOST_NAMED).collect()
}

fn is_date(text: &str) -> bool {
    let is_of_a_date = |byte: u8| byte.is_ascii_digit() || byte == b'-';
    text.len() == FIRST_STATELESS.len() && text.bytes().all(is_of_a_date)
}

/// MCP 2026-07-28, basic/versioning: whatever status of this kind comes without an error of the era,
/// it is no server of it. Those left out say nothing of the server's era.
pub(super) fn lack_of(fault: &UpstreamFault) -> Option<Arc<Lack>> {
    const OF_OTHER_THINGS: [u16; 5] = [401, 403, 407, 408, 429];
    let UpstreamFault::Status(status) = fault else {
        return None;
    };
    let says_so = (400..500).contains(status) && !OF_OTHER_THINGS.contains(status);
    says_so.then(|| {
        Arc::new(Lack {
            named: Vec::new(),
            how: How::Status(*status),
        })
    })
}

/// The revisions that a reply to `server/discover` names, and the gate knows.
pub(super) fn named(message: &Message) -> Vec<String> {
    let named = message
        .result()
        .and_then(|result| result.get("supportedVersions"));
    let mut named = revisions(named);
    named.retain(|one| crate::mcp::revisions::is_known(one));
    named
}
