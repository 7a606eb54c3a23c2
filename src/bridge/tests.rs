//! A bridge and a whole gate between a scripted agent and a scripted server.

mod asked;
mod handshakes;
mod news;
mod requests;
mod server_session;

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use jiff::Timestamp;

use super::{Bridge, Bridged, Settings, Taken};
use crate::audit::{
    self, Audit, CheckedSink, Durability, LineCheck, MemorySink, OnFault, Redactor,
};
use crate::clock::Clock;
use crate::gate::{
    self, Agent, AgentGone, DenialForm, Gate, Guards, Permit, Source, Talk, Upstream, UpstreamFault,
};
use crate::policy::{
    Action, EngineFault, EngineName, Facts, ListFacts, PolicySnapshot, PolicySource, PolicyStore,
    Resource, RuleEngine, Server, Verdict, Visibility,
};
use crate::session::{Session, SessionId};
use crate::wire::{Document, Limits, Message, Side, Stream, TransportHeaders, Value, WorkIds};

/// The bench.
struct Bench {
    gate: Gate,
    talk: Talk<Recorder, Bridged<Recorder>>,
    bridge: Bridge,
    clock: Arc<HandClock>,
    audit: Audit,
    memory: MemorySink,
    /// Where the agent sends.
    stream: Stream,
    // The last field: it is dropped after all that writes to the log.
    _lines: LineCheck,
}

#[derive(Debug, Default)]
struct Recorder(Mutex<Vec<String>>);

#[derive(Debug, Default)]
struct HandClock(AtomicU64);

type Rule = fn(&Facts<'_>) -> bool;

#[derive(Debug)]
struct Scripted(Rule);

/// Longer than any request may take.
const LONG: Duration = Duration::from_mins(1);

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"sampling":{"x":1.0},"elicitation":{},"roots":{"listChanged":true},"tasks":{},"extensions":{}},"clientInfo":{"name":"ada","version":"1"}}}"#;

/// What each request says of that agent.
const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"ada","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"sampling":{"x":1.0},"elicitation":{},"roots":{}}"#;

const DISCOVERED: &str = r#""result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":false},"extensions":{"x":{}}},"instructions":"Be kind.","ttlMs":0,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1.0","x":1e2}}}"#;

const REFUSED: &str = r#""error":{"code":-32601,"message":"Method not found"}"#;

fn open(_: &Facts<'_>) -> bool {
    true
}

/// So many requests may wait.
fn terms(max_in_flight: usize) -> gate::Terms {
    gate::Terms {
        progress_extends: None,
        request_timeout: LONG,
        tool_timeouts: HashMap::new(),
        max_in_flight,
        rates: gate::Rates::default(),
        denial: DenialForm::Error,
        guards: Guards::default(),
        server_datasets: gate::ServerDatasets::default(),
        asked_again: gate::QuestionsAgain::default(),
        evidence: gate::Evidence::Off,
    }
}

impl Bench {
    fn new(rule: Rule) -> Self {
        Self::showing(rule, gate::UserIdentities::default())
    }

    /// The server is shown the user so.
    fn showing(rule: Rule, identities: gate::UserIdentities) -> Self {
        let clock = Arc::new(HandClock::default());
        let shared: Arc<dyn Clock> = clock.clone();
        let memory = MemorySink::default();
        let settings = audit::Settings {
            file: None,
            stream: audit::Stream::None,
            durability: Durability::Async,
            on_fault: OnFault::Deny,
            checkpoints: None,
            rotation: audit::Rotation::default(),
        };
        let (sink, lines) = CheckedSink::new(memory.clone());
        let sinks: Vec<Box<dyn audit::Sink>> = vec![Box::new(sink)];
        let audit = Audit::with_sinks(&settings, sinks, Arc::clone(&shared), Redactor::default());
        let audit = audit.unwrap();
        let settings = gate::Settings {
            own_directories: gate::OwnDirectories::Stated,
            user_identities: Arc::new(identities),
            from_agent: Limits::default(),
            from_upstream: Limits::default(),
            terms: terms(4),
            secrets: Redactor::default(),
            arguments: crate::gate::RecordedArguments::Nothing,
            results: crate::gate::RecordedResults::Nothing,
            tracing: crate::gate::Tracing::Off,
            thresholds: crate::session::Thresholds::default(),
            warm: crate::session::PerInstance::default(),
            unconfined: crate::gate::Unconfined::default(),
            eras: crate::gate::Eras::Asked,
            over_http: crate::session::OverHttp::default(),
            extensions: crate::wire::Extensions::default(),
        };
        let server = Server {
            name: "fixture".to_owned(),
            ..Server::default()
        };
        let bridge = Bridge::new(
            Settings {
                server: "fixture".to_owned(),
                from_agent: Limits::default(),
                from_upstream: Limits::default(),
                max_in_flight: 4,
                request_timeout: LONG,
            },
            Arc::clone(&shared),
        );
        let session = Session::new(SessionId::from_random(7), "stdio", server, 0);
        let agent = Bridged::new(Recorder::default(), Some(bridge.clone()));
        let store = Arc::new(PolicyStore::new(snapshot(rule)));
        Self {
            gate: Gate::new(store, audit.clone(), shared, settings),
            talk: Talk::new(session, Recorder::default(), agent),
            bridge,
            clock,
            audit,
            memory,
            stream: Stream::MAIN,
            _lines: lines,
        }
    }

