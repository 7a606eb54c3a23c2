//! What one call costs inside the gate: a call of 1 KiB against 1, 10 and 100 policies.
//!
//! ```sh
//! cargo bench --bench decide
//! ```
//!
//! `decode`: bytes to one strict message. `decide`: facts to a decision. `whole path`: a call and
//! its reply through `Gate::handle`, both judged, two records queued, nothing written to a pipe.

#![expect(
    clippy::expect_used,
    reason = "a benchmark that cannot be set up has nothing to measure"
)]

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use mcp_protector::audit::{self, Audit, Redactor};
use mcp_protector::clock::{Clock, SystemClock};
use mcp_protector::gate::{
    Agent, AgentGone, DenialForm, Gate, Permit, Settings, Talk, Upstream, UpstreamFault,
};
use mcp_protector::loading;
use mcp_protector::policy::{
    self, Action, Arguments, Consent, Environment, Facts, Leaf, PolicySnapshot, PolicyStore,
    Principal, Resource, Server, SessionState, Tool, Touch,
};
use mcp_protector::session::{Session, SessionId};
use mcp_protector::wire::{Limits, Message, Side};

fn decode(criterion: &mut Criterion) {
    let call = call("1");
    criterion.bench_function("decode 1 KiB", |bencher| {
        bencher.iter(|| Message::decode(black_box(call.as_bytes()), &Limits::default()));
    });
}

fn decide(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decide");
    for (name, snapshot) in snapshots() {
        let agent = policy::Agent {
            id: "stdio".to_owned(),
            ..policy::Agent::default()
        };
        let server = Server {
            name: "files".to_owned(),
            ..Server::default()
        };
        let tool = Tool {
            name: "write_file".to_owned(),
            ..Tool::default()
        };
        let text = "x".repeat(900);
        let arguments = Arguments(vec![
            (
                "/path".to_owned(),
                Leaf::String("/srv/data/notes.txt".into()),
            ),
            ("/content".to_owned(), Leaf::String(text.as_str().into())),
        ]);
        let touch = Touch::default();
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher.iter(|| {
                let facts = Facts {
                    principal: Principal::Agent(&agent),
                    action: Action::CallTool {
                        arguments: &arguments,
                        touch: &touch,
                    },
                    resource: Resource::Tool(&tool),
                    env: Environment {
                        server: &server,
                        transport: "stdio",
                        protocol: "2025-11-25",
                        now_ms: 1_763_755_200_000,
                        peer: None,
                        session: SessionState::default(),
                        consent: Consent::default(),
                    },
                };
                let decision = snapshot.judge(black_box(&facts));
                assert!(decision.is_allow());
                decision
            });
        });
    }
}

fn whole_path(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let mut group = criterion.benchmark_group("whole path");
    for (name, snapshot) in snapshots() {
        let (gate, talk) = runtime.block_on(ready(snapshot));
        let call = call("1");
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher.iter(|| {
                runtime.block_on(async {
                    gate.handle(&talk, Side::Agent, call.as_bytes()).await.expect("an agent");
                    let sent = talk.upstream.take();
                    let id = sent.split("\"id\":").nth(1).and_then(|rest| rest.split(',').next());
                    let reply = format!(
                        r#"{{"jsonrpc":"2.0","id":{},"result":{{"content":[{{"type":"text","text":"ok"}}]}}}}"#,
                        id.expect("an id")
                    );
                    gate.handle(&talk, Side::Upstream, reply.as_bytes()).await.expect("an agent");
                    black_box(talk.agent.take())
                });
            });
        });
    }
}

/// A gate whose session has done its handshake and knows the tool.
async fn ready(snapshot: PolicySnapshot) -> (Gate, Talk<End, End>) {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let settings = audit::Settings {
        file: None,
        stream: audit::Stream::None,
        durability: audit::Durability::Async,
        on_fault: audit::OnFault::Deny,
    };
    let audit = Audit::open(&settings, Arc::clone(&clock), Redactor::default()).expect("a log");
    let settings = Settings {
        from_agent: Limits::default(),
        from_upstream: Limits::default(),
        request_timeout: Duration::from_mins(1),
        tool_timeouts: HashMap::new(),
        max_in_flight: 8,
        denial: DenialForm::Error,
        secrets: Redactor::default(),
    };
    let gate = Gate::new(Arc::new(PolicyStore::new(snapshot)), audit, clock, settings);
    let server = Server {
        name: "files".to_owned(),
        ..Server::default()
    };
    let session = Session::new(SessionId::from_random(1), "stdio", server, 0);
    let talk = Talk::new(session, End::default(), End::default());
    for (from, frame) in HANDSHAKE {
        gate.handle(&talk, from, frame.as_bytes())
            .await
            .expect("an agent");
    }
    talk.upstream.take();
    talk.agent.take();
    (gate, talk)
}

const HANDSHAKE: [(Side, &str); 5] = [
    (
        Side::Agent,
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
    ),
    (
        Side::Upstream,
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#,
    ),
    (
        Side::Agent,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    ),
    (
        Side::Agent,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
    ),
    (
        Side::Upstream,
        r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"write_file","inputSchema":{}}]}}"#,
    ),
];

/// An allowlist, and 1, 10 and 100 policies with a condition each on the arguments.
fn snapshots() -> Vec<(String, PolicySnapshot)> {
    let allow = loading::Settings {
        allow: Some(vec!["write_file".to_owned()]),
        ..loading::Settings::default()
    };
    let loaded = loading::load(&allow).expect("an allowlist");
    let mut snapshots = vec![("allowlist".to_owned(), loaded.snapshot)];
    for count in [1, 10, 100] {
        let dir = tempfile::tempdir().expect("a directory");
        let guards = (1..count).map(|number| {
            format!(
                "@id(\"no-{number}\") forbid(principal, action == Mcp::Action::\"call_tool\", resource) when {{ context.args.hasTag(\"/path\") && context.args.getTag(\"/path\") has s && context.args.getTag(\"/path\").s like \"/secret{number}/*\" }};\n"
            )
        });
        let all = "@id(\"all\") permit(principal, action, resource);\n".to_owned();
        let text: String = std::iter::once(all).chain(guards).collect();
        std::fs::write(dir.path().join("bench.cedar"), text).expect("a file");
        let settings = loading::Settings {
            dir: Some(dir.path().to_owned()),
            ..loading::Settings::default()
        };
        let loaded = loading::load(&settings).expect("policies");
        snapshots.push((format!("{count} policies"), loaded.snapshot));
    }
    snapshots
}

fn call(id: &str) -> String {
    let text = "x".repeat(850);
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"write_file","arguments":{{"path":"/srv/data/notes.txt","content":"{text}"}},"_meta":{{"progressToken":7}}}}}}"#
    )
}

/// Keeps the last message that it got.
#[derive(Debug, Default)]
struct End(Mutex<String>);

impl End {
    fn take(&self) -> String {
        std::mem::take(&mut self.0.lock().expect("a lock"))
    }
}

impl Upstream for End {
    async fn send(&self, permit: Permit) -> Result<(), UpstreamFault> {
        *self.0.lock().expect("a lock") = permit.into_line();
        Ok(())
    }
}

impl Agent for End {
    async fn deliver(&self, permit: Permit) -> Result<(), AgentGone> {
        *self.0.lock().expect("a lock") = permit.into_line();
        Ok(())
    }
}

criterion_group!(benches, decode, decide, whole_path);
criterion_main!(benches);
