//! Connections that a server wants of the egress proxy are decided and recorded.

use super::*;
use crate::gate::{ConnectionFailure, ConnectionRefused};
use crate::policy::{EngineFault, FaultKind, Host, Obligation, SessionSensitivity};
use crate::session::Instance;

fn host() -> Host {
    Host {
        name: "api.example".to_owned(),
        port: 443,
    }
}

/// Permits the primary server up to confidential.
fn by_level(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    let Action::ConnectHost { isolated } = facts.action else {
        return Ok(Verdict::Abstain);
    };
    let is_host = matches!(facts.resource, Resource::Host(to) if *to == host());
    let is_server = matches!(facts.principal, Principal::Server(it) if it.name == "fixture");
    let is_permitted = is_host && is_server && !isolated && facts.env.session.level <= 2;
    Ok(if is_permitted {
        allow()
    } else {
        Verdict::Abstain
    })
}

fn obliged(_: &Facts<'_>) -> Result<Verdict, EngineFault> {
    Ok(Verdict::Allow {
        reasons: vec![],
        obligations: vec![Obligation::StripMeta("k".into())],
    })
}

fn faulty(_: &Facts<'_>) -> Result<Verdict, EngineFault> {
    Err(EngineFault {
        engine: EngineName("test"),
        kind: FaultKind::Evaluation,
        policy: None,
        problem: "it cannot tell".to_owned(),
    })
}

async fn check(rule: Rule, level: i64, from: Instance, expected: [&str; 5]) {
    let bench = Bench::new(rule);
    bench.talk.session.state().security.held = Arc::new(SessionSensitivity::at(level));
    let judged = bench
        .gate
        .judge_connection(&bench.talk, from, &host())
        .await;
    let record = bench.records_of("egress_connection").await.pop().unwrap();
    let of = |path: &[&str]| record.get(path);
    assert_eq!(of(&["target"]), "api.example:443");
    let told = [
        of(&["decision"]),
        of(&["stage"]),
        of(&["reason", "code"]),
        of(&["upstream"]),
        of(&["sensitivity", "after"]),
    ];
    assert_eq!(
        told.each_ref().map(String::as_str),
        expected,
        "{}",
        record.text()
    );
    let is_permitted = expected.first() == Some(&"ALLOW");
    assert_eq!(judged.is_ok(), is_permitted);
    if let Ok(reference) = judged {
        assert_eq!(of(&["reference"]), &*reference);
    }
}

#[tokio::test]
async fn a_connection_is_decided_by_policy_and_the_sensitivity_of_its_session_and_recorded() {
    let open = Instance::OPEN;
    check(by_level, 0, open, ["ALLOW", "decide", "", "fixture", ""]).await;
    let confidential = ["ALLOW", "decide", "", "fixture", "CONFIDENTIAL"];
    check(by_level, 2, open, confidential).await;
    let secret = ["BLOCK", "decide", "not_permitted", "fixture", "SECRET"];
    check(by_level, 3, open, secret).await;
    let name = "fixture (isolated)";
    let isolated = ["BLOCK", "decide", "not_permitted", name, ""];
    check(by_level, 0, Instance::ISOLATED[0], isolated).await;
    let unfit = "obligation_not_applicable";
    check(obliged, 0, open, ["BLOCK", "decide", unfit, "fixture", ""]).await;
    let fault = ["ERROR", "decide", "engine_fault", "fixture", ""];
    check(faulty, 0, open, fault).await;
}

#[tokio::test]
async fn what_the_egress_proxy_refuses_is_recorded_with_its_reason() {
    let bench = Bench::new(by_level);
    for (decision, reference) in [
        (audit::Decision::Block, None),
        (audit::Decision::Error, Some("r-1")),
    ] {
        let failure = ConnectionFailure {
            code: "egress_not_listed",
            text: "it is not listed".to_owned(),
            decision,
            reference,
        };
        let talk = &bench.talk;
        let recorded = bench
            .gate
            .connection_failed(talk, Instance::OPEN, "a.example:1", failure);
        recorded.await;
    }
    let records = bench.records_of("egress_connection").await;
    let told: Vec<String> = records
        .iter()
        .map(|it| {
            let of = |path: &[&str]| it.get(path);
            let why = (of(&["reason", "code"]), of(&["reason", "text"]));
            format!(
                "{} {} {} {}",
                of(&["decision"]),
                of(&["stage"]),
                why.0,
                why.1
            )
        })
        .collect();
    let why = "egress egress_not_listed it is not listed";
    assert_eq!(told, [format!("BLOCK {why}"), format!("ERROR {why}")]);
    assert_eq!(records[1].get(&["reference"]), "r-1");
}

#[tokio::test]
async fn a_connection_whose_decision_cannot_be_recorded_is_not_made() {
    let bench = Bench::new(by_level);
    bench.audit.close(Duration::from_secs(5)).await.unwrap();
    let judged = bench
        .gate
        .judge_connection(&bench.talk, Instance::OPEN, &host())
        .await;
    assert_eq!(judged, Err(ConnectionRefused::Unrecorded));
}
