//! What one call costs inside the gate: a call of 1 KiB against 1, 10 and 100 policies.
//!
//! ```sh
//! cargo bench -p benches --bench decide
//! ```
//!
//! `tools/list of 1,000`: request and reply through `Gate::handle`, of a session that asks for the
//! first time, and of one that has asked before.
//!
//! `decode`: bytes to one strict message. `decide`: facts to a decision. `whole path`: a call and
//! its reply through `Gate::handle`, both judged, two records queued, nothing written to a pipe;
//! once more with limits of each kind, none of which is reached, once with a result that is an
//! error, whose class is found, and once in a session that may be isolated. `a form`: what a server
//! asks and what the agent says to it, both judged.

#![expect(
    clippy::expect_used,
    reason = "a benchmark that cannot be set up has nothing to measure"
)]

mod calls;
mod rig;

use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use mcp_protector::gate::{Gate, Rate, Rates, Settings, Talk};
use mcp_protector::policy::{
    self, Action, Arguments, Consent, Environment, Facts, Leaf, PolicySnapshot, Principal,
    Resource, Server, SessionState, Targets, Tool,
};
use mcp_protector::wire::{Limits, Message, Side, Stream};

use calls::{call, id_of, ready_within, snapshots};
use rig::End;

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
        let targets = Targets::default();
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher.iter(|| {
                let facts = Facts {
                    principal: Principal::Agent(&agent),
                    action: Action::CallTool {
                        arguments: &arguments,
                        targets: &targets,
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

const OK: &str = r#"{"content":[{"type":"text","text":"ok"}]}"#;
/// Of the class `fatal`, which is recorded; the session goes on.
const FAILED: &str =
    r#"{"content":[{"type":"text","text":"[FATAL] the disk is gone"}],"isError":true}"#;

fn whole_path(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let mut group = criterion.benchmark_group("whole path");
    let unlimited = snapshots().into_iter();
    let as_is = || rig::settings(Rates::default());
    let unlimited = unlimited.map(|(name, snapshot)| (name, snapshot, as_is(), OK));
    let first = |what: &str, settings: Settings, result: &'static str| {
        let (name, snapshot) = snapshots().swap_remove(0);
        (format!("{name}, {what}"), snapshot, settings, result)
    };
    let may_be_isolated = Settings {
        thresholds: mcp_protector::session::Thresholds::new([3]),
        warm: mcp_protector::session::PerInstance::default(),
        ..as_is()
    };
    let others = [
        first("limited", rig::settings(rates()), OK),
        first("an error", as_is(), FAILED),
        first("may be isolated", may_be_isolated, OK),
    ];
    for (name, snapshot, settings, result) in unlimited.chain(others) {
        let (gate, talk) = runtime.block_on(ready_within(snapshot, settings));
        let call = call("1");
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher
                .iter(|| black_box(runtime.block_on(calls::answered(&gate, &talk, &call, result))));
        });
    }
}

fn forms(criterion: &mut Criterion) {
    const FORM: &str = r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"For whom?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}"#;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let (_, snapshot) = snapshots().swap_remove(1);
    let settings = rig::settings(Rates::default());
    let (gate, talk) = runtime.block_on(ready_within(snapshot, settings));
    criterion.bench_function("a form", |bencher| {
        bencher.iter(|| {
            runtime.block_on(async {
                gate.handle(&talk, Side::Upstream, Stream::MAIN, FORM.as_bytes())
                    .await
                    .expect("an agent");
                let shown = talk.agent.take();
                let reply = format!(
                    r#"{{"jsonrpc":"2.0","id":{},"result":{{"action":"accept","content":{{"name":"ada"}}}}}}"#,
                    id_of(&shown)
                );
                gate.handle(&talk, Side::Agent, Stream::MAIN, reply.as_bytes())
                    .await
                    .expect("an agent");
                let told = talk.upstream.take();
                assert!(told.contains("ada"), "{told}");
                told
            });
        });
    });
}

fn lists(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let reply = calls::listing(1_000);
    let ask =
        |gate: &Gate, talk: &Talk<End, End>| runtime.block_on(calls::list(gate, talk, &reply));
    let mut group = criterion.benchmark_group("tools/list of 1,000");
    let (name, _) = snapshots().pop().expect("policies");
    group.bench_function(format!("{name}, first"), |bencher| {
        // By reference: the end of a gate is no part of its list.
        bencher.iter_batched_ref(
            || {
                let (_, snapshot) = snapshots().pop().expect("policies");
                runtime.block_on(ready(snapshot))
            },
            |(gate, talk)| ask(gate, talk),
            BatchSize::PerIteration,
        );
    });
    let (_, snapshot) = snapshots().pop().expect("policies");
    let (gate, talk) = runtime.block_on(ready(snapshot));
    group.bench_function(format!("{name}, unchanged"), |bencher| {
        bencher.iter(|| black_box(ask(&gate, &talk)));
    });
}

/// A gate whose session has done its handshake and knows the tool.
async fn ready(snapshot: PolicySnapshot) -> (Gate, Talk<End, End>) {
    ready_within(snapshot, rig::settings(Rates::default())).await
}

/// Limits of each kind that nothing reaches.
fn rates() -> Rates {
    let most = NonZeroU32::new(u32::MAX).expect("more than nothing");
    let rate = Rate::new(most, Duration::from_secs(1), most);
    Rates {
        global: Some(rate),
        principal: Some(rate),
        tools: [("write_file".to_owned(), rate)].into(),
        calls_per_session: Some(i64::MAX),
        rest: None,
    }
}

criterion_group!(benches, decode, decide, whole_path, forms, lists);
criterion_main!(benches);
