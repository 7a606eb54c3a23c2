//! Which tasks began here, by whom, and with what.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::policy::{Consent, SessionSensitivity};
use crate::session::{Instance, Keep, Ledger, OverHttp, Run, Session, Taken, Task};
use crate::wire::{Document, KnownMethod, Limits, Side, Value, pointer_step};

use crate::gate::classified::{Identified, Role, Scene};
use crate::gate::digest::{Digest, digest};
use crate::gate::edits::Removal;
use crate::gate::query::{Asks, Understood};
use crate::gate::rejection::Rejection;
use crate::gate::tasks::said::{KEPT_FOR, MAX_PARAMS};

use super::said::{begins, lifetime, named, related};

/// How many requests may have begun tasks under one id. Servers do not repeat ids; of one that does,
/// all that an id may mean must be permitted.
const MAX_MEANINGS: usize = 4;

/// How many tasks one message may name.
const MAX_NAMED: usize = 64;

/// How many questions of one task are known.
const MAX_ASKED: usize = 256;

/// Tasks that began here, by who runs them and their ids.
#[derive(Debug, Default)]
pub(in crate::gate) struct Tasks(Ledger<Key, Handle>);

/// An id is known to one server only, or was given to one only.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    at: At,
    id: Digest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum At {
    /// A server may keep tasks longer than it runs, and over HTTP it is the same one for all sessions.
    Upstream(Instance),
    /// What a server asks of an agent it must ask itself, and not the one that is started after it.
    Agent(Run),
}

/// Which side works on a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runner {
    Agent,
    Upstream,
}

#[derive(Debug, Clone, Default)]
struct Handle {
    /// The requests that it may have begun with; none if they were too many, or of several principals.
    meanings: Vec<Arc<Begun>>,
    /// The keys under which there may be answers.
    asked: HashSet<Digest>,
    bytes: usize,
}

/// The request that a task began with.
#[derive(Debug, PartialEq, Eq)]
struct Begun {
    method: KnownMethod,
    params: Arc<str>,
    /// The calls of its session before it.
    calls: i64,
    /// What a person agreed to.
    consent: Option<Consent>,
    /// What its result brings into the session.
    brings: Arc<SessionSensitivity>,
}

/// What is remembered of the tasks that a message names.
#[derive(Debug, Default)]
pub(in crate::gate) struct Recalled {
    pub(in crate::gate) works: Vec<Work>,
    /// It names one that did not begin here, or is somebody else's.
    pub(in crate::gate) is_missing: bool,
}

/// A request as it was when a task began with it.
#[derive(Debug)]
pub(in crate::gate) struct Work {
    pub(in crate::gate) method: KnownMethod,
    pub(in crate::gate) asks: Asks,
    pub(in crate::gate) params: Document,
    pub(in crate::gate) calls: i64,
    pub(in crate::gate) consent: Option<Consent>,
    pub(in crate::gate) brings: Arc<SessionSensitivity>,
}

impl Tasks {
    /// What is remembered of the tasks that a message names.
    pub(in crate::gate) fn recall(
        &self,
        identified: &Identified<'_>,
        session: &Session,
        now: Duration,
    ) -> Recalled {
        let mut recalled = Recalled::default();
        let whose = Whose {
            scene: &identified.scene,
            session,
            now,
        };
        let ids = named(identified);
        // Each costs what its request cost, before anybody is asked.
        if ids.len() > MAX_NAMED {
            recalled.is_missing = true;
            return recalled;
        }
        for id in ids {
            let found = self.works(&whose, runner(identified), &id);
            recalled.is_missing |= found.is_empty();
            recalled.works.extend(found);
        }
        if let Some(related) = related(identified.message) {
            let runners = [Runner::Agent, Runner::Upstream];
            let handle = |runner| self.handle(&whose, runner, &related);
            let is_known = |runner| handle(runner).is_some_and(|it| !it.meanings.is_empty());
            let is_new = begins(identified).is_some_and(|id| id == related);
            recalled.is_missing |= !is_new && !runners.into_iter().any(is_known);
        }
        recalled
    }

