//! Messages through the gate itself: decoded, identified, understood, decided and obliged by the
//! code that runs in production, between two ends in this process.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use crate::audit::{Audit, Direction, Kind, MemoryRecords, Record};
use crate::clock::Clock as _;
use crate::consent::{Answer, By};
use crate::gate::{self, Gate, Talk};
use crate::policy::{Consent, Host};
use crate::session::{Established, InMemory, Session, SessionId, Whose};
use crate::wire::{DiscardReason, Fragment, KnownMethod, Message, Side, Stream};

use super::actual::{ActualOutcome, InvalidRun, RejectedPart};
use super::changed_definitions::ChangedDefinition;
use super::clock::MovedClock;
use super::endpoints::End;
use super::fixture::{
    ConsentAnswer, ConsentSource, PersonReply, Plan, ScriptedReply, Sends, Test, TestStep,
};
use super::fixture_words::{ListKind, ServerInstance};
use super::lines;
use super::listing::{self, ListingFacts};
use super::shared_session::{SharedSession, TESTER};
use super::suite_context::SuiteContext;

/// What became of one message of a test, and of what was answered to it.
#[derive(Debug)]
pub(super) struct MessageOutcome {
    pub(super) message: Result<ActualOutcome, InvalidRun>,
    /// Absent where nothing was answered.
    pub(super) answer: Option<Result<ActualOutcome, InvalidRun>>,
}

impl MessageOutcome {
    /// Of a message that nothing was answered to.
    pub(super) fn of(message: Result<ActualOutcome, InvalidRun>) -> Self {
        Self {
            message,
            answer: None,
        }
    }
}

/// One agent and one upstream, for one test.
pub(super) struct TestSession<'s> {
    pub(super) bench: &'s SuiteContext<'s>,
    test: &'s Test,
    pub(super) gate: Gate,
    pub(super) talk: Talk<End, End>,
    kept: MemoryRecords,
    shared: Arc<SharedSession>,
    /// Of this server's definitions.
    changed: ChangedDefinition,
    /// What they say to what comes next.
    says: Cell<PersonReply>,
    /// The session has begun, or the first sender needs none.
    begun: Cell<bool>,
    /// The upstream's list of tools, as far as the test needs it.
    pub(super) tools: Fragment,
}

impl<'s> TestSession<'s> {
    /// A session of the test's agent with an upstream that offers these tools.
    pub(super) fn begin(
        bench: &'s SuiteContext<'s>,
        test: &'s Test,
        tools: &[String],
        shared: Arc<SharedSession>,
    ) -> Self {
        let (audit, kept) = Audit::keeping();
        let clock = &shared.clock;
        let policies = Arc::clone(&bench.policies);
        let mut settings = bench.settings.clone();
        if let Some(links) = &test.start.links {
            let symlinks = &mut settings.terms.guards.symlinks;
            *symlinks = symlinks.on(gate::Disk::Stated(Arc::clone(links)));
        }
        settings.extensions = settings.extensions.with(bench.extensions);
        let gate = Gate::new(policies, audit, Arc::<MovedClock>::clone(clock), settings);
        let gate = gate.remembering(Arc::<InMemory>::clone(&shared.store));
        let gate = gate.sharing_evidence(Arc::clone(&shared.evidence));
        let gate = match &shared.desk {
            Some(desk) => gate.asking(Arc::clone(desk)),
            None => gate,
        };
        let started = before(test.now.as_millisecond(), test.start.age);
        let id = SessionId::from_random(0);
        let session = Session::new(id, lines::TRANSPORT, bench.server.clone(), started);
        let session = session.reading_as(Whose::Common(shared.key.clone()));
        {
            let mut state = session.state();
            state.parties.agent = Arc::new(test.agent.clone());
            state.security.calls = test.start.calls;
        }
        let changed = test.changed.of_server(bench.server.key.as_ref());
        let conversation = Self {
            bench,
            test,
            gate,
            talk: Talk::new(session, End::default(), End::default()),
            kept,
            shared,
            says: Cell::new(PersonReply::Nothing),
            begun: Cell::new(false),
            tools: bench.catalogue.of_calls(tools.iter(), &changed),
            changed,
        };
        conversation.establish(None);
        conversation
    }

