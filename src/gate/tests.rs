//! The path as a whole, between a scripted agent and a scripted upstream.

#![expect(
    clippy::wildcard_enum_match_arm,
    clippy::unnecessary_wraps,
    reason = "a rule says what it is about, in the signature of all rules"
)]

/// What a store need not know that is asked for nothing but what was read.
macro_rules! counts_nothing {
    () => {
        fn count<'a>(
            &'a self,
            _: &'a crate::session::SessionKey,
            _: crate::session::Budget,
        ) -> crate::session::Answer<'a, crate::session::Counted> {
            crate::session::Answer::Now(Ok(crate::session::Counted::Yes))
        }

        fn end<'a>(
            &'a self,
            _: &'a crate::session::SessionKey,
            _: &'a str,
        ) -> crate::session::Answer<'a, ()> {
            crate::session::Answer::Now(Ok(()))
        }

        fn places(&self) -> Option<crate::session::Places> {
            None
        }
    };
}

mod asking;
mod attacks;
mod bounds;
mod calls;
mod cancels;
mod canonical;
mod consent;
mod cursors;
mod durable;
mod edit_counts;
mod egress;
mod eras;
mod evidence;
mod excerpts;
mod extensions;
mod failures;
mod guises;
mod headers;
mod isolate;
mod latched;
mod leaks;
mod life;
#[cfg(unix)]
mod links;
mod lists;
mod malformed;
mod named_datasets;
mod names;
mod news;
mod own;
mod parked;
mod passage;
mod pins;
mod progress;
mod published_lists;
mod ratchet;
mod ratchet_race;
mod rates;
mod recorded_content;
mod records;
mod related;
mod repeated;
mod rounds;
mod scarce;
mod schemas;
mod shadow;
mod streams;
mod tasks;
mod terms;
mod text;
mod told;
mod trace_ids;
mod trial;
mod uris;
mod user_identity;

use crate::session::Instance;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;

use super::*;
use crate::audit::{
    self, CheckedSink, Durability, LineCheck, MemorySink, OnFault, Redactor, Stream,
};
use crate::policy::{
    Action, EngineFault, EngineName, Facts, ListFacts, PolicySnapshot, PolicySource, PolicyStore,
    Principal, RequiredDetectors, Resource, RuleEngine, Server, Verdict, Visibility,
};
use crate::session::{OverHttp, Session, SessionId};
use crate::wire::{Extensions, KnownMethod, Limits, Message};

/// What an engine says in a test.
pub(super) type Rule = fn(&Facts<'_>) -> Result<Verdict, EngineFault>;

/// A whole gate between two ends that write down what they get.
pub(super) struct Bench {
    pub(super) gate: Gate,
    pub(super) talk: Talk<Recorder, Recorder>,
    pub(super) clock: Arc<HandClock>,
    audit: Audit,
    memory: MemorySink,
    /// While it is closed nothing is written.
    latch: latched::Latch,
    /// The same for flushes.
    flush: latched::Latch,
    // The last fields: they are dropped after all that writes to the log.
    _opens: latched::OpensAtLast,
    _lines: LineCheck,
}

/// Writes down what it gets.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    lines: Mutex<Vec<(crate::wire::Stream, String)>>,
    /// What showed the server the user beside the text, of each line.
    proofs: Mutex<Vec<Option<UserProof>>>,
    /// How often it was said to be of no use.
    restarts: AtomicU64,
    /// How often its session was ended.
    ends: AtomicU64,
    /// How often it was said that nobody waits for the open server.
    left: AtomicU64,
}

/// A clock that is moved by hand.
#[derive(Debug, Default)]
pub(super) struct HandClock(AtomicU64);

#[derive(Debug)]
struct Scripted(Rule);

impl Bench {
    pub(super) fn new(rule: Rule) -> Self {
        Self::with(rule, |_| {})
    }

    pub(super) fn with(rule: Rule, change: impl FnOnce(&mut Settings)) -> Self {
        Self::recording(rule, Durability::Async, change)
    }

