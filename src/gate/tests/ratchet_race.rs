//! Reading and posting at once.

use std::sync::atomic::AtomicBool;

use super::ratchet::{CLOSED, TOOLS, policies};
use super::*;
use crate::session::{InMemory, SessionKey, Whose};

type Ends = Talk<Recorder, Recorder>;

const PAIRS: u64 = 1000;

async fn say(gate: &Gate, talk: &Ends, from: Side, frame: &str) {
    let stream = crate::wire::Stream::MAIN;
    let handled = gate.handle(talk, from, stream, frame.as_bytes());
    Box::pin(handled).await.unwrap();
}

/// A session of this key that has listed its tools.
async fn begun(gate: &Gate, pair: u64, session: &str) -> Ends {
    let id = SessionId::from_random(pair.into());
    let key = SessionKey::of(&pair.to_string(), Some("s"));
    let talk = Session::new(id, "http", Server::default(), 0).reading_as(Whose::Common(key));
    let talk = Talk::new(talk, Recorder::default(), Recorder::default());
    let answer = |asked: &[String], result: &str| {
        let id = id_of(&asked[0]);
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
    };
    say(gate, &talk, Side::Agent, INITIALIZE).await;
    let greeting = r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#;
    let greeting = answer(&talk.upstream.take(), greeting);
    say(gate, &talk, Side::Upstream, &greeting).await;
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    say(gate, &talk, Side::Agent, ready).await;
    talk.upstream.take();
    let list = format!(r#"{{"jsonrpc":"2.0","id":"{session}","method":"tools/list"}}"#);
    say(gate, &talk, Side::Agent, &list).await;
    let tools = TOOLS.map(|name| format!(r#"{{"name":"{name}","inputSchema":{{}}}}"#));
    let tools = format!(r#"{{"tools":[{}]}}"#, tools.join(","));
    let tools = answer(&talk.upstream.take(), &tools);
    say(gate, &talk, Side::Upstream, &tools).await;
    talk
}

/// How many posts passed before the read was sent.
async fn race(gate: Arc<Gate>, pair: u64) -> usize {
    let reader = begun(&gate, pair, "a").await;
    let poster = begun(&gate, pair, "b").await;
    let sent = Arc::new(AtomicBool::new(false));
    let (told, shared) = (Arc::clone(&sent), Arc::clone(&gate));
    let reading = tokio::spawn(async move {
        say(&shared, &reader, Side::Agent, &call("1", "read")).await;
        assert_eq!(reader.upstream.take().len(), 1, "reading is permitted");
        told.store(true, Ordering::SeqCst);
    });
    let posting = tokio::spawn(async move {
        let mut passed = 0;
        for id in 2.. {
            let was_read = sent.load(Ordering::SeqCst);
            say(&gate, &poster, Side::Agent, &call(&id.to_string(), "post")).await;
            let out = poster.upstream.take();
            assert!(!was_read || out.is_empty(), "a leak in pair {pair}");
            if was_read {
                break;
            }
            passed += out.len();
            if let Some(line) = out.first() {
                say(&gate, &poster, Side::Upstream, &result(&id_of(line))).await;
            }
            tokio::task::yield_now().await;
        }
        passed
    });
    reading.await.unwrap();
    posting.await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_a_thousand_pairs_at_once_no_post_passes_after_its_read() {
    let mut bench = Bench::new(open);
    bench.gate = bench.gate.remembering(Arc::new(InMemory::default()));
    bench.gate.policy.publish(policies(CLOSED));
    let gate = Arc::new(bench.gate);
    let mut races = tokio::task::JoinSet::new();
    let (mut before, mut ended) = (0, 0);
    for pair in 0..PAIRS {
        races.spawn(race(Arc::clone(&gate), pair));
    }
    while let Some(passed) = races.join_next().await {
        before += passed.unwrap();
        ended += 1;
    }
    assert_eq!(ended, PAIRS);
    // Otherwise nothing was tried.
    assert!(before > 0);
}
