//! Messages that began before the open server, whose session has moved before they left.

use crate::session::Instance;
use std::pin::Pin;

use super::super::pins::{PROMPT, prompts, speaking};
use super::*;
use crate::audit::Durability;
use crate::gate::Level;
use crate::policy::Pinning;

/// As the isolated server defines it: what was written for the open one does not fit.
const OTHERWISE: &str =
    r#"{"name":"read","inputSchema":{"type":"object","required":["b"],"properties":{"b":{}}}}"#;

fn tells_of_changes(id: &str) -> String {
    agreed(id).replace(
        r#""capabilities":{}"#,
        r#""capabilities":{"prompts":{"listChanged":true},"resources":{"listChanged":true}}"#,
    )
}

#[tokio::test]
async fn a_call_that_goes_along_with_its_session_is_judged_by_the_isolated_servers_definition() {
    let (mut sent, mut refused) = (0, 0);
    for after in 0..8 {
        let bench = Bench::with(open, |settings| {
            settings.thresholds = crate::session::Thresholds::new([SECRET]);
            settings.terms.guards.arguments = Level::Strict;
        });
        bench.shake_hands().await;
        bench.list(&["read"]).await;
        let bench = rising(bench, after);
        let asked = call("1", "read");
        let reached = methods(&bench.agent_meanwhile(&asked, &[OTHERWISE]).await);
        let at = |wanted: &str| reached.iter().position(|it| it == wanted);
        let calls = bench.records_of("tool_call").await;
        assert_eq!(calls.len(), 1, "{after}: one decision");
        if let Some(call) = at("tools/call") {
            sent += 1;
            assert!(at(MOVED).is_none_or(|moved| call < moved), "{reached:?}");
            continue;
        }
        refused += 1;
        let answers = bench.to_agent();
        assert_eq!(answers.len(), 1, "{after}: {answers:?}");
        assert!(answers[0].contains("inputSchema"), "{after}: {answers:?}");
        assert_eq!(calls[0].get(&["upstream"]), "fixture (isolated)");
        assert_eq!(calls[0].get(&["reason", "code"]), "arguments");
    }
    assert!(sent > 0 && refused > 1, "{sent} {refused}");
}

#[tokio::test]
async fn a_call_whose_session_moves_while_its_decision_is_recorded_is_refused_and_may_come_again() {
    let bench = Bench::recording(open, Durability::Strict, |settings| {
        settings.thresholds = crate::session::Thresholds::new([SECRET]);
    });
    bench.shake_hands().await;
    bench.list(&["read"]).await;
    let asked = call("1", "read");
    bench.latch.close();
    let moved = async {
        bench.raise(SECRET);
        Box::pin(bench.gate.keep_apart(&bench.talk)).await.unwrap();
    };
    let written = async { bench.latch.open() };
    tokio::join!(biased; bench.agent(&asked), moved, written);
    let reached = bench.to_upstream();
    assert_eq!(methods(&reached), [MOVED, "initialize"]);
    let answers = bench.to_agent();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert!(answers[0].contains("another instance"), "{answers:?}");
    assert!(bench.talk.upstream.is_left());
    let decisions = bench.records_of("tool_call").await;
    assert_eq!(decisions.len(), 1);
    assert_eq!(decisions[0].get(&["decision"]), "ALLOW");
    let outcomes = bench.records_of("tool_result").await;
    assert_eq!(outcomes.len(), 1);
    assert_eq!(outcomes[0].get(&["decision"]), "ERROR");
    // Its id is free, and the isolated server judges and gets it.
    bench.answer(&reached[1], &[]).await;
    let reached = bench.agent_meanwhile(&asked, &["read"]).await;
    assert_eq!(methods(&reached).last().unwrap(), "tools/call");
}

#[tokio::test]
async fn a_prompt_that_the_open_server_showed_is_not_taken_for_the_isolated_ones() {
    let get =
        r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"greet"}}"#.to_owned();
    let mut bench = speaking(None, Pinning::Locked);
    bench.gate.settings.thresholds = crate::session::Thresholds::new([SECRET]);
    bench.gate.assemble();
    bench.shake_hands().await;
    assert!(prompts(&bench, PROMPT).await.contains("greet"));
    bench.raise(SECRET);
    let reached = methods(&bench.agent_meanwhile(&get, &[]).await);
    assert!(!reached.contains(&"prompts/get".to_owned()), "{reached:?}");
    assert!(bench.to_agent()[0].contains("4030"));
    // Once its own is shown, that counts.
    assert!(prompts(&bench, PROMPT).await.contains("greet"));
    bench.agent(&get).await;
    assert_eq!(methods(&bench.to_upstream()), ["prompts/get"]);
}