    pub(super) async fn step(&self, step: &TestStep) -> MessageOutcome {
        self.shared.clock.advance(step.after);
        // What was read at another server may be too much for this one.
        if self.begun.get() && self.may_move() {
            self.follow().await;
        }
        self.clear();
        self.establish(step.consent.as_ref());
        let (message, id) = match &step.sends {
            Sends::Frame { from, frame } => self.frame(*from, frame).await,
            Sends::List(list) => (Box::pin(self.list(*list)).await, None),
            Sends::Connect(host) => (Box::pin(self.connect(host)).await, None),
            Sends::Unrouted { reason, text, .. } => {
                (Ok(ActualOutcome::unrouted(reason, text)), None)
            }
        };
        let mut came = MessageOutcome::of(message);
        let asked = step.reply.is_some() || step.received.is_some();
        let conversing = matches!(self.test.plan, Plan::Conversation(_));
        if let (Some(asked_of), true) = (id, asked || conversing) {
            let reply = step.reply.clone();
            let reply = reply.unwrap_or_else(|| self.reply_by_itself(&asked_of));
            came.answer = Some(self.reply(&asked_of, &reply).await.0);
        }
        came
    }

    /// What earlier messages left behind is no part of the next one.
    pub(super) fn clear(&self) {
        self.kept.take();
        self.talk.upstream.take();
        self.talk.agent.take();
    }

    /// What a human has answered by now.
    fn establish(&self, consented: Option<&ConsentSource>) {
        let start = &self.test.start;
        let now = self.shared.clock.now().as_millisecond();
        let began = self.test.now.as_millisecond();
        let mut says = PersonReply::Nothing;
        let consent = match (consented, &start.consent) {
            (Some(ConsentSource::Fact(answered)), _) => consent(answered, now),
            (None, Some(ConsentSource::Fact(answered))) => consent(answered, began),
            (Some(ConsentSource::Asked(said)), _) | (None, Some(ConsentSource::Asked(said))) => {
                says = *said;
                Consent::default()
            }
            (None, None) => Consent::default(),
        };
        self.says.set(says);
        self.talk.session.state().security.established = Arc::new(Established { consent });
    }

    /// What became of a frame, and the question that now waits for an answer.
    pub(super) async fn frame(
        &self,
        from: Side,
        frame: &str,
    ) -> (Result<ActualOutcome, InvalidRun>, Option<PendingQuestion>) {
        let message = Message::decode(frame.as_bytes(), self.gate.limits(from)).ok();
        let opens = from == Side::Agent && message.as_ref().is_some_and(lines::begins_by_itself);
        if let Some(refused) = self.open(opens).await {
            return (
                ActualOutcome::of(&refused, RejectedPart::Handshake, false),
                None,
            );
        }
        self.hear(from, frame).await;
        let method = message.as_ref().and_then(|it| it.method()?.known());
        let other = match from {
            Side::Agent => &self.talk.upstream,
            Side::Upstream => &self.talk.agent,
        };
        let mut reached = other.reached();
        let mut arrived = other.take();
        // The gate asks what there is before it lets a first call through.
        if from == Side::Agent && method != Some(KnownMethod::ToolsList) {
            while let Some(id) = arrived.iter().find_map(|line| lines::tools_list(line)) {
                let answer = lines::offer(&id, ListKind::Tools, self.tools.clone());
                self.hear(Side::Upstream, &answer).await;
                reached = other.reached();
                arrived = other.take();
            }
        }
        if self.somebody_says().await {
            reached = reached.or(other.reached());
            arrived.extend(other.take());
        }
        let mut got = self.record(from).and_then(|record| {
            ActualOutcome::of(&record, RejectedPart::Message, !arrived.is_empty())
        });
        if let (Ok(got), Side::Agent, true) = (&mut got, from, self.may_move()) {
            got.upstream_received = reached;
        }
        let allowed = got.as_ref().is_ok_and(ActualOutcome::allowed);
        let id = arrived.iter().find_map(|line| lines::asked_id(line));
        let asked = id.filter(|_| allowed).map(|id| PendingQuestion {
            from,
            id,
            method,
            upstream_received: reached.unwrap_or(ServerInstance::Primary),
        });
        (got, asked)
    }

