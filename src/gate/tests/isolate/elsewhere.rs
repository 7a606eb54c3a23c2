//! Messages that began before the open server, whose session has moved before they left.

use super::super::pins::{PROMPT, prompts, speaking};
use super::*;
use crate::audit::Durability;
use crate::gate::Level;
use crate::policy::LockMode;

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
            settings.isolate_from = Some(SECRET);
            settings.guards.arguments = Level::Strict;
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
        settings.isolate_from = Some(SECRET);
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
    let mut bench = speaking(None, LockMode::Known);
    bench.gate.settings.isolate_from = Some(SECRET);
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
