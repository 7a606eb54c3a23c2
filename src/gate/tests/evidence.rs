//! What calls repeat of other servers' results, in their records.

use std::collections::BTreeSet;

use super::*;
use crate::policy::ServerKey;
use crate::session::{EvidenceStore, SessionKey, Whose};

const TEXT: &str = "the card of the customer is 4539 1488 0343 6467";

fn session() -> SessionKey {
    SessionKey::of("ada", Some("run"))
}

/// The record of a call that repeats what `crm` has said, to the server of this key.
async fn record(evidence: Evidence, server: Option<&str>, whose: Whose) -> String {
    let mut bench = Bench::with(open, |settings| settings.terms.evidence = evidence);
    let store = Arc::<EvidenceStore>::default();
    let crm = ServerKey::of("crm").unwrap();
    store.keep(&session(), &crm, &BTreeSet::new(), [TEXT]);
    bench.gate = bench.gate.sharing_evidence(store);
    let server = Server {
        key: server.and_then(ServerKey::of),
        ..Server::default()
    };
    let talk = Session::new(SessionId::from_random(7), "stdio", server, 0).reading_as(whose);
    bench.talk = Talk::new(talk, Recorder::default(), Recorder::default());
    bench.shake_hands().await;
    bench.list(&["send"]).await;
    let call = serde_json::json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "send", "arguments": {"text": [TEXT]}},
    });
    bench.agent(&call.to_string()).await;
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