#[tokio::test]
async fn an_agent_that_has_listed_prompts_and_resources_is_told_that_the_isolated_servers_are_its_own()
 {
    let bench = bench();
    bench.agent(INITIALIZE).await;
    let id = id_of(&bench.to_upstream()[0]);
    bench.upstream(&tells_of_changes(&id)).await;
    for (list, got) in [("prompts/list", "prompts"), ("resources/list", "resources")] {
        bench
            .agent(&format!(
                r#"{{"jsonrpc":"2.0","id":"{got}","method":"{list}"}}"#
            ))
            .await;
        let id = id_of(&bench.to_upstream()[0]);
        bench
            .upstream(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"{got}":[]}}}}"#
            ))
            .await;
    }
    bench.to_agent();
    bench.raise(SECRET);
    let ping = r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;
    bench.agent_meanwhile(ping, &[]).await;
    let expected = [
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
    ];
    assert_eq!(methods(&bench.to_agent()), expected);
}

#[tokio::test]
async fn what_the_agent_follows_at_the_open_server_the_isolated_one_does_not_tell_of() {
    let bench = ready(&["read"]).await;
    let follow =
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///a"}}"#;
    let news = r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}"#;
    bench.agent(follow).await;
    let id = id_of(&bench.to_upstream()[0]);
    let done = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
    bench.upstream(&done).await;
    bench.to_agent();
    bench.upstream(news).await;
    assert_eq!(bench.to_agent().len(), 1);
    bench.raise(SECRET);
    let ping = r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;
    bench.agent_meanwhile(ping, &[]).await;
    bench.upstream(news).await;
    assert_eq!(bench.to_agent(), [""; 0]);
    bench.agent(&follow.replace(r#""id":1"#, r#""id":2"#)).await;
    bench.to_upstream();
    bench.upstream(news).await;
    assert_eq!(bench.to_agent().len(), 1);
}

const LIST: &str = r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#;

/// What the open server lists.
fn uploads(id: &str, next: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"upload","inputSchema":{{"type":"object"}}}}]{next}}}}}"#
    )
}

/// Where each message waits for its record.
pub(super) fn strict() -> Bench {
    Bench::recording(open, Durability::Strict, |settings| {
        settings.thresholds = crate::session::Thresholds::new([SECRET]);
    })
}

/// Lets something begin, up to its first record; it goes on when it is awaited.
pub(in crate::gate::tests) async fn begin<F: Future>(bench: &Bench, going: &mut Pin<Box<F>>) {
    bench.latch.close();
    tokio::select! {
        biased;
        _ = going => panic!("it does not wait for its record"),
        () = std::future::ready(()) => {}
    }
    bench.latch.open();
}

/// The server ends, and is started again.
pub(in crate::gate::tests) async fn dies(bench: &Bench) {
    Box::pin(bench.gate.upstream_died(&bench.talk))
        .await
        .unwrap();
    Box::pin(bench.gate.upstream_restarted(&bench.talk)).await;
}

/// The session moves, and the isolated server agrees to its handshake. Yields what reached that one
/// behind it.
pub(super) async fn moved(bench: &Bench) -> Vec<String> {
    bench.raise(SECRET);
    Box::pin(bench.gate.keep_apart(&bench.talk)).await.unwrap();
    let reached = bench.to_upstream();
    assert_eq!(methods(&reached), [MOVED, "initialize"]);
    bench.answer(&reached[1], &[]).await;
    let reached = bench.to_upstream();
    assert_eq!(methods(&reached[..1]), ["notifications/initialized"]);
    reached[1..].to_vec()
}

#[tokio::test]
async fn a_list_of_the_open_server_that_is_on_its_way_when_the_session_moves_is_not_the_isolated_ones()
 {
    let bench = strict();
    bench.shake_hands().await;
    bench.agent(LIST).await;
    let list = uploads(&id_of(&bench.to_upstream()[0]), "");
    let mut listing = Box::pin(bench.upstream(&list));
    begin(&bench, &mut listing).await;
    assert_eq!(moved(&bench).await, [""; 0]);
    listing.await;
    assert!(bench.to_agent()[0].contains("upload"), "its agent gets it");
    let reached = bench.agent_meanwhile(&call("1", "upload"), &["read"]).await;
    assert_eq!(methods(&reached), ["tools/list"]);
    assert!(bench.to_agent()[0].contains("Unknown tool: upload"));
}

