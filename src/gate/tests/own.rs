//! What the gate asks and tells of its own accord.

use super::*;
use crate::policy::Obligation;

/// An answer to `initialize`.
fn agreed(id: &str, version: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"{version}","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
    )
}

/// A gate whose upstream was restarted and has been asked to agree again, under this id.
async fn restarted() -> (Bench, String) {
    let bench = Bench::ready(open, &["echo"]).await;
    bench.gate.upstream_died(&bench.talk).await.unwrap();
    bench.gate.upstream_restarted(&bench.talk).await;
    let asked = id_of(&bench.to_upstream()[0]);
    (bench, asked)
}

#[tokio::test]
async fn a_restarted_upstream_is_told_no_more_than_the_first_one_was() {
    let strip = |_: &Facts<'_>| {
        let obligations = vec![Obligation::StripMeta("a/b".into())];
        Ok(Verdict::Allow {
            reasons: vec![],
            obligations,
        })
    };
    let bench = Bench::new(strip);
    let params = r#""_meta":{"progressToken":7,"a/b":1,"c":2},"protocolVersion""#;
    bench
        .agent(&INITIALIZE.replacen("\"protocolVersion\"", params, 1))
        .await;
    let first = bench.to_upstream().remove(0);
    assert!(!first.contains("a/b"), "{first}");
    bench.upstream(&agreed(&id_of(&first), "2025-11-25")).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    bench.to_upstream();
    bench.gate.upstream_died(&bench.talk).await.unwrap();
    bench.gate.upstream_restarted(&bench.talk).await;
    let params = |line: &str| {
        let message = Message::decode(line.as_bytes(), &Limits::default()).unwrap();
        message.params().unwrap().text().to_owned()
    };
    assert_eq!(params(&bench.to_upstream()[0]), params(&first));
}

/// Kind, method, decision and code of the records that speak of the gate's own messages.
async fn own(bench: &Bench) -> Vec<[String; 4]> {
    let mut records = bench.records().await;
    let references: Vec<String> = records
        .iter()
        .filter(|it| it.get(&["reason", "code"]) == "gate_initiated")
        .map(|it| it.get(&["reference"]))
        .collect();
    records.retain(|it| references.contains(&it.get(&["reference"])));
    records
        .iter()
        .map(|it| {
            [
                &["kind"][..],
                &["method"],
                &["decision"],
                &["reason", "code"],
            ]
            .map(|path| it.get(path))
        })
        .collect()
}

#[tokio::test]
async fn a_restarted_upstream_that_does_not_agree_is_ended_for_another_one() {
    let refused =
        |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":1,"message":"no"}}}}"#);
    let unreadable =
        |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":1,"a":2}}}}"#);
    let other = |id: &str| agreed(id, "2025-06-18");
    let unknown = |id: &str| agreed(id, "1999-01-01");
    let answers: [&dyn Fn(&str) -> String; 4] = [&refused, &unreadable, &other, &unknown];
    for answer in answers {
        let (bench, asked) = restarted().await;
        bench.upstream(&answer(&asked)).await;
        assert_eq!(bench.talk.upstream.restarts(), 1, "{}", answer("1"));
        // It is not spoken to any more, and the next one is told again.
        bench.agent(&call("1", "echo")).await;
        assert_eq!(bench.to_upstream(), Vec::<String>::new());
        assert_eq!(bench.to_agent().len(), 1);
        bench.gate.upstream_died(&bench.talk).await.unwrap();
        bench.gate.upstream_restarted(&bench.talk).await;
        let asked = id_of(&bench.to_upstream()[0]);
        bench.upstream(&agreed(&asked, "2025-11-25")).await;
        bench.to_upstream();
        bench.list(&["echo"]).await;
        bench.agent(&call("2", "echo")).await;
        assert_eq!(bench.to_upstream().len(), 1);
        assert_eq!(bench.talk.upstream.restarts(), 1);
    }
}

#[tokio::test]
async fn a_restarted_upstream_that_never_answers_is_ended_when_its_time_is_over() {
    let (bench, _) = restarted().await;
    bench.clock.advance(Duration::from_mins(1));
    bench.gate.expire(&bench.talk).await.unwrap();
    assert_eq!(bench.talk.upstream.restarts(), 1);
    assert_eq!(
        bench.to_upstream(),
        Vec::<String>::new(),
        "`initialize` is not cancelled"
    );
}

#[tokio::test]
async fn a_death_in_the_repeated_handshake_ends_nobody_else() {
    let (bench, _) = restarted().await;
    bench.gate.upstream_died(&bench.talk).await.unwrap();
    assert_eq!(bench.talk.upstream.restarts(), 0);
}