    /// Answers the gate's questions to people; returns whether the test has answers.
    async fn somebody_says(&self) -> bool {
        let Some(desk) = &self.shared.desk else {
            return false;
        };
        for question in desk.pending() {
            let answer = match self.says.get() {
                PersonReply::Yes => Answer::Approve,
                PersonReply::No => Answer::Deny,
                PersonReply::Nothing => {
                    self.shared.clock.advance(desk.settings().timeout);
                    break;
                }
            };
            // It waits, and this is the way that there is.
            let _ = desk.answer(&question.id, answer, By::page(TESTER));
        }
        let went_on = Box::pin(self.gate.answered(&self.talk)).await;
        debug_assert!(went_on.is_ok(), "an end in this process does not go away");
        true
    }

    /// What became of a connection, in the place where a session of this level is.
    async fn connect(&self, host: &Host) -> Result<ActualOutcome, InvalidRun> {
        let level = self.shared.held().await.level;
        let reached = self.bench.settings.thresholds.instance_at(level);
        let from = self.talk.session.run().instance.max(reached);
        let judged = self.gate.judge_connection(&self.talk, from, host).await;
        let record = self.kept.take().into_iter().next();
        let record = record.ok_or(InvalidRun::NotRecorded)?;
        ActualOutcome::of(&record, RejectedPart::Message, judged.is_ok())
    }

    async fn list(&self, list: ListKind) -> Result<ActualOutcome, InvalidRun> {
        if let Some(refused) = self.open(false).await {
            return ActualOutcome::of(&refused, RejectedPart::Handshake, false);
        }
        self.hear(Side::Agent, &lines::request(list.method())).await;
        let asked = self.talk.upstream.take();
        let record = self.record(Side::Agent)?;
        let mut got = ActualOutcome::of(&record, RejectedPart::Message, !asked.is_empty())?;
        let Some(id) = asked.first().and_then(|line| lines::asked_id(line)) else {
            return Ok(got);
        };
        let items = self.bench.catalogue.of(list, &self.changed);
        self.hear(Side::Upstream, &lines::offer(&id, list, items))
            .await;
        let delivered = self.talk.agent.take();
        let shown = delivered
            .first()
            .and_then(|line| listing::names(line, list));
        if shown.is_none() {
            // Policies say what is in a list, not whether it is answered.
            let why = self.record(Side::Upstream)?.reason.text;
            let why = why.map_or_else(String::new, |why| why.as_str().to_owned());
            return Err(InvalidRun::NotJudged(why));
        }
        got.shown = shown;
        let SuiteContext { server, offers, .. } = self.bench;
        let policies = self.bench.policies.current();
        let sight = self.sight().await;
        got.fault = listing::fault(server, offers, &policies, &sight, list, &self.changed);
        Ok(got)
    }

    /// The outcome of the answer, and the reply that the requester got.
    pub(super) async fn reply(
        &self,
        asked: &PendingQuestion,
        reply: &ScriptedReply,
    ) -> (Result<ActualOutcome, InvalidRun>, Vec<String>) {
        let (from, end) = match asked.from {
            Side::Agent => (Side::Upstream, &self.talk.agent),
            Side::Upstream => (Side::Agent, &self.talk.upstream),
        };
        // What the request itself brought is behind us.
        end.take();
        let line = lines::reply(&asked.id, reply);
        if from == Side::Upstream && self.has_left(asked.upstream_received) {
            self.hear_left(asked.upstream_received, &line).await;
        } else {
            self.hear(from, &line).await;
        }
        let mut delivered = end.take();
        if self.somebody_says().await {
            delivered.extend(end.take());
        }
        let arrived = delivered.iter().any(|other| lines::carries(other, &line));
        let got = self
            .record(from)
            .and_then(|record| ActualOutcome::of(&record, RejectedPart::Answer, arrived));
        (got, delivered)
    }

    /// The least that may be answered.
    fn reply_by_itself(&self, asked: &PendingQuestion) -> ScriptedReply {
        ScriptedReply::Result(match asked.method {
            Some(KnownMethod::Initialize) => lines::greeting(&self.bench.server.name),
            Some(KnownMethod::ToolsList) => self.offered(ListKind::Tools),
            Some(KnownMethod::PromptsList) => self.offered(ListKind::Prompts),
            Some(KnownMethod::ResourcesList) => self.offered(ListKind::Resources),
            method => lines::least_result(method),
        })
    }

