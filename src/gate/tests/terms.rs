//! Terms that are replaced while messages are under way.

use super::*;
use crate::guard::secrets::SecretRules;

/// No file shows what looks like a credential: it is put together here.
fn token() -> String {
    ["gh", "p_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].concat()
}

fn changed(bench: &Bench, change: impl FnOnce(&mut Terms)) -> Arc<Terms> {
    let current = bench.gate.policy.current();
    let mut terms = bench.gate.terms(&current).clone();
    change(&mut terms);
    Arc::new(terms)
}

/// The same policies under other terms.
pub(super) async fn publish(bench: &Bench, change: impl FnOnce(&mut Terms)) -> Published {
    let terms = changed(bench, change);
    let besides = Besides {
        terms: Some("others".to_owned()),
        ..Besides::default()
    };
    let same = snapshot("test", open).with_terms(terms);
    bench.gate.publish("fixture", same, besides).await.unwrap()
}

fn redacting(terms: &mut Terms) {
    terms.guards.secrets = Some(Secrets {
        sent: Level::Off,
        received: Treatment::Redact,
        rules: Arc::new(SecretRules::builtin()),
    });
}

async fn call(bench: &Bench, id: u64) -> String {
    bench
        .agent(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t"}}}}"#
        ))
        .await;
    id_of(bench.to_upstream().last().unwrap())
}

/// What the agent gets of an answer with a credential in it.
async fn answer(bench: &Bench, id: &str) -> String {
    let result = format!(r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#, token());
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
        ))
        .await;
    bench.to_agent().remove(0)
}

#[tokio::test]
async fn a_reply_is_under_the_terms_of_its_request_and_the_next_request_under_the_new_ones() {
    let bench = Bench::ready(open, &["t"]).await;
    let before = call(&bench, 1).await;
    assert_eq!(publish(&bench, redacting).await, Published::Terms);
    let after = call(&bench, 2).await;
    assert!(!answer(&bench, &after).await.contains(&token()));
    assert!(answer(&bench, &before).await.contains(&token()));
    let between = call(&bench, 3).await;
    publish(&bench, |terms| terms.guards.secrets = None).await;
    assert!(!answer(&bench, &between).await.contains(&token()));
}

#[tokio::test]
async fn policies_that_bring_no_terms_keep_those_that_are_in_force() {
    let bench = Bench::ready(open, &["t"]).await;
    publish(&bench, redacting).await;
    let others = snapshot("other words", open).with_shadow(snapshot("candidate", open));
    let besides = Besides::default();
    bench
        .gate
        .publish("fixture", others, besides)
        .await
        .unwrap();
    let id = call(&bench, 1).await;
    assert!(!answer(&bench, &id).await.contains(&token()));
    let current = bench.gate.policy.current();
    for snapshot in [&*current, current.shadow().unwrap()] {
        assert!(snapshot.terms::<Terms>().is_some());
    }
}

#[tokio::test]
async fn terms_alone_are_recorded_and_revised_with_policies_in_one_record() {
    let bench = Bench::ready(open, &["t"]).await;
    publish(&bench, |terms| terms.max_in_flight = 1).await;
    let besides = || Besides {
        terms: Some("others still".to_owned()),
        ..Besides::default()
    };
    let terms = changed(&bench, |terms| terms.max_in_flight = 2);
    let both = snapshot("other words", open).with_terms(terms);
    let published = bench.gate.publish("fixture", both, besides()).await;
    assert!(matches!(published, Ok(Published::Policies(_))));
    let records = bench.records_of("policy_reload").await;
    let [alone, both] = records.as_slice() else {
        panic!("{records:?}")
    };
    assert_eq!(alone.get(&["event"]), "published");
    assert_eq!(alone.get(&["reason", "code"]), "configuration");
    assert_eq!(alone.get(&["reason", "text"]), "others");
    let first = snapshot("test", open);
    assert_eq!(alone.get(&["revision"]), first.revision().as_str());
    let text = both.get(&["reason", "text"]);
    assert!(
        text.starts_with("in place of ") && text.ends_with("; others still"),
        "{text}"
    );
}

#[tokio::test]
async fn rates_timeouts_and_places_hold_for_what_comes_next() {
    let bench = Bench::ready(open, &["t"]).await;
    call(&bench, 1).await;
    publish(&bench, |terms| terms.max_in_flight = 1).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}"#)
        .await;
    let told = bench.to_agent().remove(0);
    assert!(told.contains("error"), "{told}");
    publish(&bench, |terms| {
        terms.max_in_flight = 8;
        terms.request_timeout = Duration::from_secs(5);
    })
    .await;
    call(&bench, 3).await;
    bench.clock.advance(Duration::from_secs(6));
    bench.gate.expire(&bench.talk).await.unwrap();
    let told = bench.to_agent();
    assert_eq!(told.len(), 1, "the earlier one has a minute: {told:?}");
    assert!(told[0].contains(r#""id":3"#), "{told:?}");
    let hourly = std::num::NonZeroU32::MIN;
    let rate = Rate::new(hourly, Duration::from_hours(1), hourly);
    publish(&bench, |terms| terms.rates.principal = Some(rate)).await;
    call(&bench, 4).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t"}}"#)
        .await;
    let told = bench.to_agent().remove(0);
    assert!(told.contains("rate_limited"), "{told}");
}