    /// With `Strict`, a message waits for its record, and others go on meanwhile.
    pub(super) fn recording(
        rule: Rule,
        durability: Durability,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let clock = Arc::new(HandClock::default());
        let memory = MemorySink::default();
        let settings = audit::Settings {
            file: None,
            stream: Stream::None,
            durability,
            on_fault: OnFault::Deny,
            checkpoints: None,
            rotation: audit::Rotation::default(),
        };
        let (latch, flush) = <(latched::Latch, latched::Latch)>::default();
        let (checked, lines) = CheckedSink::new(memory.clone());
        let sink = latched::Latched {
            memory: checked,
            latch: latch.clone(),
            flush: flush.clone(),
        };
        let sinks: Vec<Box<dyn audit::Sink>> = vec![Box::new(sink)];
        let shared: Arc<dyn Clock> = clock.clone();
        let audit =
            Audit::with_sinks(&settings, sinks, Arc::clone(&shared), Redactor::default()).unwrap();
        let mut settings = Settings {
            own_directories: OwnDirectories::Stated,
            user_identities: Arc::default(),
            from_agent: Limits::default(),
            from_upstream: Limits::default(),
            terms: Terms {
                request_timeout: Duration::from_mins(1),
                progress_extends: Some(Duration::from_mins(10)),
                tool_timeouts: HashMap::new(),
                max_in_flight: 8,
                rates: Rates::default(),
                denial: DenialForm::Error,
                guards: Guards::default(),
                server_datasets: ServerDatasets::default(),
                asked_again: QuestionsAgain::default(),
                evidence: Evidence::Off,
            },
            secrets: Redactor::default(),
            arguments: RecordedArguments::Digest(audit::DigestKey::of_bytes(b"a key of tests")),
            results: RecordedResults::Nothing,
            tracing: super::Tracing::Off,
            thresholds: crate::session::Thresholds::default(),
            warm: crate::session::PerInstance::default(),
            unconfined: Unconfined::default(),
            eras: Eras::Unasked,
            over_http: OverHttp::default(),
            extensions: Extensions::default(),
        };
        change(&mut settings);
        let store = Arc::new(PolicyStore::new(snapshot("test", rule)));
        let server = Server {
            name: "fixture".to_owned(),
            ..Server::default()
        };
        let session = Session::new(SessionId::from_random(7), "stdio", server, 0)
            .reaching(settings.over_http);
        Self {
            gate: Gate::new(store, audit.clone(), shared, settings),
            talk: Talk::new(session, Recorder::default(), Recorder::default()),
            clock,
            audit,
            memory,
            _opens: latched::OpensAtLast([latch.clone(), flush.clone()]),
            latch,
            flush,
            _lines: lines,
        }
    }

    /// A session that has done its handshake and has seen these tools.
    pub(super) async fn ready(rule: Rule, tools: &[&str]) -> Self {
        let bench = Self::new(rule);
        bench.shake_hands().await;
        bench.list(tools).await;
        bench
    }

    pub(super) async fn shake_hands(&self) {
        self.agent(INITIALIZE).await;
        let asked = self.to_upstream();
        let id = id_of(&asked[0]);
        self.upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-11-25","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
        ))
        .await;
        self.agent(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
        self.to_upstream();
        self.to_agent();
    }

    /// Lets the agent list tools, which tells the gate what there is.
    pub(super) async fn list(&self, tools: &[&str]) -> String {
        self.agent(r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#)
            .await;
        let asked = self.to_upstream();
        let tools: Vec<String> = tools
            .iter()
            .map(|name| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#))
            .collect();
        let (id, tools) = (id_of(&asked[0]), tools.join(","));
        self.upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{tools}]}}}}"#
        ))
        .await;
        self.to_agent().remove(0)
    }

    /// Agents that share nothing but their identity.
    pub(super) fn with_ids(mut self, ids: crate::session::Ids) -> Self {
        let session = Arc::into_inner(self.talk.session).unwrap();
        self.talk.session = Arc::new(session.with_ids(ids));
        self
    }

    pub(super) async fn agent(&self, frame: &str) {
        self.agent_on(crate::wire::Stream::MAIN, frame).await;
    }

    pub(super) async fn agent_on(&self, stream: crate::wire::Stream, frame: &str) {
        let handled = self
            .gate
            .handle(&self.talk, Side::Agent, stream, frame.as_bytes());
        Box::pin(handled).await.unwrap();
    }

    pub(super) async fn upstream(&self, frame: &str) {
        self.upstream_on(crate::wire::Stream::MAIN, frame).await;
    }

    pub(super) async fn upstream_on(&self, stream: crate::wire::Stream, frame: &str) {
        let handled = self
            .gate
            .handle(&self.talk, Side::Upstream, stream, frame.as_bytes());
        Box::pin(handled).await.unwrap();
        Box::pin(self.gate.resume(&self.talk)).await.unwrap();
    }

    /// What has reached the agent since it was last asked.
    pub(super) fn to_agent(&self) -> Vec<String> {
        self.talk.agent.take()
    }

    /// What has reached the upstream since it was last asked.
    pub(super) fn to_upstream(&self) -> Vec<String> {
        self.talk.upstream.take()
    }

    /// Every audit record so far.
    pub(super) async fn records(&self) -> Vec<Entry> {
        self.audit.flush(Duration::from_secs(5)).await.unwrap();
        self.memory
            .lines()
            .iter()
            .map(|line| Entry::read(line))
            .collect()
    }

    /// The records of one kind.
    pub(super) async fn records_of(&self, kind: &str) -> Vec<Entry> {
        let mut records = self.records().await;
        records.retain(|record| record.get(&["kind"]) == kind);
        records
    }
}