    fn offered(&self, list: ListKind) -> Fragment {
        let items = self.bench.catalogue.of(list, &self.changed);
        Fragment::object([(list.member(), items)])
    }

    /// Begins the session, unless what comes begins by itself. Answers with the record of the
    /// refusal if it may not begin.
    async fn open(&self, by_itself: bool) -> Option<Record> {
        if by_itself || self.begun.get() {
            self.begun.set(true);
            return None;
        }
        let initialize = lines::initialize(&self.test.agent.client);
        self.hear(Side::Agent, &initialize).await;
        let asked = self.talk.upstream.take();
        let Some(id) = asked.first().and_then(|line| lines::asked_id(line)) else {
            return self.kept.take().into_iter().next();
        };
        let greeting = ScriptedReply::Result(lines::greeting(&self.bench.server.name));
        self.hear(Side::Upstream, &lines::reply(&id, &greeting))
            .await;
        self.hear(Side::Agent, lines::INITIALIZED).await;
        self.talk.upstream.take();
        self.talk.agent.take();
        self.kept.take();
        self.begun.set(true);
        if let Some(witness) = self.bench.witness {
            witness.take();
        }
        None
    }

    async fn hear(&self, from: Side, frame: &str) {
        // What cuts frames throws away those that are too long, and only says so.
        let heard = if frame.len() > self.gate.limits(from).max_bytes {
            self.gate
                .handle_unread(&self.talk, from, Stream::MAIN, DiscardReason::TooLong)
                .await
        } else {
            let handled = self
                .gate
                .handle(&self.talk, from, Stream::MAIN, frame.as_bytes());
            Box::pin(handled).await
        };
        // A call may have waited for what this frame brought.
        let heard = match from {
            Side::Upstream => heard.and(self.gate.resume(&self.talk).await),
            Side::Agent => heard,
        };
        // `End` takes everything, so that the agent never is gone.
        debug_assert!(heard.is_ok(), "an end in this process does not go away");
        if self.may_move() {
            self.follow().await;
        }
    }

    /// Whether sessions may move to an isolated server.
    fn may_move(&self) -> bool {
        !self.bench.settings.thresholds.is_empty()
    }

    /// The record of what that side has just sent; what follows from it is recorded after it.
    fn record(&self, from: Side) -> Result<Record, InvalidRun> {
        let sent = match from {
            Side::Agent => Direction::AgentToUpstream,
            Side::Upstream => Direction::UpstreamToAgent,
        };
        let (mut of_message, others): (Vec<_>, Vec<_>) = self
            .kept
            .take()
            .into_iter()
            .filter(|record| record.kind != Kind::Consent)
            .partition(|record| record.direction == Some(sent));
        if !of_message.is_empty() {
            return Ok(of_message.swap_remove(0));
        }
        // The message still waits for the list of tools, which the gate did not accept.
        let refused = others.into_iter().find_map(|record| record.reason.text);
        Err(refused.map_or(InvalidRun::NotRecorded, |why| {
            InvalidRun::NotJudged(why.as_str().to_owned())
        }))
    }

    /// What the gate sees when it decides what a list shows.
    async fn sight(&self) -> ListingFacts {
        let held = self.shared.held().await;
        let state = self.talk.session.state();
        ListingFacts {
            agent: Arc::clone(&state.parties.agent),
            now_ms: self.shared.clock.now().as_millisecond(),
            calls: state.security.calls,
            started_ms: state.started_ms,
            held,
            established: Arc::clone(&state.security.established),
        }
    }
}

/// An open question.
pub(super) struct PendingQuestion {
    from: Side,
    /// The id that the other side knows.
    id: Fragment,
    pub(super) method: Option<KnownMethod>,
    /// The server that was asked.
    upstream_received: ServerInstance,
}

fn consent(answered: &ConsentAnswer, when: i64) -> Consent {
    Consent {
        granted: answered.granted,
        scope: answered.scope.clone(),
        by: answered.by.clone(),
        at_ms: Some(
            when.saturating_sub(i64::try_from(answered.age.as_millis()).unwrap_or(i64::MAX)),
        ),
    }
}

fn before(when: i64, age: Duration) -> i64 {
    when.saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX))
}
