//! What is remembered of sessions, and what that costs each message: what they have read, how
//! many calls they have made and tokens are left, and a question to a person with its answer.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use mcp_protector::clock::{Clock, SystemClock};
use mcp_protector::consent::{
    Answer, Binding, By, Desk, Found, Holds, Judged, Question, Request, Settings, Way,
};
use mcp_protector::policy::SessionSensitivity;
use mcp_protector::session::{
    Buckets, Budget, InMemory, OnDisk, Rate, SessionKey, SessionStore, TokenStore, Tokens,
};
use mcp_protector::wire::KnownMethod;
use tokio::sync::Notify;

fn level(level: i64) -> SessionSensitivity {
    SessionSensitivity {
        level,
        ..SessionSensitivity::default()
    }
}

#[expect(
    clippy::expect_used,
    reason = "a benchmark has nothing to measure if it cannot be set up"
)]
fn ratchet(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ratchet");
    let key = SessionKey::of("agent", Some("session"));
    let memory = InMemory::holding(10_000);
    let _ = memory.raise(&key, &level(2));
    group.bench_function("held in memory", |bench| {
        bench.iter(|| drop(black_box(memory.kept(&key))));
    });
    group.bench_function("raised to what is held", |bench| {
        let less = level(1);
        bench.iter(|| drop(black_box(memory.raise(&key, &less))));
    });
    let budget = Budget {
        most: i64::MAX,
        rest: None,
    };
    group.bench_function("a call counted in memory", |bench| {
        bench.iter(|| drop(black_box(memory.count(&key, budget))));
    });
    let place = tempfile::tempdir().expect("a directory");
    let journal = place.path().join("journal");
    let sealed_by = place.path().join("key");
    let journal = OnDisk::open(&journal, &sealed_by, 1_000_000).expect("a journal");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let mut next = 0_u64;
    let private = level(2);
    group
        .sample_size(20)
        .measurement_time(Duration::from_secs(2));
    group.bench_function("raised on disk", |bench| {
        bench.iter(|| {
            next += 1;
            let key = SessionKey::of("agent", Some(&next.to_string()));
            let raised = runtime.block_on(async { journal.raise(&key, &private).get().await });
            black_box(raised).expect("it is written");
        });
    });
    group.bench_function("a call counted on disk", |bench| {
        bench.iter(|| {
            let counted = runtime.block_on(async { journal.count(&key, budget).get().await });
            black_box(counted).expect("it is written");
        });
    });
    group.bench_function("64 calls at once counted on disk", |bench| {
        bench.iter(|| {
            runtime.block_on(async {
                let calls = [(); 64].map(|()| journal.count(&key, budget));
                for call in calls {
                    black_box(call.get().await).expect("it is written");
                }
            });
        });
    });
    group.finish();
}

fn limits(criterion: &mut Criterion) {
    let tokens = Tokens::new(Arc::new(SystemClock::new()));
    let rate = Rate::new(NonZeroU32::MAX, Duration::from_secs(1), NonZeroU32::MAX);
    let buckets = Buckets {
        global: Some(&rate),
        principal: Some(("agent", &rate)),
        tool: Some(("send_mail", &rate)),
    };
    let mut group = criterion.benchmark_group("limits");
    group.bench_function("looked at", |bench| {
        bench.iter(|| black_box(tokens.look(black_box(buckets))));
    });
    group.bench_function("a token from each of three", |bench| {
        bench.iter(|| drop(black_box(tokens.take(black_box(buckets)))));
    });
    group.finish();
}

fn question() -> Question {
    let text = str::to_owned;
    Question {
        server: text("files"),
        method: text("tools/call"),
        name: text("write_file"),
        arguments: text("{\n  \"path\": \"/srv/project/notes.txt\"\n}"),
        principal: text("agent"),
        client: text("bench"),
        session: text("session"),
        advice: None,
        policies: vec![text("needs-a-yes")],
        found: Found::default(),
        holds: Holds::default(),
    }
}

fn desk(criterion: &mut Criterion) {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let settings = Settings {
        channels: vec![Way::Page],
        ..Settings::default()
    };
    let desk = Desk::new(settings, clock, [7; 32]);
    let bell = Arc::new(Notify::new());
    criterion.bench_function("a question, its answer and its receipt", |bench| {
        bench.iter(|| {
            let request = Request {
                binding: Binding {
                    principal: "agent".into(),
                    rights: [0; 32],
                    session: Some("session".into()),
                    server: "files".into(),
                    method: KnownMethod::ToolsCall,
                    name: "write_file".into(),
                    definition: None,
                    arguments: [0; 32],
                    round: None,
                    revision: "revision".into(),
                },
                question: question(),
                bell: Arc::clone(&bell),
                judged: Judged::ByThoseInForce,
            };
            let ticket = desk.ask(request).ok()?;
            desk.answer(&ticket, Answer::Approve, By::page("anna"))
                .ok()?;
            black_box(desk.take(&ticket))
        });
    });
}

criterion_group!(benches, ratchet, limits, desk);
criterion_main!(benches);