#[tokio::test]
async fn what_the_gate_itself_was_listing_when_the_session_moves_ends_with_the_open_server() {
    for next in ["", r#","nextCursor":"of the open one""#] {
        let bench = strict();
        bench.shake_hands().await;
        bench.agent(&call("1", "upload")).await;
        let page = uploads(&id_of(&bench.to_upstream()[0]), next);
        let mut listing = Box::pin(bench.upstream(&page));
        begin(&bench, &mut listing).await;
        let reached = moved(&bench).await;
        assert_eq!(methods(&reached), ["tools/list"], "{next}");
        listing.await;
        assert_eq!(bench.to_upstream(), [""; 0], "{next}");
        assert_eq!(bench.to_agent(), [""; 0], "{next}");
        bench.answer(&reached[0], &["read"]).await;
        assert_eq!(bench.to_upstream(), [""; 0], "{next}");
        let answers = bench.to_agent();
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert!(answers[0].contains("Unknown tool: upload"), "{answers:?}");
    }
}

#[tokio::test]
async fn a_handshake_that_the_open_server_repeats_is_not_the_isolated_ones() {
    for agrees in ["2025-11-25", "2025-06-18"] {
        let bench = strict();
        bench.shake_hands().await;
        Box::pin(bench.gate.upstream_died(&bench.talk))
            .await
            .unwrap();
        Box::pin(bench.gate.upstream_restarted(&bench.talk)).await;
        let again = agreed(&id_of(&bench.to_upstream()[0])).replace("2025-11-25", agrees);
        let mut repeating = Box::pin(bench.upstream(&again));
        begin(&bench, &mut repeating).await;
        bench.raise(SECRET);
        Box::pin(bench.gate.keep_apart(&bench.talk)).await.unwrap();
        let reached = bench.to_upstream();
        assert_eq!(methods(&reached), [MOVED, "initialize"]);
        repeating.await;
        assert_eq!(bench.to_upstream(), [""; 0], "{agrees}");
        assert_eq!(
            bench.talk.session.place(),
            Place::Moving(Instance::ISOLATED[0]),
            "{agrees}"
        );
        assert_eq!(bench.talk.upstream.restarts(), 0, "{agrees}");
        bench.answer(&reached[1], &[]).await;
        assert_eq!(bench.talk.session.place(), Place::At(Instance::ISOLATED[0]));
        assert_eq!(
            bench.talk.session.state().connection.upstream,
            Readiness::Up
        );
    }
}

#[tokio::test]
async fn an_agent_whose_handshake_the_open_server_answers_too_late_begins_another_one() {
    let bench = strict();
    bench.agent(INITIALIZE).await;
    let late = agreed(&id_of(&bench.to_upstream()[0]));
    let mut answering = Box::pin(bench.upstream(&late));
    begin(&bench, &mut answering).await;
    bench.raise(SECRET);
    Box::pin(bench.gate.keep_apart(&bench.talk)).await.unwrap();
    answering.await;
    let answers = bench.to_agent();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert!(answers[0].contains("another instance"), "{answers:?}");
    assert_eq!(bench.to_upstream(), [MOVED]);
    bench.agent(INITIALIZE).await;
    assert_eq!(methods(&bench.to_upstream()), ["initialize"]);
}

thread_local! {
    static MEMORY: std::cell::RefCell<crate::memory::Memory> = std::cell::RefCell::default();
    static WITHOUT_ROOM: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts how often a call is judged while nobody has room.
fn with_room(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    if let Action::CallTool { .. } = facts.action {
        let is_free = MEMORY.with_borrow(|it| it.room(10 << 20, 10 << 20).is_some());
        WITHOUT_ROOM.set(WITHOUT_ROOM.get() + usize::from(is_free));
    }
    Ok(allow())
}

#[tokio::test]
async fn a_call_that_is_judged_again_where_its_session_is_has_room_for_that() {
    for after in 0..8 {
        let mut bench = Bench::with(with_room, |it| {
            it.thresholds = crate::session::Thresholds::new([SECRET]);
        });
        bench.shake_hands().await;
        bench.list(&["read"]).await;
        let limit = crate::gate::tests::scarce::FOR_ONE;
        let memory = crate::memory::Memory::limited(limit, || 0);
        MEMORY.replace(memory.clone());
        bench.gate = bench.gate.within(memory);
        let bench = rising(bench, after);
        let long =
            call("1", "read").replace(r#""a":1"#, &format!(r#""a":"{}""#, "x".repeat(1 << 20)));
        let reached = bench.agent_meanwhile(&long, &["read"]).await;
        assert!(
            reached.iter().any(|it| it.contains("tools/call")),
            "{after}"
        );
        assert_eq!(WITHOUT_ROOM.get(), 0, "{after}");
    }
}