#[tokio::test]
async fn what_the_gate_asks_itself_is_in_the_audit_with_its_outcome() {
    let (bench, asked) = restarted().await;
    bench.upstream(&agreed(&asked, "2025-11-25")).await;
    bench.to_upstream();
    bench.agent(&call("1", "echo")).await;
    for next in [r#""2""#, "null"] {
        let asked = id_of(&bench.to_upstream()[0]);
        let page = format!(
            r#"{{"jsonrpc":"2.0","id":{asked},"result":{{"tools":[],"nextCursor":{next}}}}}"#
        );
        bench
            .upstream(&page.replace(r#","nextCursor":null"#, ""))
            .await;
    }
    let asked_and_got = |method: &str, code: &str| {
        [
            ["gate_decision", method, "ALLOW", code],
            ["gate_decision", method, "ALLOW", ""],
        ]
        .map(|record| record.map(str::to_owned))
    };
    let initialized = [
        "notification",
        "notifications/initialized",
        "ALLOW",
        "gate_initiated",
    ];
    let expected = [
        &asked_and_got("initialize", "gate_initiated")[..],
        &[initialized.map(str::to_owned)],
        &asked_and_got("tools/list", "gate_initiated"),
        &asked_and_got("tools/list", "gate_initiated"),
    ];
    assert_eq!(own(&bench).await, expected.concat());
}

#[tokio::test]
async fn what_the_gate_asks_in_vain_has_an_outcome_too() {
    let (bench, asked) = restarted().await;
    bench.upstream(&agreed(&asked, "1999-01-01")).await;
    let outcome = [
        "gate_decision",
        "initialize",
        "ERROR",
        "invalid_upstream_response",
    ];
    assert_eq!(own(&bench).await.pop().unwrap(), outcome);

    let bench = Bench::new(open);
    bench.shake_hands().await;
    bench.agent(&call("1", "echo")).await;
    bench.to_upstream();
    bench.clock.advance(Duration::from_mins(1));
    bench.gate.expire(&bench.talk).await.unwrap();
    let cancelled = bench.to_upstream();
    assert!(cancelled[0].contains("notifications/cancelled"));
    let expected = [
        ["gate_decision", "tools/list", "ALLOW", "gate_initiated"],
        ["gate_decision", "tools/list", "ERROR", "timeout"],
        [
            "notification",
            "notifications/cancelled",
            "ALLOW",
            "gate_initiated",
        ],
    ];
    assert_eq!(own(&bench).await, expected);
}

#[tokio::test]
async fn a_cancellation_of_what_timed_out_is_in_the_audit() {
    let bench = Bench::ready(open, &["slow"]).await;
    bench.agent(&call("1", "slow")).await;
    let reference = bench.records_of("tool_call").await[0].get(&["reference"]);
    bench.clock.advance(Duration::from_mins(1));
    bench.gate.expire(&bench.talk).await.unwrap();
    let record = bench.records_of("notification").await.pop().unwrap();
    assert_eq!(record.get(&["method"]), "notifications/cancelled");
    assert_eq!(record.get(&["direction"]), "", "it passes nothing on");
    assert!(
        record.get(&["reason", "text"]).contains(&reference),
        "{}",
        record.text()
    );
}

#[tokio::test]
async fn what_the_gate_cannot_record_it_does_not_say_itself() {
    // The list that a call waits for.
    let bench = Bench::new(open);
    bench.shake_hands().await;
    bench.audit.close(Duration::from_secs(5)).await.unwrap();
    bench.agent(&call("1", "echo")).await;
    bench.gate.resume(&bench.talk).await.unwrap();
    assert_eq!(bench.to_upstream(), Vec::<String>::new());
    assert_eq!(bench.to_agent().len(), 1);
    assert!(bench.talk.session.is_idle());

    // The handshake.
    let bench = Bench::ready(open, &["echo"]).await;
    bench.gate.upstream_died(&bench.talk).await.unwrap();
    bench.audit.close(Duration::from_secs(5)).await.unwrap();
    bench.gate.upstream_restarted(&bench.talk).await;
    assert_eq!(bench.to_upstream(), Vec::<String>::new());
    assert_eq!(bench.talk.upstream.restarts(), 1);

    // That it has ended.
    let (bench, asked) = restarted().await;
    bench.audit.close(Duration::from_secs(5)).await.unwrap();
    bench.upstream(&agreed(&asked, "2025-11-25")).await;
    assert_eq!(bench.to_upstream(), Vec::<String>::new());
    assert_eq!(bench.talk.upstream.restarts(), 1);

    // A cancellation; whoever waited is answered all the same.
    let bench = Bench::ready(open, &["slow"]).await;
    bench.agent(&call("1", "slow")).await;
    bench.to_upstream();
    bench.audit.close(Duration::from_secs(5)).await.unwrap();
    bench.clock.advance(Duration::from_mins(1));
    bench.gate.expire(&bench.talk).await.unwrap();
    assert_eq!(bench.to_upstream(), Vec::<String>::new());
    assert_eq!(bench.to_agent().len(), 1);
}
