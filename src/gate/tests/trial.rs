//! A handshake of the gate's own, with a server that is scripted.

use super::*;
use crate::session::{Opening, Trial};

/// How far the handshake of the gate's own has got.
pub(super) fn trial_of(bench: &Bench) -> Trial {
    let state = bench.talk.session.state();
    state.protocol.trial.clone().unwrap_or_default()
}

/// What comes of an answer, and what the server is told then.
async fn check(opening: Opening, answer: &str, expected: &str) {
    let bench = Bench::new(open);
    bench.gate.try_out(&bench.talk, opening).await;
    let asked = bench.to_upstream();
    assert_eq!(asked.len(), 1, "{asked:?}");
    let id = id_of(&asked[0]);
    let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},{answer}}}"#);
    bench.upstream(&answer).await;
    let came = match trial_of(&bench) {
        Trial::Open => "open".to_owned(),
        Trial::Passed => "passed".to_owned(),
        Trial::Otherwise(how) => format!("otherwise: {how}"),
        Trial::Failed(why) => format!("failed: {why}"),
    };
    assert!(came.starts_with(expected), "{answer}: {came}");
    let told = bench.to_upstream();
    let begins = opening == Opening::Initialize && expected == "passed";
    assert_eq!(told.len(), usize::from(begins), "{answer}: {told:?}");
    assert!(
        told.iter()
            .all(|it| it.contains("notifications/initialized"))
    );
    assert_eq!(bench.to_agent(), Vec::<String>::new(), "{answer}");
    // It has an outcome, whatever it is.
    let records = bench.records().await;
    let own = records
        .iter()
        .filter(|it| it.get(&["kind"]) == "gate_decision");
    assert_eq!(own.count(), 2, "{answer}");
}

#[tokio::test]
async fn only_an_answer_that_agrees_is_a_handshake() {
    let error = |code: i32| format!(r#""error":{{"code":{code},"message":"no"}}"#);
    let speaks = |version: &str| format!(r#""result":{{"supportedVersions":["{version}"]}}"#);
    for (answer, expected) in [
        (speaks("2026-07-28"), "passed"),
        (speaks("2025-11-25"), "otherwise: it speaks 2025-11-25"),
        (r#""result":{}"#.to_owned(), "otherwise"),
        (error(-32_601), "otherwise"),
        (error(-32_021), "failed"),
        (r#""result":{"a":1,"a":2}"#.to_owned(), "failed"),
    ] {
        check(Opening::Discover, &answer, expected).await;
    }
    let agrees = |version: &str| {
        format!(
            r#""result":{{"protocolVersion":"{version}","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}"#
        )
    };
    for (answer, expected) in [
        (agrees("2025-11-25"), "passed"),
        (agrees("2025-03-26"), "passed"),
        (agrees("2026-07-28"), "failed"),
        (agrees("1999-01-01"), "failed"),
        (r#""result":{}"#.to_owned(), "failed"),
        (
            error(-32_601),
            "otherwise: it answers `initialize` with the error -32601",
        ),
    ] {
        check(Opening::Initialize, &answer, expected).await;
    }
}

#[tokio::test]
async fn a_server_that_is_gone_or_silent_has_failed_its_trial() {
    for opening in [Opening::Discover, Opening::Initialize] {
        let bench = Bench::new(open);
        bench.gate.try_out(&bench.talk, opening).await;
        bench.to_upstream();
        bench.clock.advance(Duration::from_mins(1));
        bench.gate.expire(&bench.talk).await.unwrap();
        let trial = || trial_of(&bench);
        assert!(matches!(trial(), Trial::Failed(_)), "{:?}", trial());
        assert_eq!(bench.to_upstream(), Vec::<String>::new(), "{opening:?}");
        bench.gate.try_out(&bench.talk, opening).await;
        assert_eq!(trial(), Trial::Open);
        bench.gate.upstream_died(&bench.talk).await.unwrap();
        assert!(matches!(trial(), Trial::Failed(_)), "{:?}", trial());
        assert_eq!(bench.to_agent(), Vec::<String>::new());
        assert_eq!(bench.talk.upstream.restarts(), 0);
    }
}

#[tokio::test]
async fn a_ping_in_a_trial_is_answered_once() {
    let bench = Bench::new(open);
    bench.gate.try_out(&bench.talk, Opening::Initialize).await;
    bench.to_upstream();
    bench
        .upstream(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#)
        .await;
    let asked = bench.to_agent();
    let minted = id_of(&asked[0]).parse().unwrap();
    bench.gate.answer_ping(&bench.talk, minted).await.unwrap();
    let answered = [r#"{"jsonrpc":"2.0","id":"p","result":{}}"#];
    assert_eq!(bench.to_upstream(), answered);
    bench.gate.answer_ping(&bench.talk, minted).await.unwrap();
    assert_eq!(bench.to_upstream(), Vec::<String>::new());
    // Nothing else is asked of nobody.
    bench
        .upstream(r#"{"jsonrpc":"2.0","id":"r","method":"roots/list"}"#)
        .await;
    assert_eq!(bench.to_agent(), Vec::<String>::new());
    assert!(bench.to_upstream()[0].contains(r#""error""#));
}