    /// A session that is bridged, and hears of no changes.
    async fn bridged(rule: Rule) -> Self {
        let bench = Self::new(rule);
        bench.agent(INITIALIZE).await;
        bench.answer(REFUSED).await;
        bench.answer(DISCOVERED).await;
        bench.to_agent();
        bench
    }

    /// The same, and the gate knows the tool `t`.
    async fn listed(rule: Rule) -> Self {
        let bench = Self::bridged(rule).await;
        bench
            .agent(r#"{"jsonrpc":"2.0","id":"l","method":"tools/list"}"#)
            .await;
        bench
            .answer(r#""result":{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#)
            .await;
        bench.to_agent();
        bench
    }

    async fn agent(&self, frame: &str) {
        self.carried(frame, TransportHeaders::default()).await;
    }

    async fn carried(&self, frame: &str, carrier: TransportHeaders) {
        let source = Source {
            carrier,
            ..Source::on(self.stream)
        };
        self.from(source, frame).await;
    }

    async fn from(&self, source: Source, frame: &str) {
        assert!(at_once(self.bridge.ready()).await.is_some(), "{frame}");
        if self.bridge.take(&source, frame.as_bytes()) == Taken::Not {
            let bytes = frame.as_bytes();
            let passed = self.gate.handle_from(&self.talk, source, bytes);
            Box::pin(passed).await.unwrap();
        }
        self.settle().await;
    }

    async fn upstream(&self, frame: &str) {
        let bytes = frame.as_bytes();
        let passed = self
            .gate
            .handle(&self.talk, Side::Upstream, Stream::UNTOLD, bytes);
        Box::pin(passed).await.unwrap();
        Box::pin(self.gate.resume(&self.talk)).await.unwrap();
        self.settle().await;
    }

    /// Answers the last request that reached the server.
    async fn answer(&self, outcome: &str) {
        let id = self.to_upstream().iter().rev().find_map(|line| id_of(line));
        let id = id.expect("nothing was asked");
        self.upstream(&format!(r#"{{"jsonrpc":"2.0","id":{id},{outcome}}}"#))
            .await;
    }

    /// Answers this request.
    async fn answer_last(&self, request: &str, outcome: &str) {
        let id = id_of(request).expect("it is no request");
        self.upstream(&format!(r#"{{"jsonrpc":"2.0","id":{id},{outcome}}}"#))
            .await;
    }

    /// Does what the bridge wants done.
    async fn settle(&self) {
        while let Some(step) = at_once(self.bridge.next()).await {
            let done = self.bridge.carry_out(&self.gate, &self.talk, step);
            Box::pin(done).await.unwrap();
        }
    }

    async fn pass_time(&self, by: Duration) {
        self.clock
            .0
            .fetch_add(u64::try_from(by.as_millis()).unwrap(), Ordering::Relaxed);
        Box::pin(self.gate.expire(&self.talk)).await.unwrap();
        self.settle().await;
    }

    /// What has reached the agent since it was last asked.
    fn to_agent(&self) -> Vec<String> {
        self.talk.agent.inner().take()
    }

    fn to_upstream(&self) -> Vec<String> {
        self.talk.upstream.take()
    }

    /// Some members of each record so far.
    async fn records(&self, members: &[&str]) -> Vec<String> {
        self.audit.flush(Duration::from_secs(5)).await.unwrap();
        let lines = self.memory.lines();
        let show = |line: &String| {
            let read = Document::decode(line.as_bytes(), &Limits::default()).unwrap();
            let show = |member: &&str| {
                let path: Vec<&str> = member.split('/').collect();
                let value = read.root().at(&path).and_then(Value::as_str);
                value.unwrap_or_default().into_owned()
            };
            members.iter().map(show).collect::<Vec<_>>().join(" ")
        };
        lines.iter().map(show).collect()
    }
}

fn snapshot(rule: Rule) -> PolicySnapshot {
    let source = PolicySource::new("test", "test");
    let snapshot = PolicySnapshot::new(vec![Box::new(Scripted(rule))], vec![source], vec![]);
    snapshot.without_sampling_terms()
}

/// What a future brings if it need not wait.
async fn at_once<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|context| {
        Poll::Ready(match future.as_mut().poll(context) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        })
    })
    .await
}

fn id_of(line: &str) -> Option<String> {
    let message = Message::decode(line.as_bytes(), &Limits::default()).unwrap();
    message.id().map(|id| id.json().to_owned())
}

impl Recorder {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Upstream for Recorder {
    async fn send(&self, permit: Permit) -> Result<(), UpstreamFault> {
        self.0.lock().unwrap().push(permit.into_line());
        Ok(())
    }
}

impl Agent for Recorder {
    async fn deliver(&self, permit: Permit) -> Result<(), AgentGone> {
        self.0.lock().unwrap().push(permit.into_line());
        Ok(())
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
        Ok(if (self.0)(facts) {
            Verdict::Allow {
                reasons: vec![],
                obligations: vec![],
            }
        } else {
            Verdict::Deny { reasons: vec![] }
        })
    }

    fn visible(
        &self,
        _: &ListFacts<'_>,
        items: &[Resource<'_>],
    ) -> Vec<Result<Visibility, EngineFault>> {
        items.iter().map(|_| Ok(Visibility::Shown)).collect()
    }
}
