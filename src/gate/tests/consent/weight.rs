//! What is kept of results until their agents come back with an answer.

use std::sync::Weak;

use super::rounds::{META, approving, state_of};
use super::servers::of_servers;
use super::within::{ALL, SAMPLE, asked_within, asking, calls, listed};
use super::*;

/// Many questions may wait.
async fn ready(bench: Bench) -> Asked {
    let many = |asking: &mut super::Asking| {
        asking.per_principal = 1000;
        asking.in_all = 1000;
        asking.longest = 4 << 20;
    };
    listed(Asked::before(bench, &[Way::Elicitation], many)).await
}

/// A request for a resource.
fn reads(id: usize, uri: &str, more: &str) -> String {
    let meta = META.replace(r#"{"elicitation":{}}"#, ALL);
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/read","params":{{"uri":"{uri}",{more}{meta}}}}}"#
    )
}

#[tokio::test]
async fn what_a_request_was_about_counts_against_what_may_be_kept_of_its_result() {
    // How long a URI is, and how many of twelve results are there when their agent comes back.
    for (bytes, kept) in [(100, 12), (300_000, 3), (2_000_000, 0)] {
        let asked = ready(Bench::new(of_servers)).await;
        let bench = &asked.bench;
        let uri = format!("notes://{}", "u".repeat(bytes));
        let mut states = Vec::new();
        for id in 0..12 {
            bench.agent(&reads(id, &uri, "")).await;
            let minted = id_of(&bench.to_upstream()[0]);
            let result = form_answer(&minted, &asking(&[SAMPLE]));
            bench.upstream(&result).await;
            let told = bench.to_agent().remove(0);
            let is_asked = told.contains("mcp-protector.within");
            assert_eq!(is_asked, kept > 0, "{bytes}");
            if is_asked {
                states.push(state_of(&told));
            } else {
                assert!(told.contains("consent_unavailable"), "{bytes}");
            }
        }
        let mut there = 0;
        for (id, state) in (20..).zip(&states) {
            bench.agent(&reads(id, &uri, &approving(state))).await;
            there += usize::from(bench.to_agent()[0].contains("sum it up"));
        }
        assert_eq!(there, kept, "{bytes}");
    }
}

#[tokio::test]
async fn a_result_that_its_agent_has_come_back_for_takes_no_room() {
    let asked = ready(Bench::new(of_servers)).await;
    let bench = &asked.bench;
    let long = SAMPLE.replace("sum it up", &"long ".repeat(120_000));
    let no = |state: &str| approving(state).replace("true", "false");
    let mut states = Vec::new();
    for _ in 0..2 {
        asked_within(&asked, ALL, &[&long]).await;
        let state = state_of(&bench.to_agent()[0]);
        bench.agent(&calls("2", "more", ALL, &no(&state))).await;
        assert_refused(&bench.to_agent(), "2", "consent_denied");
        states.push(state);
    }
    // It is still known what became of each.
    for state in states {
        bench
            .agent(&calls("3", "more", ALL, &approving(&state)))
            .await;
        assert_refused(&bench.to_agent(), "3", "consent_already_used");
    }
    assert_eq!(bench.to_upstream(), [""; 0]);
}

#[tokio::test]
async fn a_call_that_its_server_has_answered_is_not_kept_to_be_made_again() {
    let mut bench = Bench::with(of_servers, |settings| {
        settings.over_http = OverHttp::from_first([true]);
    });
    let session = Arc::into_inner(bench.talk.session).unwrap();
    session.state().protocol.bridged = Some("2025-11-25".into());
    bench.talk.session = Arc::new(session);
    let asked = ready(bench).await;
    let bench = &asked.bench;
    bench.agent(&calls("1", "more", ALL, "")).await;
    let minted = id_of(&bench.to_upstream()[0]);
    let again: Vec<Weak<_>> = {
        let state = bench.talk.session.state();
        let calls = state.waiting.to_upstream.in_flight();
        let calls = calls.filter_map(|(_, it)| it.again.as_ref());
        calls.map(Arc::downgrade).collect()
    };
    assert_eq!(again.len(), 1);
    bench
        .upstream(&form_answer(&minted, &asking(&[SAMPLE])))
        .await;
    state_of(&bench.to_agent()[0]);
    assert!(again[0].upgrade().is_none());
}
