//! The id by which a call is followed through the records.

use super::*;

const UUID: &str = "0af76519-16cd-43dd-8448-eb211c80319c";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// What an agent sends in `_meta`, the trace id that follows from it (any UUID if none is given), and
/// whether the record names what was sent as invalid.
async fn check(meta: &str, expected: Option<&str>, is_invalid: bool) {
    let bench = Bench::with(open, |_| {});
    bench.shake_hands().await;
    bench.list(&["t"]).await;
    bench
        .agent(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t"{meta}}}}}"#
        ))
        .await;
    let sent = bench.to_upstream().remove(0);
    let id = id_of(&sent);
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#
        ))
        .await;
    let records = bench.records().await;
    let of_call: Vec<_> = records
        .iter()
        .filter(|it| ["tool_call", "tool_result"].contains(&&*it.get(&["kind"])))
        .collect();
    assert_eq!(of_call.len(), 2, "{meta}");
    let recorded = of_call[0].get(&["correlation", "trace_id"]);
    assert_eq!(of_call[1].get(&["correlation", "trace_id"]), recorded);
    match expected {
        Some(expected) => assert_eq!(recorded, expected, "{meta}"),
        None => assert_eq!((recorded.len(), recorded.matches('-').count()), (36, 4)),
    }
    let call = of_call[0].text();
    assert_eq!(call.contains("trace_id_malformed"), is_invalid, "{call}");
    // The server gets what the agent sent.
    assert!(sent.contains(meta), "{meta}: {sent}");
}

#[tokio::test]
async fn a_call_has_a_trace_id_in_all_of_its_records() {
    let own = |value: &str| format!(r#","_meta":{{"mcp-protector/trace_id":{value}}}"#);
    check("", None, false).await;
    check(r#","_meta":{"a":1}"#, None, false).await;
    check(&own(&format!(r#""{UUID}""#)), Some(UUID), false).await;
    let traced = format!(r#","_meta":{{"traceparent":"{PARENT}"}}"#);
    check(&traced, Some("4bf92f3577b34da6a3ce929d0e0e4736"), false).await;
    for invalid in [r#""job 7""#, r#""""#, "7", "null", r#"{"a":"b"}"#] {
        check(&own(invalid), None, true).await;
    }
    let both = format!(
        r#","_meta":{{"mcp-protector/trace_id":"job 7","traceparent":"{PARENT}","a":[1.0]}}"#
    );
    check(&both, Some("4bf92f3577b34da6a3ce929d0e0e4736"), true).await;
}

#[tokio::test]
async fn each_request_has_a_trace_id_of_its_own_in_its_record() {
    let bench = Bench::new(open);
    bench.shake_hands().await;
    bench.list(&["t"]).await;
    for id in ["1", "2"] {
        bench.agent(&call(id, "t")).await;
    }
    bench
        .agent(r#"{"jsonrpc":"2.0","id":3,"method":"prompts/list","params":{}}"#)
        .await;
    let records = bench.records().await;
    let ids: Vec<_> = records
        .iter()
        .rev()
        .take(3)
        .map(|it| it.get(&["correlation", "trace_id"]))
        .collect();
    assert!(ids.iter().all(|id| id.len() == 36), "{ids:?}");
    assert!(ids[0] != ids[1] && ids[1] != ids[2], "{ids:?}");
}
