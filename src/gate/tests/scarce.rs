//! What becomes of messages that there is no memory for.

use std::future::ready;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::atomic::AtomicUsize;

use super::trial::trial_of;
use super::*;
use crate::session::{Opening, Readiness, Trial};

/// For how many messages there is memory.
pub(super) type Rooms = Arc<AtomicUsize>;

/// What a test has while there is memory for all of them.
const ENOUGH: usize = usize::MAX;

/// In this one message of a mebibyte can be judged, and not two at the same time.
pub(super) const FOR_ONE: usize = 72 << 20;

const MEBIBYTE: usize = 1 << 20;

/// The same with memory for as many messages as its test says.
pub(super) fn scarce(mut bench: Bench) -> (Bench, Rooms) {
    let rooms = Arc::new(AtomicUsize::new(ENOUGH));
    let left = Arc::clone(&rooms);
    let memory = crate::memory::Memory::limited(1 << 30, move || {
        let one_less = |left: usize| left.checked_sub(1);
        let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        taken.map_or(usize::MAX, |_| 0)
    });
    bench.gate = bench.gate.within(memory);
    (bench, rooms)
}

pub(super) fn leave(rooms: &Rooms, messages: usize) {
    rooms.store(messages, Ordering::Relaxed);
}

/// Lets something go on as far as it comes without waiting.
async fn waits<F: Future>(going: &mut Pin<Box<F>>) {
    tokio::select! {
        biased;
        _ = going => panic!("it does not wait"),
        () = ready(()) => {}
    }
}

fn agreed(id: &str, more: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-11-25","capabilities":{{}},{more}"serverInfo":{{"name":"s","version":"1"}}}}}}"#
    )
}

fn lists(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"echo","inputSchema":{{}}}}]}}}}"#
    )
}

/// A ping of the agent's with a mebibyte.
fn long_ping() -> String {
    let text = "x".repeat(MEBIBYTE);
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"_meta":{{"text":"{text}"}}}}}}"#
    )
}

/// A handshake that is agreed to with a mebibyte.
fn agreed_at_length(id: &str) -> String {
    let text = "x".repeat(MEBIBYTE);
    agreed(id, &format!(r#""instructions":"{text}","#))
}

#[tokio::test(start_paused = true)]
async fn a_list_of_tools_that_there_was_no_memory_for_is_asked_for_again() {
    let (bench, rooms) = scarce(Bench::new(open));
    bench.shake_hands().await;
    bench.agent(&call("1", "echo")).await;
    let asked = id_of(&bench.to_upstream()[0]);
    leave(&rooms, 0);
    bench.upstream(&lists(&asked)).await;
    let told = bench.to_agent();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("limits.max_memory"), "{told:?}");
    leave(&rooms, ENOUGH);
    bench.agent(&call("2", "echo")).await;
    let asked = bench.to_upstream();
    assert_eq!(asked.len(), 1, "the list is asked for");
    bench.upstream(&lists(&id_of(&asked[0]))).await;
    assert!(bench.to_upstream()[0].contains("tools/call"));
}

#[tokio::test(start_paused = true)]
async fn a_server_whose_handshake_there_was_no_memory_for_is_started_again() {
    let (bench, rooms) = scarce(Bench::ready(open, &["echo"]).await);
    let restart = async || {
        bench.gate.upstream_died(&bench.talk).await.unwrap();
        bench.gate.upstream_restarted(&bench.talk).await;
        id_of(&bench.to_upstream()[0])
    };
    let asked = restart().await;
    leave(&rooms, 0);
    bench.upstream(&agreed(&asked, "")).await;
    assert_eq!(bench.talk.upstream.restarts(), 1);
    leave(&rooms, ENOUGH);
    let asked = restart().await;
    bench.upstream(&agreed(&asked, "")).await;
    bench.to_upstream();
    bench
        .agent(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
        .await;
    assert_eq!(bench.to_upstream().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_is_asked_again_what_it_speaks_when_there_was_no_memory_for_its_answer() {
    const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let ping = |id: u32| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{{META}}}}}"#)
    };
    let says = |asked: &[String]| {
        assert!(asked[0].contains("server/discover"), "{asked:?}");
        let id = id_of(&asked[0]);
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{}},"ttlMs":0,"cacheScope":"private"}}}}"#
        )
    };
    let (bench, rooms) = scarce(Bench::with(open, |settings| settings.eras = Eras::Asked));
    bench.agent(&ping(1)).await;
    let answer = says(&bench.to_upstream());
    leave(&rooms, 0);
    bench.upstream(&answer).await;
    assert_eq!(bench.to_agent().len(), 1);
    leave(&rooms, ENOUGH);
    bench.agent(&ping(2)).await;
    bench.upstream(&says(&bench.to_upstream())).await;
    assert!(bench.to_upstream()[0].contains("tools/list"));
}