    /// Remembers a task that a reply begins, or what one asks, when it is about to be delivered.
    pub(in crate::gate) fn note(
        &self,
        understood: &Understood<'_>,
        session: &Session,
        over_http: OverHttp,
        now: Duration,
    ) {
        let identified = &understood.identified;
        let whose = Whose {
            scene: &identified.scene,
            session,
            now,
        };
        if let (Role::Reply(taken), Some(id)) = (&identified.role, begins(identified)) {
            self.begin(&whose, taken, identified, &id);
            // Somebody else may have got it while this one was recorded. The later of two finds the
            // other, whichever that is.
            if whose.is_shared(identified, over_http) && self.is_disputed(&whose, &id) {
                self.keep(&whose, Runner::Upstream, &id, |known| {
                    let mut handle = known.unwrap_or_default();
                    handle.meanings.clear();
                    handle.with_room(whose.now.saturating_add(KEPT_FOR))
                });
            }
        }
        // What news ask is not judged, and does not pass.
        let told = match &identified.role {
            Role::Reply(taken) => taken
                .exchange
                .asks
                .task
                .id()
                .zip(identified.message.result()),
            Role::Notification { .. } | Role::Request { .. } => None,
        };
        let asked = told.and_then(|(id, told)| Some((id, told.get("inputRequests")?)));
        if let Some((id, asked)) = asked
            && identified.from == Side::Upstream
        {
            self.add_asked(&whose, &id, asked);
        }
    }

    /// Answers to a task of what it did not ask.
    pub(in crate::gate) fn unasked<'m>(
        &self,
        understood: &Understood<'m>,
        session: &Session,
        now: Duration,
    ) -> Vec<Removal<'m>> {
        let identified = &understood.identified;
        let params = identified.message.params();
        let answers = params.and_then(|params| params.get("inputResponses"));
        let whose = Whose {
            scene: &identified.scene,
            session,
            now,
        };
        let ids = named(identified);
        let handles = ids
            .iter()
            .filter_map(|id| self.handle(&whose, Runner::Upstream, id));
        let asked: HashSet<Digest> = handles.flat_map(|handle| handle.asked).collect();
        let answers = answers.into_iter().flat_map(Value::entries);
        let unasked = answers.filter(|(key, _)| !asked.contains(&digest(key.as_bytes())));
        let removal = |(key, item): (Cow<'m, str>, Value<'m>)| Removal {
            item,
            pointer: format!("/params/inputResponses/{}", pointer_step(&key)),
            because: "the task asked nothing of the kind".to_owned(),
        };
        unasked.map(removal).collect()
    }

    /// A request with which a task in a list began, if it began here.
    pub(in crate::gate) fn listed(
        &self,
        understood: &Understood<'_>,
        session: &Session,
        now: Duration,
        id: &str,
    ) -> Vec<Work> {
        let identified = &understood.identified;
        let whose = Whose {
            scene: &identified.scene,
            session,
            now,
        };
        let runner = match identified.from {
            Side::Agent => Runner::Agent,
            Side::Upstream => Runner::Upstream,
        };
        self.works(&whose, runner, id)
    }

    /// Whether a reply begins a task by an id that its server has given to somebody else. Nobody can
    /// tell by then whose task it is, so that it is good for nobody: a server that counts its tasks
    /// begins anew when it is started again.
    ///
    /// A server that each session has for itself may give what ids it likes.
    ///
    /// # Errors
    /// Where it does it is no valid reply.
    pub(in crate::gate) fn are_apart(
        &self,
        understood: &Understood<'_>,
        session: &Session,
        over_http: OverHttp,
        now: Duration,
    ) -> Result<(), Rejection> {
        let identified = &understood.identified;
        let whose = Whose {
            scene: &identified.scene,
            session,
            now,
        };
        let Some(id) = begins(identified).filter(|_| whose.is_shared(identified, over_http)) else {
            return Ok(());
        };
        if self.is_disputed(&whose, &id) {
            return Err(Rejection::bad_reply(
                "the id of its task is that of another principal's",
            ));
        }
        Ok(())
    }

    /// Whether others have the same id of the same server. Then they have it no more.
    fn is_disputed(&self, whose: &Whose<'_>, id: &str) -> bool {
        let owner = whose.owner(Runner::Upstream);
        let key = whose.key(Runner::Upstream, id);
        let change = |handle: &mut Handle| handle.meanings.clear();
        self.0.change_of_others(owner, &key, whose.now, change)
    }

    /// The session is over, and the server that asked the agent for something with it.
    pub(in crate::gate) fn forget(&self, session: &Session) {
        self.0.forget(session.id.as_str());
    }

    fn begin(&self, whose: &Whose<'_>, taken: &Taken, identified: &Identified<'_>, id: &str) {
        let Task::MayBegin { params, calls } = &taken.exchange.asks.task else {
            return;
        };
        let runner = match identified.from {
            Side::Agent => Runner::Agent,
            Side::Upstream => Runner::Upstream,
        };
        let begun = Arc::new(Begun {
            method: taken.exchange.method,
            params: Arc::clone(params),
            calls: *calls,
            consent: taken
                .exchange
                .admission
                .agreed
                .as_ref()
                .map(|it| it.consent.clone()),
            brings: Arc::clone(&taken.exchange.admission.brings),
        });
        let until = whose.now.saturating_add(lifetime(identified.message));
        let make = |known: Option<Handle>| {
            let mut handle = known.unwrap_or_default();
            // One that has had too many meanings has none any more.
            if handle.bytes == 0 || !handle.meanings.is_empty() {
                handle.meanings.push(begun);
            }
            if handle.meanings.len() > MAX_MEANINGS {
                handle.meanings.clear();
            }
            handle.with_room(until)
        };
        self.keep(whose, runner, id, make);
    }

    fn add_asked(&self, whose: &Whose<'_>, id: &str, asked: Value<'_>) {
        if self.handle(whose, Runner::Upstream, id).is_none() {
            return;
        }
        let until = whose.now.saturating_add(KEPT_FOR);
        let make = |known: Option<Handle>| {
            let mut handle = known.unwrap_or_default();
            let asked = asked.entries().map(|(key, _)| digest(key.as_bytes()));
            let room = MAX_ASKED.saturating_sub(handle.asked.len());
            handle.asked.extend(asked.take(room));
            handle.with_room(until)
        };
        self.keep(whose, Runner::Upstream, id, make);
    }

    fn keep(
        &self,
        whose: &Whose<'_>,
        runner: Runner,
        id: &str,
        make: impl FnOnce(Option<Handle>) -> (Handle, Keep),
    ) {
        let key = whose.key(runner, id);
        // INVARIANT: what a handle takes is bounded by the constants above, below what is too large.
        let _ = self.0.note(whose.owner(runner), key, whose.now, make);
    }

    fn handle(&self, whose: &Whose<'_>, runner: Runner, id: &str) -> Option<Handle> {
        let key = whose.key(runner, id);
        self.0.get(whose.owner(runner), &key, whose.now)
    }

    /// Empty if it is not known.
    fn works(&self, whose: &Whose<'_>, runner: Runner, id: &str) -> Vec<Work> {
        let handle = self.handle(whose, runner, id).unwrap_or_default();
        let asks = match runner {
            Runner::Upstream => Asks::Agent,
            Runner::Agent => Asks::Server,
        };
        let works = handle.meanings.iter().map(|begun| {
            let limits = Limits {
                max_bytes: MAX_PARAMS,
                ..Limits::default()
            };
            let params = Document::decode(begun.params.as_bytes(), &limits).ok()?;
            Some(Work {
                method: begun.method,
                asks,
                params,
                calls: begun.calls,
                consent: begun.consent.clone(),
                brings: Arc::clone(&begun.brings),
            })
        });
        // All that it may mean, or nothing.
        works.collect::<Option<Vec<Work>>>().unwrap_or_default()
    }
}

