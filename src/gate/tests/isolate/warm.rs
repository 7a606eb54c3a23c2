//! Isolated servers that are started with a session.

use super::*;
use crate::session::{PerInstance, Thresholds};

const CONFIDENTIAL: i64 = 2;
const FIRST: Instance = Instance::ISOLATED[0];

/// The first isolated server is kept warm, and the second is not.
fn warm_bench() -> Bench {
    Bench::with(open, |settings| {
        settings.thresholds = Thresholds::new([CONFIDENTIAL, SECRET]);
        settings.warm = PerInstance::from_first([false, true, false]);
    })
}

/// The same after the session's handshake, and what was asked of the server that is kept warm.
async fn greeting() -> (Bench, String) {
    let bench = warm_bench();
    bench.agent(INITIALIZE).await;
    let id = id_of(&bench.to_upstream()[0]);
    bench.upstream(&agreed(&id)).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    let reached = bench.to_upstream();
    assert_eq!(
        methods(&reached),
        [
            "notifications/initialized",
            "server (isolated)",
            "initialize"
        ]
    );
    bench.to_agent();
    let asked = id_of(&reached[2]);
    (bench, asked)
}

async fn said_by(bench: &Bench, instance: Instance, frame: &str) {
    let form = (Stream::MAIN, ArrivalForm::Event);
    let handled = bench
        .gate
        .handle_elsewhere(&bench.talk, instance, form, frame.as_bytes());
    Box::pin(handled).await.unwrap();
}

#[tokio::test]
async fn a_session_that_moves_to_a_warm_server_waits_for_no_handshake() {
    let (bench, asked) = greeting().await;
    said_by(&bench, FIRST, &agreed(&asked)).await;
    bench.list(&["read"]).await;
    bench.raise(CONFIDENTIAL);
    // No server answers anything meanwhile.
    bench
        .agent(r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#)
        .await;
    assert_eq!(
        methods(&bench.to_upstream()),
        [MOVED, "notifications/initialized", "ping"]
    );
    assert_eq!(bench.talk.session.place(), Place::At(FIRST));
    // The next one is cold.
    bench.raise(SECRET);
    let reached = bench.agent_meanwhile(&call("1", "read"), &["read"]).await;
    assert_eq!(methods(&reached)[..2], [MOVED, "initialize"]);
}

#[tokio::test]
async fn a_warm_server_that_has_not_agreed_yet_is_waited_for_and_asked_once() {
    let (bench, asked) = greeting().await;
    bench.raise(CONFIDENTIAL);
    let pinging = bench.agent(r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#);
    let answering = async {
        tokio::task::yield_now().await;
        bench.upstream(&agreed(&asked)).await;
    };
    tokio::join!(pinging, answering);
    assert_eq!(
        methods(&bench.to_upstream()),
        [MOVED, "notifications/initialized", "ping"]
    );
}

#[tokio::test]
async fn a_warm_server_is_heard_only_when_it_agrees_to_the_handshake() {
    let (bench, asked) = greeting().await;
    bench.list(&["read"]).await;
    bench.agent(&call("1", "read")).await;
    let call_asked = id_of(&bench.to_upstream()[0]);
    for frame in [
        result(&call_asked),
        r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#.to_owned(),
        "{".to_owned(),
    ] {
        said_by(&bench, FIRST, &frame).await;
        assert_eq!(bench.to_agent(), [""; 0], "{frame}");
        assert_eq!(bench.to_upstream(), [""; 0], "{frame}");
        let last = bench.records().await.pop().unwrap();
        assert_eq!(last.get(&["reason", "code"]), "left", "{frame}");
        assert_eq!(last.get(&["upstream"]), "fixture (isolated)", "{frame}");
    }
    // Another server cannot agree in its place.
    bench.upstream(&agreed(&asked)).await;
    said_by(&bench, Instance::ISOLATED[1], &agreed(&asked)).await;
    assert!(
        bench
            .talk
            .session
            .state()
            .connection
            .greeted
            .of(FIRST)
            .is_none()
    );
    said_by(&bench, FIRST, &agreed(&asked)).await;
    assert!(
        bench
            .talk
            .session
            .state()
            .connection
            .greeted
            .of(FIRST)
            .is_some()
    );
    bench.upstream(&result(&call_asked)).await;
    assert_eq!(bench.to_agent(), [result("1")]);
}

#[tokio::test]
async fn a_warm_server_that_ends_or_disagrees_is_asked_again_when_the_session_comes() {
    for ends in [true, false] {
        let (bench, asked) = greeting().await;
        if ends {
            said_by(&bench, FIRST, &agreed(&asked)).await;
            let died = bench.gate.died_elsewhere(&bench.talk, FIRST);
            Box::pin(died).await.unwrap();
        } else {
            let other = agreed(&asked).replace("2025-11-25", "2025-06-18");
            said_by(&bench, FIRST, &other).await;
        }
        bench.to_upstream();
        assert_eq!(bench.to_agent(), [""; 0]);
        assert_eq!(
            bench.talk.session.state().connection.upstream,
            Readiness::Up,
            "the server that is spoken to goes on"
        );
        bench.raise(CONFIDENTIAL);
        let ping = r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;
        let reached = bench.agent_meanwhile(ping, &[]).await;
        assert_eq!(methods(&reached)[..2], [MOVED, "initialize"]);
    }
}

#[tokio::test]
async fn what_a_warm_server_answers_restarts_no_other_server_while_that_one_begins_anew() {
    for frame in [
        r#"{"jsonrpc":"2.0","id":ID,"result":{"a":1,"a":2}}"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":{"_meta":{"a":1,"A":2},"capabilities":1}}"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":1}}"#,
    ] {
        let (bench, asked) = greeting().await;
        let state = || bench.talk.session.state();
        state().connection.upstream = Readiness::Repeating;
        said_by(&bench, FIRST, &frame.replace("ID", &asked)).await;
        assert_eq!(bench.talk.upstream.restarts(), 0, "{frame}");
        assert_eq!(state().connection.upstream, Readiness::Repeating, "{frame}");
    }
}

#[tokio::test]
async fn the_handshake_with_a_warm_server_is_recorded_under_its_name() {
    let (bench, asked) = greeting().await;
    said_by(&bench, FIRST, &agreed(&asked)).await;
    let records = bench.records().await;
    let of_the_warm: Vec<_> = records
        .iter()
        .filter(|record| record.get(&["upstream"]) == "fixture (isolated)")
        .map(|record| record.get(&["method"]))
        .collect();
    assert_eq!(of_the_warm, ["initialize", "initialize"]);
}
