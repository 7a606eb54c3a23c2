//! What is in flight at the open server when its session moves, and what comes of it afterwards.

use super::super::pins::{PROMPT, prompts, speaking};
use super::elsewhere::{begin, dies, moved, strict};
use super::*;
use crate::gate::UpstreamFault;
use crate::policy::Pinning;
use crate::session::Instance;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;

/// A request of an agent without a session.
fn modern(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params},{META}}}}}"#)
}

fn replied(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// The session moves, whether or not it has a handshake.
async fn leaves(bench: &Bench) {
    bench.raise(SECRET);
    Box::pin(bench.gate.keep_apart(&bench.talk)).await.unwrap();
    bench.to_upstream();
}

#[tokio::test]
async fn whatever_is_in_flight_when_the_session_moves_is_answered_by_the_open_server_once() {
    let requests = [
        ("tools/call", r#""name":"read","arguments":{}"#),
        ("prompts/get", r#""name":"greet""#),
        ("resources/read", r#""uri":"file:///a""#),
        ("prompts/list", r#""_meta":{}"#),
    ];
    for (method, params) in requests {
        let bench = ready(&["read"]).await;
        bench
            .agent(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}}}}}"#
            ))
            .await;
        let result = match method {
            "tools/call" => r#"{"content":[]}"#,
            "prompts/get" => r#"{"messages":[]}"#,
            "resources/read" => r#"{"contents":[]}"#,
            _ => r#"{"prompts":[]}"#,
        };
        let asked = id_of(&bench.to_upstream()[0]);
        leaves(&bench).await;
        bench.upstream(&replied(&asked, result)).await;
        assert_eq!(bench.to_agent(), [""; 0], "{method}");
        bench.left(&replied(&asked, result)).await;
        bench.left(&replied(&asked, result)).await;
        assert_eq!(bench.to_agent(), [replied("1", result)], "{method}");
        assert!(bench.talk.upstream.is_left(), "{method}");
    }
}