/// Policies that are one function; the text stands for their words.
pub(super) fn snapshot(text: &str, rule: Rule) -> PolicySnapshot {
    let source = PolicySource::new("test", text);
    let snapshot = PolicySnapshot::new(vec![Box::new(Scripted(rule))], vec![source], vec![]);
    snapshot.without_sampling_terms()
}

/// An audit record, read back with the gate's own strict decoder.
#[derive(Debug)]
pub(super) struct Entry(crate::wire::Document);

impl Entry {
    fn read(line: &str) -> Self {
        Self(crate::wire::Document::decode(line.as_bytes(), &Limits::default()).unwrap())
    }

    /// A string of the record; empty when there is none.
    pub(super) fn get(&self, path: &[&str]) -> String {
        let value = self.0.root().at(path);
        value
            .and_then(crate::wire::Value::as_str)
            .unwrap_or_default()
            .into_owned()
    }

    pub(super) fn text(&self) -> &str {
        self.0.text()
    }
}

impl Recorder {
    fn take(&self) -> Vec<String> {
        let lines = std::mem::take(&mut *self.lines.lock().unwrap());
        lines.into_iter().map(|(_, line)| line).collect()
    }

    /// The streams of what it has got since it was last asked.
    pub(super) fn streams(&self) -> Vec<crate::wire::Stream> {
        let lines = self.lines.lock().unwrap();
        lines.iter().map(|(stream, _)| *stream).collect()
    }

    pub(super) fn ended(&self) -> u64 {
        self.ends.load(Ordering::Relaxed)
    }

    pub(super) fn is_left(&self) -> bool {
        self.left.load(Ordering::Relaxed) > 0
    }

    pub(super) fn restarts(&self) -> u64 {
        self.restarts.load(Ordering::Relaxed)
    }
}

impl Upstream for Recorder {
    async fn send(&self, permit: Permit) -> Result<(), UpstreamFault> {
        assert_eq!(permit.to(), Side::Upstream);
        assert!(!permit.line().contains(PANIC), "injected");
        assert_names_what_it_reads(&permit);
        let stream = permit.passage().stream;
        self.proofs
            .lock()
            .unwrap()
            .push(permit.passage().proof.clone());
        self.lines
            .lock()
            .unwrap()
            .push((stream, permit.into_line()));
        Ok(())
    }

    fn restart(&self) {
        self.restarts.fetch_add(1, Ordering::Relaxed);
    }

    fn isolate(&self, _: Instance) -> Result<(), UpstreamFault> {
        let line = (crate::wire::Stream::MAIN, MOVED.to_owned());
        self.lines.lock().unwrap().push(line);
        Ok(())
    }

    fn warm(&self, instance: Instance) -> Result<(), UpstreamFault> {
        let line = (crate::wire::Stream::MAIN, instance.name_of(WARMED));
        self.lines.lock().unwrap().push(line);
        Ok(())
    }

    async fn send_to(&self, _: Instance, permit: Permit) -> Result<(), UpstreamFault> {
        self.send(permit).await
    }

    fn leave_below(&self, _: Instance) {
        self.left.fetch_add(1, Ordering::Relaxed);
    }
}

