//! From questions to a permit. The only file that can make one.

use std::sync::Arc;

use crate::audit::Redactor;
use crate::policy::ListFacts;
use crate::policy::PolicySnapshot;
use crate::policy::{Action, Facts};
use crate::policy::{AllowDecision, Decision, Denial, DenialCause};
use crate::policy::{Principal, Resource, Tool, UseTime};
use crate::session::{Offer, Session};
use crate::wire::{ArrivalForm, Edits, Side, Stream};

use super::canonical::{self};
use super::classified::{Role, Scene};
use super::consent::Asking;
use super::extensions;
use super::faults::UpstreamFault;
use super::names::Readers;
use super::outside::Outside;
use super::own::OwnMessage;
use super::passage::{Carried, Passage};
use super::pin::Pins;
use super::query::Respelled;
use super::query::{Circumstances, Question, Understood};
use super::rejection::Rejection;

/// A message that policy lets through, before its obligations were carried out.
#[derive(Debug)]
pub(super) struct Allowed {
    pub(super) allowances: Vec<AllowDecision>,
    /// What is to stand in place of paths and URIs.
    pub(super) respelled: Respelled,
    to: Side,
}

/// The right of one message to leave the gate, in either direction, as it was judged.
///
/// Nothing outside this file can make one:
///
/// ```compile_fail
/// use mcp_protector::{gate::Permit, wire::Side};
/// let forged = Permit { to: Side::Upstream, line: String::from("{}"), passage: todo!() };
/// ```
#[derive(Debug)]
pub struct Permit {
    to: Side,
    line: String,
    passage: Passage,
}

/// Why there is no decision that lets a message pass now.
#[derive(Debug)]
pub(super) enum Stop {
    Refused(Rejection),
    /// Whether the tool exists is not known yet: the call waits for the catalogue.
    Park,
    /// The agent's model works for the server: the call waits until it is done.
    Hold,
    /// A person can lift what forbids it: it waits for an answer.
    Ask(Box<Asking>),
    /// Its session goes on with another server: what was said of it by what the first one offers
    /// counts for nothing there.
    Elsewhere,
    /// Whoever waits for an answer has got it.
    Settled,
    /// There is nobody left to answer.
    AgentGone,
}

impl<R: Into<Rejection>> From<R> for Stop {
    fn from(refusal: R) -> Self {
        Self::Refused(refusal.into())
    }
}

impl Stop {
    /// Why the message is rejected, if it is.
    pub(super) fn rejection(&self) -> Option<&Rejection> {
        match self {
            Self::Refused(rejection) => Some(rejection),
            Self::Park
            | Self::Hold
            | Self::Ask(_)
            | Self::Elsewhere
            | Self::Settled
            | Self::AgentGone => None,
        }
    }
}

impl Permit {
    /// Whom the message may be sent to.
    pub fn to(&self) -> Side {
        self.to
    }

    /// What whoever carries the message must know of it.
    pub fn passage(&self) -> &Passage {
        &self.passage
    }

    pub fn line(&self) -> &str {
        &self.line
    }

    /// The message: one compact line without its line end.
    pub fn into_line(self) -> String {
        self.line
    }

    /// The same right for the same side, in the words of another revision.
    ///
    /// INVARIANT: only `src/bridge/` calls this, with what it made of [`Permit::line`] by edits and
    /// out of pieces, for the stream that the message was permitted to.
    #[must_use]
    pub fn translated(&self, line: String, carried: Carried) -> Self {
        self.translated_for(self.passage.stream, line, carried)
    }

    /// The same for a reply, in the form in which the server gave it.
    ///
    /// INVARIANT: as above.
    #[must_use]
    pub fn answering(&self, line: String, error: Option<i64>) -> Self {
        let form = match self.passage.carried {
            Carried::Reply { form, .. } => form,
            Carried::Request { .. } | Carried::Notification { .. } => ArrivalForm::Whole,
        };
        self.translated(line, Carried::Reply { error, form })
    }