#[tokio::test]
async fn whatever_the_open_server_says_late_is_recorded_under_its_own_name() {
    let news = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#.to_owned();
    let question = r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#.to_owned();
    let reply = |id: &str| replied(id, r#"{"content":[]}"#);
    let cases: [fn(&str) -> String; 4] = [
        |id| replied(id, r#"{"content":[]}"#),
        |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":1,"a":2}}}}"#),
        |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}},"error":{{}}}}"#),
        |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":1,"message":"no"}}}}"#),
    ];
    for case in cases {
        for ends in [false, true] {
            let bench = ready(&["read"]).await;
            bench.agent(&call("1", "read")).await;
            let asked = id_of(&bench.to_upstream()[0]);
            leaves(&bench).await;
            let before = bench.records().await.len();
            for frame in [news.clone(), question.clone(), reply("77")] {
                bench.left(&frame).await;
            }
            if ends {
                Box::pin(bench.gate.died_elsewhere(&bench.talk, Instance::OPEN))
                    .await
                    .unwrap();
            } else {
                bench.left(&case(&asked)).await;
            }
            assert_eq!(bench.to_agent().len(), 1);
            let records = bench.records().await;
            let late = &records[before..];
            assert!(late.len() >= 4, "{}", late.len());
            for record in late {
                assert_eq!(record.get(&["upstream"]), "fixture", "{record:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_reply_that_is_on_its_way_when_the_session_moves_reaches_its_agent_once() {
    let bench = strict();
    bench.shake_hands().await;
    bench.list(&["read"]).await;
    bench.agent(&call("1", "read")).await;
    let reply = result(&id_of(&bench.to_upstream()[0]));
    let mut replying = Box::pin(bench.upstream(&reply));
    begin(&bench, &mut replying).await;
    moved(&bench).await;
    replying.await;
    bench.left(&reply).await;
    assert_eq!(bench.to_agent(), [result("1")]);
    assert!(bench.talk.upstream.is_left());
}

#[tokio::test]
async fn prompts_that_the_open_server_lists_too_late_are_not_the_isolated_ones() {
    let list = r#"{"jsonrpc":"2.0","id":"p","method":"prompts/list"}"#;
    let get =
        r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"greet"}}"#.to_owned();
    let mut bench = speaking(None, Pinning::Locked);
    bench.gate.settings.thresholds = crate::session::Thresholds::new([SECRET]);
    bench.gate.assemble();
    bench.shake_hands().await;
    bench.agent(list).await;
    let asked = id_of(&bench.to_upstream()[0]);
    bench.raise(SECRET);
    let ping = r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;
    bench.agent_meanwhile(ping, &[]).await;
    bench
        .left(&replied(&asked, &format!(r#"{{"prompts":[{PROMPT}]}}"#)))
        .await;
    assert!(bench.to_agent()[0].contains("greet"), "its agent gets it");
    bench.agent(&get).await;
    assert_eq!(bench.to_upstream(), [""; 0]);
    assert!(bench.to_agent()[0].contains("4030"));
    assert!(prompts(&bench, PROMPT).await.contains("greet"));
    bench.agent(&get).await;
    assert_eq!(methods(&bench.to_upstream()), ["prompts/get"]);
}

/// Results that are not the end, and how their agent goes on with them.
fn handles() -> [(&'static str, String); 2] {
    [
        (
            r#"{"resultType":"input_required","requestState":"opens"}"#,
            modern(
                "2",
                "tools/call",
                r#""name":"read","arguments":{},"requestState":"opens""#,
            ),
        ),
        (
            r#"{"resultType":"task","taskId":"t","status":"working","ttlMs":60000,"createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z"}"#,
            modern("2", "tasks/get", r#""taskId":"t""#),
        ),
    ]
}

#[tokio::test]
async fn what_the_open_server_has_not_finished_when_its_session_moves_leaves_nothing_to_go_on_with()
{
    for on_its_way in [true, false] {
        for (unfinished, goes_on) in handles() {
            let bench = strict();
            let asks = modern("1", "tools/call", r#""name":"read","arguments":{}"#);
            let reached = bench.agent_meanwhile(&asks, &["read"]).await;
            let reply = replied(&id_of(reached.last().unwrap()), unfinished);
            if on_its_way {
                let mut replying = Box::pin(bench.upstream(&reply));
                begin(&bench, &mut replying).await;
                leaves(&bench).await;
                replying.await;
                assert_eq!(bench.to_agent(), [replied("1", unfinished)]);
            } else {
                leaves(&bench).await;
                bench.left(&reply).await;
                let told = bench.to_agent();
                assert_eq!(told.len(), 1, "{told:?}");
                assert!(told[0].contains("another instance"), "{told:?}");
            }
            let reached = bench.agent_meanwhile(&goes_on, &["read"]).await;
            let reached = methods(&reached);
            assert!(reached.iter().all(|it| it == "tools/list"), "{reached:?}");
            let told = bench.to_agent();
            assert!(told[0].contains("-32602"), "{told:?}");
        }
    }
}

#[tokio::test]
async fn a_result_of_an_extensions_type_is_no_end_where_its_session_has_moved() {
    let deferred = r#"{"resultType":"vendor/deferred","ticket":"t-1"}"#;
    let mut bench = strict();
    let types = [crate::wire::ListedType::named("vendor/deferred").unwrap()];
    bench.gate.settings.extensions = Extensions::default().with_result_types(types);
    let asks = modern("1", "tools/call", r#""name":"read","arguments":{}"#);
    let reached = bench.agent_meanwhile(&asks, &["read"]).await;
    let reply = replied(&id_of(reached.last().unwrap()), deferred);
    leaves(&bench).await;
    bench.left(&reply).await;
    let told = bench.to_agent();
    assert!(told[0].contains("another instance"), "{told:?}");
}

#[tokio::test]
async fn before_the_session_moves_the_same_can_be_gone_on_with() {
    for (unfinished, goes_on) in handles() {
        let bench = strict();
        let asks = modern("1", "tools/call", r#""name":"read","arguments":{}"#);
        let reached = bench.agent_meanwhile(&asks, &["read"]).await;
        let reply = replied(&id_of(reached.last().unwrap()), unfinished);
        bench.upstream(&reply).await;
        bench.agent(&goes_on).await;
        assert_eq!(bench.to_upstream().len(), 1);
    }
}

/// How a server goes that has asked something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goes {
    Left,
    Died,
}

impl Goes {
    async fn of(self, bench: &Bench) {
        match self {
            Self::Left => leaves(bench).await,
            Self::Died => {
                dies(bench).await;
                bench.to_upstream();
            }
        }
    }
}

#[tokio::test]
async fn what_becomes_of_a_question_is_told_to_no_server_that_did_not_ask_it() {
    let question = r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#;
    for goes in [Goes::Left, Goes::Died] {
        let bench = strict();
        bench.shake_hands().await;
        bench.upstream(question).await;
        bench.clock.advance(Duration::from_mins(2));
        let mut expiring = Box::pin(bench.gate.expire(&bench.talk));
        begin(&bench, &mut expiring).await;
        goes.of(&bench).await;
        expiring.await.unwrap();
        assert_eq!(bench.to_upstream(), [""; 0], "{goes:?}: its time is over");

        let bench = strict();
        bench.shake_hands().await;
        bench.upstream(question).await;
        let asked = id_of(&bench.to_agent()[0]);
        let twice = format!(r#"{{"jsonrpc":"2.0","id":{asked},"result":{{}},"result":{{}}}}"#);
        let mut answering = Box::pin(bench.agent(&twice));
        begin(&bench, &mut answering).await;
        goes.of(&bench).await;
        answering.await;
        assert_eq!(bench.to_upstream(), [""; 0], "{goes:?}: it is no answer");
    }
    // The one that asked is told of both.
    let bench = ready(&[]).await;
    bench.upstream(question).await;
    bench.clock.advance(Duration::from_mins(2));
    Box::pin(bench.gate.expire(&bench.talk)).await.unwrap();
    assert!(bench.to_upstream()[0].contains(r#""id":"q","error""#));
}

#[tokio::test]
async fn what_waits_for_the_isolated_server_when_the_conversation_ends_is_answered_and_recorded() {
    for (frame, kind, told) in [
        (call("1", "read"), "tool_call", 1),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#.to_owned(),
            "notification",
            0,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"#.to_owned(),
            "malformed_message",
            1,
        ),
    ] {
        let bench = ready(&["read"]).await;
        leaves(&bench).await;
        assert_eq!(
            bench.talk.session.place(),
            Place::Moving(Instance::ISOLATED[0])
        );
        let mut waiting = Box::pin(bench.agent(&frame));
        tokio::select! {
            biased;
            () = &mut waiting => panic!("it does not wait"),
            () = std::future::ready(()) => {}
        }
        let before = bench.records().await.len();
        Box::pin(
            bench
                .gate
                .conversation_ends(&bench.talk, &UpstreamFault::SessionOver),
        )
        .await
        .unwrap();
        assert_eq!(bench.to_agent().len(), told, "{frame}");
        let records = bench.records().await;
        let ended: Vec<_> = records[before..]
            .iter()
            .filter(|it| it.get(&["kind"]) == kind)
            .collect();
        assert_eq!(ended.len(), 1, "{frame}");
        assert_ne!(ended[0].get(&["decision"]), "ALLOW", "{frame}");
        // It is not judged after all.
        waiting.await;
        assert_eq!(bench.to_agent(), [""; 0], "{frame}");
        assert_eq!(bench.records().await.len(), records.len(), "{frame}");
    }
}
