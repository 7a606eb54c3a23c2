//! A candidate for the next policies, asked beside those in force.

use super::*;
use crate::policy::FaultKind;

#[tokio::test]
async fn a_candidate_is_recorded_and_changes_nothing() {
    check(open, guarded, "denied_a", "ALLOW", "BLOCK").await;
    check(open, guarded, "echo", "ALLOW", "ALLOW").await;
    check(guarded, open, "denied_a", "BLOCK", "ALLOW").await;
    check(guarded, guarded, "denied_a", "BLOCK", "BLOCK").await;
    check(open, broken, "echo", "ALLOW", "ERROR").await;
    check(open, panicking, "echo", "ALLOW", "ERROR").await;
    // What may be called but not listed is not there.
    check(open, unlisted, "denied_a", "ALLOW", "BLOCK").await;
    check(open, unlisted, "echo", "ALLOW", "ALLOW").await;
    check(unlisted, open, "denied_a", "BLOCK", "ALLOW").await;
}

#[tokio::test]
async fn without_a_candidate_nothing_is_said_of_one() {
    let bench = Bench::ready(open, &["echo"]).await;
    let new = snapshot("new", open).with_shadow(snapshot("candidate", open));
    for (id, new, is_told) in [("1", None, false), ("2", Some(new), true)] {
        if let Some(new) = new {
            let published = bench.gate.publish("fixture", new, Besides::default());
            published.await.unwrap();
        }
        bench.agent(&call(id, "echo")).await;
        let called = bench.records_of("tool_call").await.pop().unwrap();
        assert_eq!(
            called.text().contains("shadow"),
            is_told,
            "{}",
            called.text()
        );
    }
}

async fn check(in_force: Rule, candidate: Rule, tool: &str, decision: &str, would: &str) {
    let bench = Bench::ready(open, &["echo", "denied_a"]).await;
    let candidate = snapshot("candidate", candidate);
    let revision = candidate.revision().to_string();
    let new = snapshot("new", in_force).with_shadow(candidate);
    bench
        .gate
        .publish("fixture", new, Besides::default())
        .await
        .unwrap();
    bench.agent(&call("1", tool)).await;
    assert_eq!(bench.to_upstream().len(), usize::from(decision == "ALLOW"));
    let called = bench.records_of("tool_call").await.remove(0);
    assert_eq!(called.get(&["decision"]), decision);
    assert_eq!(called.get(&["shadow", "decision"]), would);
    assert_eq!(called.get(&["shadow", "revision"]), revision);
}

/// Every call is allowed, and tools whose name begins with `denied` may not be listed.
fn unlisted(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    Ok(match (&facts.action, &facts.resource) {
        (Action::ListTool, Resource::Tool(tool)) if tool.name.starts_with("denied") => {
            Verdict::Deny { reasons: vec![] }
        }
        _ => allow(),
    })
}

fn broken(_: &Facts<'_>) -> Result<Verdict, EngineFault> {
    Err(EngineFault {
        engine: EngineName("test"),
        kind: FaultKind::Evaluation,
        policy: None,
        problem: "broken".to_owned(),
    })
}

fn panicking(_: &Facts<'_>) -> Result<Verdict, EngineFault> {
    panic!("it fails")
}