    /// The same for another stream of the same agent's: one that waits for what was asked for it.
    ///
    /// INVARIANT: as above.
    #[must_use]
    pub fn translated_for(&self, stream: Stream, line: String, carried: Carried) -> Self {
        Self {
            to: self.to,
            line,
            passage: Passage {
                stream,
                carried,
                trace: self.passage.trace.clone(),
            },
        }
    }

    /// What the gate says of itself needs no policy: it is one of a closed set.
    /// It may quote a peer, so it is searched for secrets like everything that leaves; what stands
    /// in their place is plain text, within the same quotes.
    pub(super) fn own(to: Side, stream: Stream, message: OwnMessage, secrets: &Redactor) -> Self {
        let (text, carried) = message.into_parts();
        let line = secrets.redact(&text).into_owned();
        let passage = Passage {
            stream,
            carried,
            trace: None,
        };
        Self { to, line, passage }
    }
}

impl Allowed {
    /// Whose message it is.
    pub(super) fn from(&self) -> Side {
        match self.to {
            Side::Agent => Side::Upstream,
            Side::Upstream => Side::Agent,
        }
    }

    /// The message as it will be sent.
    pub(super) fn seal(self, edits: Edits<'_>, mut passage: Passage) -> Permit {
        if let Some(uri) = self.respelled.get("/params/uri") {
            // A header repeats it.
            passage.carried.rename(uri);
        }
        Permit {
            to: self.to,
            line: edits.finish(),
            passage,
        }
    }
}

/// Asks policy every question of a message; all of them must be allowed.
pub(super) fn decide(
    understood: &Understood<'_>,
    snapshot: &PolicySnapshot,
    pins: Pins<'_>,
    now: Circumstances,
) -> Result<Allowed, Stop> {
    let scene = &understood.identified.scene;
    let readers = Readers {
        snapshot,
        pins,
        scene,
        now,
    };
    let mut allowances = Vec::with_capacity(understood.questions.len());
    for question in &understood.questions {
        match snapshot.judge(&question.facts(scene, now)) {
            Decision::Allow(allowance) => allowances.push(allowance),
            Decision::Deny(denial) => {
                return Err(denied(understood, question, denial, readers));
            }
        }
    }
    if let Some(name) = understood.called_tool() {
        // A call that is permitted could still be of a tool that may not be listed.
        if !listed(&pins.tool(name, snapshot), scene, snapshot, now) {
            // It could be called, and must not be listed.
            return Err(Rejection::unknown_tool(name, "not_listed").into());
        }
        exists(name, pins.session)?;
        if let Some(misleading) = readers.misled(name) {
            return Err(Rejection::unknown_tool(name, misleading.code()).into());
        }
    }
    canonical::bounded(understood, snapshot)?;
    let paths = canonical::due(understood, snapshot, &allowances)?;
    if !paths.is_empty() {
        let params = understood.identified.message.params();
        let arguments = params.and_then(|params| params.get("arguments"));
        let asked = understood.questions.iter();
        for question in asked.filter_map(|it| canonical::asked_again(it, arguments, &paths)) {
            match snapshot.judge(&question.facts(scene, now)) {
                Decision::Allow(allowance) => allowances.push(allowance),
                Decision::Deny(denial) => {
                    return Err(denied(understood, &question, denial, readers));
                }
            }
        }
    }
    let to = match understood.identified.from {
        Side::Agent => Side::Upstream,
        Side::Upstream => Side::Agent,
    };
    let uris = canonical::due_uris(understood, &allowances)?;
    let asked = understood.questions.iter();
    for question in asked.filter_map(|it| extensions::asked_again(it, &uris)) {
        match snapshot.judge(&question.facts(scene, now)) {
            Decision::Allow(allowance) => allowances.push(allowance),
            Decision::Deny(denial) => return Err(denied(understood, &question, denial, readers)),
        }
    }
    Ok(Allowed {
        respelled: canonical::respelled(&paths, uris),
        allowances,
        to,
    })
}

