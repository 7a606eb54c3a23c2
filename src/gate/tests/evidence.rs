//! What calls repeat of other servers' results.

use std::collections::BTreeSet;

use super::consent::{Asked, with_consent};
use super::*;
use crate::consent::{Answer, Way};
use crate::policy::ServerKey;
use crate::session::{SessionKey, Whose};

const TEXT: &str = "the card of the customer is 4539 1488 0343 6467";

fn session() -> SessionKey {
    SessionKey::of("ada", Some("run"))
}

/// A gate before the server of this key, with what `crm` has said.
fn bench(rule: Rule, evidence: Evidence, server: Option<&str>, whose: Whose) -> Bench {
    let mut bench = Bench::with(rule, |settings| settings.terms.evidence = evidence);
    bench.gate = bench.gate.sharing_evidence(Arc::default());
    let server = Server {
        key: server.and_then(ServerKey::of),
        ..Server::default()
    };
    let talk = Session::new(SessionId::from_random(7), "stdio", server, 0).reading_as(whose);
    bench.talk = Talk::new(talk, Recorder::default(), Recorder::default());
    bench
}

/// `crm` says the text.
fn say(bench: &Bench) {
    let crm = ServerKey::of("crm").unwrap();
    let evidence = &bench.gate.stores.evidence;
    evidence.keep(&session(), &crm, &BTreeSet::new(), [TEXT]);
}

/// A call that repeats it.
fn call(tool: &str) -> String {
    let call = serde_json::json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": tool, "arguments": {"text": [TEXT]}},
    });
    call.to_string()
}

/// The record of such a call.
async fn record(evidence: Evidence, server: Option<&str>, whose: Whose) -> String {
    let bench = bench(open, evidence, server, whose);
    say(&bench);
    bench.shake_hands().await;
    bench.list(&["send"]).await;
    bench.agent(&call("send")).await;
    assert_eq!(bench.to_upstream().len(), 1);
    bench.records_of("tool_call").await[0].text().to_owned()
}

#[tokio::test]
async fn a_call_of_several_servers_has_findings_and_any_other_has_none() {
    let copied = r#"{"guard":"evidence","code":"copied_data","detail":"crm"}"#;
    let incomplete = r#""code":"evidence_incomplete""#;
    let (kept, off) = (Evidence::Kept, Evidence::Off);
    let named = || Whose::Common(session());
    let stranger = || Whose::Common(SessionKey::of("bob", None));
    for (evidence, server, whose, expected) in [
        (kept, Some("mail"), named(), Some(copied)),
        (kept, Some("crm"), named(), None),
        (kept, Some("mail"), stranger(), None),
        (kept, Some("mail"), Whose::Unnamed, Some(incomplete)),
        (kept, None, named(), None),
        (off, Some("mail"), named(), None),
        (off, Some("mail"), Whose::Unnamed, None),
    ] {
        let record = record(evidence, server, whose.clone()).await;
        let has = [copied, incomplete].map(|finding| record.contains(finding));
        let should = [copied, incomplete].map(|finding| expected == Some(finding));
        assert_eq!(has, should, "{evidence:?} {server:?} {whose:?}: {record}");
    }
}

#[tokio::test]
async fn without_evidence_the_gate_forgets_what_it_has_kept() {
    for (next, is_kept) in [(Evidence::Kept, true), (Evidence::Off, false)] {
        let named = Whose::Common(session());
        let bench = bench(open, Evidence::Kept, Some("mail"), named);
        say(&bench);
        terms::publish(&bench, |terms| terms.evidence = next).await;
        let (evidence, mail) = (&bench.gate.stores.evidence, ServerKey::of("mail").unwrap());
        let copies = evidence.look(&session(), &mail, &["crm".to_owned()].into(), [TEXT]);
        let told = (!copies.from.is_empty(), !copies.incomplete);
        assert_eq!(told, (is_kept, is_kept));
    }
}

#[tokio::test]
async fn who_agrees_to_a_call_does_not_agree_to_send_what_another_server_has_said_since() {
    let named = || Whose::Common(session());
    for is_said in [false, true] {
        let bench = bench(with_consent, Evidence::Kept, Some("mail"), named());
        let asked = Asked::before(bench, &[Way::Page], |_| {});
        asked.shake_hands().await;
        asked.bench.agent(&call("ask")).await;
        let ticket = asked.latest();
        if is_said {
            say(&asked.bench);
        }
        asked.answer(&ticket, Answer::Approve).await;
        let passes = usize::from(!is_said);
        assert_eq!(asked.bench.to_upstream().len(), passes);
        let refused = asked.bench.to_agent().concat();
        assert_eq!(refused.contains("consent"), is_said, "{refused}");
    }
}