/// Over HTTP a header says what is read, and must say what the message does.
fn assert_names_what_it_reads(permit: &Permit) {
    let Carried::Request {
        name: Some(name), ..
    } = &permit.passage().carried
    else {
        return;
    };
    let message = Message::decode(permit.line().as_bytes(), &Limits::default()).unwrap();
    let params = message.params().unwrap();
    let said = ["uri", "name", "taskId"].map(|key| params.get(key)?.as_str());
    assert!(
        said.iter().flatten().any(|said| **said == **name),
        "{name}: {}",
        permit.line()
    );
}

impl Agent for Recorder {
    async fn deliver(&self, permit: Permit) -> Result<(), AgentGone> {
        assert_eq!(permit.to(), Side::Agent);
        let stream = permit.passage().stream;
        self.lines
            .lock()
            .unwrap()
            .push((stream, permit.into_line()));
        Ok(())
    }

    fn end(&self) {
        self.ends.fetch_add(1, Ordering::Relaxed);
    }
}

impl HandClock {
    pub(super) fn advance(&self, by: Duration) {
        self.0
            .fetch_add(u64::try_from(by.as_millis()).unwrap(), Ordering::Relaxed);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + self.elapsed()
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

impl RuleEngine for Scripted {
    fn name(&self) -> EngineName {
        EngineName("scripted")
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        (self.0)(facts)
    }

    /// No rule of these tests asks for flags, so nobody has to list tools for one.
    fn looks_for(&self) -> RequiredDetectors {
        RequiredDetectors {
            flags: false,
            ..RequiredDetectors::ALL
        }
    }

    fn visible(
        &self,
        facts: &ListFacts<'_>,
        items: &[Resource<'_>],
    ) -> Vec<Result<Visibility, EngineFault>> {
        let principal = facts.principal;
        let sees = !matches!(principal, Principal::Agent(agent) if agent.client.name == "shunned");
        let hidden = |name: &str| name.starts_with("hidden") || !sees;
        items
            .iter()
            .map(|item| match item {
                Resource::Tool(tool) if hidden(&tool.name) => Ok(Visibility::Hidden),
                Resource::Prompt(prompt) if hidden(&prompt.name) => Ok(Visibility::Hidden),
                Resource::Resource(resource) if hidden(&resource.uri) => Ok(Visibility::Hidden),
                _ => Ok(Visibility::Shown),
            })
            .collect()
    }
}

/// Stands among the lines for the server where it was another from then on.
pub(super) const MOVED: &str = "moved";

/// Stands among them, with the instance, where that was started ahead.
pub(super) const WARMED: &str = "server";

/// A tool whose call makes the way to the upstream panic.
pub(super) const PANIC: &str = "panic_on_the_way";

pub(super) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"tester","version":"1"}}}"#;

/// Everything is allowed.
pub(super) fn open(_: &Facts<'_>) -> Result<Verdict, EngineFault> {
    Ok(allow())
}

/// Everything is allowed but tools whose name begins with `hidden` or `denied`.
pub(super) fn guarded(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    let refused = |name: &str| name.starts_with("hidden") || name.starts_with("denied");
    Ok(match (&facts.action, &facts.resource) {
        (Action::CallTool { .. }, Resource::Tool(tool)) if refused(&tool.name) => {
            Verdict::Deny { reasons: vec![] }
        }
        (Action::Sample { .. } | Action::Elicit { .. } | Action::ListRoots, _) => Verdict::Abstain,
        _ => allow(),
    })
}

pub(super) fn allow() -> Verdict {
    Verdict::Allow {
        reasons: vec![],
        obligations: vec![],
    }
}

/// The JSON text of a message's id.
pub(super) fn id_of(line: &str) -> String {
    let message = Message::decode(line.as_bytes(), &Limits::default()).unwrap();
    message.id().unwrap().json().to_owned()
}

/// A call, as an agent writes it.
pub(super) fn call(id: &str, tool: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"a":1}}}}}}"#
    )
}

/// A result, as an upstream writes it.
pub(super) fn result(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"x"}}]}}}}"#
    )
}

impl Gate {
    /// Records policies, and puts them in force.
    pub(crate) async fn publish(
        &self,
        upstream: &str,
        snapshot: PolicySnapshot,
        besides: Besides,
    ) -> Result<Published, audit::AuditFault> {
        let recorded = self.record_new(upstream, snapshot, besides).await?;
        Ok(self.put_in_force(recorded))
    }
}