impl Handle {
    fn with_room(mut self, until: Duration) -> (Self, Keep) {
        let params = self.meanings.iter().map(|begun| begun.params.len());
        self.bytes = params.sum::<usize>() + self.asked.len() * size_of::<Digest>() + 1;
        let bytes = self.bytes;
        (self, Keep { until, bytes })
    }
}

/// Whose tasks are meant.
struct Whose<'s> {
    scene: &'s Scene,
    session: &'s Session,
    now: Duration,
}

impl Whose<'_> {
    /// An agent may come back for its task in another conversation. What a server asked of an agent
    /// ends with the one that they have.
    fn owner(&self, runner: Runner) -> &str {
        match runner {
            Runner::Upstream => &self.scene.agent.id,
            Runner::Agent => self.session.id.as_str(),
        }
    }

    fn key(&self, runner: Runner, id: &str) -> Key {
        let run = self.scene.run;
        let at = match runner {
            Runner::Upstream => At::Upstream(run.instance),
            Runner::Agent => At::Agent(run),
        };
        let id = digest(id.as_bytes());
        Key { at, id }
    }

    /// Whether the one that a message comes of is the server of others as well.
    fn is_shared(&self, identified: &Identified<'_>, over_http: OverHttp) -> bool {
        identified.from == Side::Upstream && *over_http.of(self.scene.run.instance)
    }
}

/// Who runs the tasks that a request or a notification names: whoever is asked, or tells.
fn runner(identified: &Identified<'_>) -> Runner {
    match (identified.from, identified.is_request()) {
        (Side::Agent, true) | (Side::Upstream, false) => Runner::Upstream,
        (Side::Upstream, true) | (Side::Agent, false) => Runner::Agent,
    }
}