#[tokio::test(start_paused = true)]
async fn a_trial_whose_answer_there_is_no_memory_for_has_failed() {
    for opening in [Opening::Discover, Opening::Initialize] {
        let (bench, rooms) = scarce(Bench::new(open));
        bench.gate.try_out(&bench.talk, opening).await;
        let asked = id_of(&bench.to_upstream()[0]);
        leave(&rooms, 0);
        bench.upstream(&agreed(&asked, "")).await;
        let trial = trial_of(&bench);
        assert!(matches!(trial, Trial::Failed(_)), "{trial:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_is_told_that_there_is_no_memory_for_what_it_asks() {
    let secret = secrecy::SecretString::from("12345678");
    let secrets = Redactor::new([&secret]).unwrap();
    let bench = Bench::with(open, |settings| settings.secrets = secrets);
    bench.shake_hands().await;
    let (bench, rooms) = scarce(bench);
    leave(&rooms, 0);
    for (frame, id) in [
        (r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#, r#""p""#),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"which?","requestedSchema":{"type":"object","properties":{}}}}"#,
            "7",
        ),
        (r#"{"jsonrpc":"2.0","id":12345678,"method":"ping"}"#, ""),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
            "",
        ),
        // It is not known whether that asks.
        (
            r#"{"jsonrpc":"2.0","id":8,"method":"ping","result":{}}"#,
            "",
        ),
    ] {
        bench.upstream(frame).await;
        let told = bench.to_upstream();
        assert_eq!(told.len(), usize::from(!id.is_empty()), "{frame}: {told:?}");
        for told in told {
            let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603"#);
            assert!(told.starts_with(&head), "{told}");
            assert!(told.contains("limits.max_memory"), "{told}");
        }
        assert_eq!(bench.to_agent(), [""; 0], "{frame}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_answered_what_it_asked_and_not_what_it_told() {
    let secret = secrecy::SecretString::from("12345678");
    let secrets = Redactor::new([&secret]).unwrap();
    let (bench, rooms) = scarce(Bench::with(open, |settings| settings.secrets = secrets));
    bench.shake_hands().await;
    leave(&rooms, 0);
    let deep = "[".repeat(200);
    for (frame, id) in [
        (r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#, r#""p""#),
        (r#"{"jsonrpc":"2.0","id":12345678,"method":"ping"}"#, "null"),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"more":{"id":1}}}"#,
            "",
        ),
        (r#"{"jsonrpc":"2.0","id":9,"result":{}}"#, ""),
        // Its sender may wait for an answer.
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "null"),
        (r#"{"jsonrpc":"2.0","\u0069d":3,"method":"ping"}"#, "null"),
        (r#"{"jsonrpc":"2.0","method":"ping""#, "null"),
        (&deep, "null"),
    ] {
        bench.agent(frame).await;
        let told = bench.to_agent();
        assert_eq!(told.len(), usize::from(!id.is_empty()), "{frame}: {told:?}");
        let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"error""#);
        assert!(told.iter().all(|it| it.starts_with(&head)), "{told:?}");
        assert_eq!(bench.to_upstream(), [""; 0], "{frame}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_has_waited_and_finds_no_memory_is_paid_for() {
    let three = NonZeroU32::new(3).unwrap();
    for finds_memory in [false, true] {
        let (bench, rooms) = scarce(Bench::with(open, |settings| {
            settings.terms.rates.principal = Some(Rate::new(three, Duration::from_mins(1), three));
        }));
        // The first request.
        bench.shake_hands().await;
        bench.agent(&call("1", "echo")).await;
        let asked = id_of(&bench.to_upstream()[0]);
        leave(&rooms, if finds_memory { ENOUGH } else { 1 });
        bench.upstream(&lists(&asked)).await;
        leave(&rooms, ENOUGH);
        bench.to_agent();
        assert_eq!(bench.to_upstream().len(), usize::from(finds_memory));
        for (id, passes) in [(3, 1), (4, 0)] {
            let ping = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            bench.agent(&ping).await;
            assert_eq!(bench.to_upstream().len(), passes, "{id}");
        }
    }
}

fn isolating() -> Bench {
    Bench::with(open, |settings| {
        settings.thresholds = crate::session::Thresholds::new([3]);
    })
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_the_isolated_server_takes_no_room_from_the_handshake_with_it() {
    let mut bench = isolating();
    bench.shake_hands().await;
    let memory = crate::memory::Memory::limited(FOR_ONE, || 0);
    bench.gate = bench.gate.within(memory);
    bench.raise(3);
    let ping = long_ping();
    let mut pinging = Box::pin(bench.agent(&ping));
    waits(&mut pinging).await;
    let reached = bench.to_upstream();
    assert_eq!(reached[0], MOVED);
    bench.upstream(&agreed_at_length(&id_of(&reached[1]))).await;
    let told = bench.to_upstream();
    assert!(
        told.iter()
            .any(|it| it.contains("notifications/initialized")),
        "{told:?}"
    );
    pinging.await;
    assert!(bench.to_upstream()[0].contains(r#""method":"ping""#));
}

#[tokio::test(start_paused = true)]
async fn what_waited_for_room_while_its_session_moved_goes_along_with_it() {
    let mut bench = isolating();
    bench.shake_hands().await;
    let memory = crate::memory::Memory::limited(FOR_ONE, || 0);
    bench.gate = bench.gate.within(memory.clone());
    let others = memory.room(10 << 20, 10 << 20).unwrap();
    let ping = long_ping();
    let mut pinging = Box::pin(bench.agent(&ping));
    waits(&mut pinging).await;
    bench.raise(3);
    Box::pin(bench.gate.keep_apart(&bench.talk)).await.unwrap();
    let reached = bench.to_upstream();
    drop(others);
    waits(&mut pinging).await;
    assert_eq!(bench.to_upstream(), [""; 0], "there is no session yet");
    assert_eq!(bench.to_agent(), [""; 0]);
    bench.upstream(&agreed(&id_of(&reached[1]), "")).await;
    pinging.await;
    let told = bench.to_upstream();
    assert!(
        told.iter().any(|it| it.contains(r#""method":"ping""#)),
        "{told:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_the_open_server_said_before_its_session_moved_answers_nothing_that_is_asked_then() {
    for finds_room in [false, true] {
        let mut bench = isolating();
        bench.shake_hands().await;
        bench
            .agent(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
            .await;
        let last: u64 = id_of(&bench.to_upstream()[0]).parse().unwrap();
        let guessed = (last + 1).to_string();
        let memory = crate::memory::Memory::limited(FOR_ONE, || 0);
        bench.gate = bench.gate.within(memory.clone());
        let mut others = memory.room(10 << 20, 10 << 20);
        assert!(others.is_some());
        let answer = agreed_at_length(&guessed);
        let mut answering = Box::pin(bench.upstream(&answer));
        waits(&mut answering).await;
        bench.raise(3);
        Box::pin(bench.gate.keep_apart(&bench.talk)).await.unwrap();
        assert_eq!(id_of(&bench.to_upstream()[1]), guessed);
        if finds_room {
            others.take();
        }
        answering.await;
        let state = bench.talk.session.state();
        assert!(
            state
                .waiting
                .to_upstream
                .has_method(KnownMethod::Initialize)
        );
        assert_eq!(
            state.connection.upstream,
            Readiness::Repeating,
            "{finds_room}"
        );
        assert_eq!(bench.talk.upstream.restarts(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_open_server_still_owes_is_not_waited_for_when_there_is_no_memory_for_it() {
    let bench = isolating();
    bench.shake_hands().await;
    bench.list(&["read"]).await;
    let (bench, rooms) = scarce(bench);
    bench.agent(&call("1", "read")).await;
    let asked = id_of(&bench.to_upstream()[0]);
    bench.raise(3);
    Box::pin(bench.gate.keep_apart(&bench.talk)).await.unwrap();
    leave(&rooms, 0);
    bench.left(&result(&asked)).await;
    let told = bench.to_agent();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("limits.max_memory"), "{told:?}");
    assert!(bench.talk.upstream.is_left());
}