/// Which tools, prompts or resources the agent could use.
fn visible(
    snapshot: &PolicySnapshot,
    scene: &Scene,
    now: Circumstances,
    uses: UseTime,
    items: &[Resource<'_>],
) -> Vec<bool> {
    let principal = Principal::Agent(&scene.agent);
    snapshot.visible(
        &ListFacts {
            principal,
            env: now.environment(scene),
            uses,
        },
        items,
    )
}

/// The same, asking policies only what is not known already.
pub(super) fn visible_in(
    session: &Session,
    snapshot: &PolicySnapshot,
    scene: &Scene,
    now: Circumstances,
    items: &[Resource<'_>],
) -> Vec<bool> {
    let env = now.environment(scene);
    let (generation, known) =
        session
            .state()
            .visibilities
            .known(snapshot, &scene.agent, &env, items);
    let unknown = items
        .iter()
        .zip(&known)
        .filter(|(_, known)| known.is_none());
    let unknown: Vec<Resource<'_>> = unknown.map(|(item, _)| *item).collect();
    let mut shown = Vec::new();
    if !unknown.is_empty() {
        shown = visible(snapshot, scene, now, UseTime::Now, &unknown);
        session
            .state()
            .visibilities
            .keep(generation, &unknown, &shown);
    }
    let mut shown = shown.into_iter();
    // An answer too few hides what it does not speak of.
    known
        .into_iter()
        .map(|known| known.or_else(|| shown.next()).unwrap_or(false))
        .collect()
}

/// A tool that the agent cannot see is answered as one that does not exist, and the answer for a
/// visible one must not come before it is known that the tool exists.
fn denied(
    understood: &Understood<'_>,
    question: &Question<'_>,
    denial: Denial,
    readers: Readers<'_>,
) -> Stop {
    let Readers {
        snapshot,
        pins,
        scene,
        now,
    } = readers;
    let Some(name) = understood.called_tool() else {
        return Rejection::denied(denial).into();
    };
    let tool = [Resource::Tool(&pins.tool(name, snapshot))];
    // What only this session may not call is there: its agent is told why.
    if visible(snapshot, scene, now, UseTime::Ever, &tool) != [true] {
        return Rejection::hidden(name, denial).into();
    }
    match exists(name, pins.session) {
        // What the agent cannot see is answered as everything that it cannot see.
        Ok(()) if readers.misled(name).is_some() => Rejection::hidden(name, denial).into(),
        Ok(()) => {
            let outside = Outside::of(understood, question, &denial, snapshot, scene, now);
            let denied = Rejection::denied(denial);
            match outside {
                Some(outside) => outside.explains(denied),
                None => denied,
            }
            .into()
        }
        Err(stop) => stop,
    }
}

/// Whether a list would show a tool that some call is permitted of: unless a policy forbids to list
/// it. This very call proves the rest, at a fraction of the cost of [`sees`].
pub(super) fn listed(
    tool: &Tool,
    scene: &Scene,
    snapshot: &PolicySnapshot,
    now: Circumstances,
) -> bool {
    let decision = snapshot.judge(&Facts {
        principal: Principal::Agent(&scene.agent),
        action: Action::ListTool,
        resource: Resource::Tool(tool),
        env: now.environment(scene),
    });
    match decision {
        Decision::Allow(_) => true,
        Decision::Deny(denial) => denial.cause == DenialCause::NotPermitted,
    }
}

/// Whether the agent is shown the tool, if there is one of its name.
pub(super) fn sees(
    tool: &Tool,
    scene: &Scene,
    snapshot: &PolicySnapshot,
    now: Circumstances,
) -> bool {
    visible(snapshot, scene, now, UseTime::Now, &[Resource::Tool(tool)]) == [true]
}

fn exists(name: &str, session: &Session) -> Result<(), Stop> {
    match session.state().tools.offers(name) {
        Offer::Offered => Ok(()),
        Offer::NotOffered => Err(Rejection::unknown_tool(name, "unknown_tool").into()),
        Offer::Unknown => Err(Stop::Park),
        Offer::Unlisted => Err(UpstreamFault::Unlisted.into()),
    }
}

/// The snapshot that judges a message: the reply to a request is judged under the revision that
/// admitted the request.
pub(super) fn revision(role: &Role, current: Arc<PolicySnapshot>) -> Arc<PolicySnapshot> {
    match role {
        Role::Request { .. } | Role::Notification { .. } => current,
        Role::Reply(taken) => Arc::clone(&taken.exchange.snapshot),
    }
}
