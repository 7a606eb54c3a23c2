//! The id by which a call is followed through the records.

use super::consent::{Asked, with_consent};
use super::*;
use crate::consent::{Answer, Way};
use crate::wire::{Stream, TransportHeaders, WorkIds};

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

/// All ids that an agent can send.
const IDS: &str = r#""mcp-protector/job_id":"j-1","mcp-protector/trace_id":"0af76519-16cd-43dd-8448-eb211c80319c","mcp-protector/workflow_run_id":"w-1","mcp-protector/task_id":"t-1","mcp-protector/session_id":"s-1","traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01""#;

/// The JSON text of what a record says of the work.
fn work(record: &Entry) -> String {
    let value = record.0.root().get("correlation");
    value.map_or_else(String::new, |value| value.text().to_owned())
}

/// The records that have this job, by kind, event and method, in order.
async fn of_job(bench: &Bench, job: &str) -> Vec<String> {
    let records = bench.records().await;
    let its = records
        .iter()
        .filter(|it| it.get(&["correlation", "job_id"]) == job);
    let named = its.map(|it| {
        let name = ["kind", "event", "method"].map(|key| it.get(&[key]));
        name.join(" ").replace("  ", " ")
    });
    named.collect()
}

#[tokio::test]
async fn every_record_of_a_call_has_the_ids_that_its_agent_sent() {
    let asked = Asked::session(with_consent, &[Way::Page, Way::Elicitation]).await;
    let bench = &asked.bench;
    bench
        .agent(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"ask","_meta":{{"progressToken":7,{IDS}}}}}}}"#
        ))
        .await;
    let ticket = asked.latest();
    asked.wait(Duration::from_secs(6)).await;
    asked.answer(&ticket, Answer::Approve).await;
    let id = id_of(&bench.to_upstream()[0]);
    for told in [
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":9}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x","_meta":{"mcp-protector/job_id":"forged"}}}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":"roots/list"}"#,
    ] {
        bench.upstream(told).await;
    }
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#
        ))
        .await;
    let expected = [
        "consent consent_requested tools/call",
        "notification notifications/progress",
        "notification notifications/cancelled",
        "consent consent_granted tools/call",
        "tool_call tools/call",
        "notification notifications/progress",
        "notification notifications/message",
        "server_request roots/list",
        "tool_result tools/call",
    ];
    assert_eq!(of_job(bench, "j-1").await, expected);
    let records = bench.records().await;
    let of_call = records.iter().filter(|it| work(it).contains("j-1"));
    let ids = format!("{{{}}}", IDS.replace("mcp-protector/", ""));
    for record in of_call {
        assert_eq!(work(record), ids, "{record:?}");
    }
}

#[tokio::test]
async fn a_cancelled_or_expired_call_has_its_ids_in_all_records() {
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let calls = |tool: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","_meta":{{{IDS}}}}}}}"#
        )
    };
    // While the server works at it.
    let bench = Bench::ready(open, &["t"]).await;
    bench.agent(&calls("t")).await;
    bench.agent(cancel).await;
    let cancelled = [
        "tool_call tools/call",
        "notification notifications/cancelled",
        "tool_result tools/call",
    ];
    assert_eq!(of_job(&bench, "j-1").await, cancelled);
    // The gate itself gives it up.
    let bench = Bench::ready(open, &["t"]).await;
    bench.agent(&calls("t")).await;
    bench.clock.advance(Duration::from_mins(2));
    bench.gate.expire(&bench.talk).await.unwrap();
    let expired = [
        "tool_call tools/call",
        "tool_result tools/call",
        "notification notifications/cancelled",
    ];
    assert_eq!(of_job(&bench, "j-1").await, expired);
    // While it waits for the list of tools, which is not known yet.
    let bench = Bench::new(open);
    bench.shake_hands().await;
    bench.agent(&calls("t")).await;
    bench.agent(cancel).await;
    Box::pin(bench.gate.resume(&bench.talk)).await.unwrap();
    let parked = [
        "notification notifications/cancelled",
        "tool_call tools/call",
    ];
    assert_eq!(of_job(&bench, "j-1").await, parked);
    // While it waits for a person.
    let asked = Asked::session(with_consent, &[Way::Page]).await;
    asked.bench.agent(&calls("ask")).await;
    asked.bench.agent(cancel).await;
    asked.go_on().await;
    let waiting = [
        "consent consent_requested tools/call",
        "notification notifications/cancelled",
        "consent cancelled tools/call",
        "tool_call tools/call",
    ];
    assert_eq!(of_job(&asked.bench, "j-1").await, waiting);
}

#[tokio::test]
async fn what_a_server_says_is_of_the_call_on_whose_stream_it_says_it_or_of_none() {
    let bench = Bench::ready(open, &["t"]).await;
    let mut minted = Vec::new();
    for id in ["1", "2"] {
        let call = call(id, "t").replace(
            r#""name""#,
            &format!(r#""_meta":{{"mcp-protector/job_id":"j-{id}"}},"name""#),
        );
        bench.agent(&call).await;
        minted.push(id_of(&bench.to_upstream()[0]).parse().unwrap());
    }
    let log =
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
    for (stream, job) in [
        (Stream::numbered(minted[0]), "j-1"),
        (Stream::numbered(minted[1]), "j-2"),
        // Two calls are open.
        (Stream::MAIN, ""),
    ] {
        bench.upstream_on(stream, log).await;
        let record = bench.records_of("notification").await.pop().unwrap();
        assert_eq!(record.get(&["correlation", "job_id"]), job, "{stream:?}");
    }
}

/// What token, `_meta` and headers say of the job and the trace, and what is recorded.
#[tokio::test]
async fn a_token_is_believed_before_the_message_and_that_before_headers() {
    let other = "11111111-2222-3333-4444-555555555555";
    let ids = |job: Option<&str>, trace: Option<&str>| {
        Some(Arc::new(WorkIds {
            job_id: job.map(Into::into),
            trace_id: trace.map(Into::into),
            ..WorkIds::default()
        }))
    };
    let said = |job: &str, trace: &str| {
        format!(r#""_meta":{{"mcp-protector/job_id":"{job}","mcp-protector/trace_id":"{trace}"}},"#)
    };
    for (proven, said, headers, job, trace) in [
        (
            ids(Some("p"), Some(UUID)),
            said("m", other),
            ids(Some("h"), Some(other)),
            "p",
            UUID,
        ),
        (
            None,
            said("m", UUID),
            ids(Some("h"), Some(other)),
            "m",
            UUID,
        ),
        (
            ids(None, None),
            said("m", UUID),
            ids(Some("h"), None),
            "m",
            UUID,
        ),
        (None, String::new(), ids(Some("h"), Some(UUID)), "h", UUID),
        // What is no UUID counts nowhere.
        (
            ids(Some("p"), Some("x")),
            said("m", "y"),
            ids(None, Some(UUID)),
            "p",
            "",
        ),
        (
            ids(None, Some("x")),
            String::new(),
            ids(None, Some(UUID)),
            "",
            UUID,
        ),
    ] {
        let bench = Bench::ready(open, &["t"]).await;
        let carrier = TransportHeaders {
            proven,
            work: headers,
            ..TransportHeaders::default()
        };
        let source = Source {
            carrier,
            ..Source::on(Stream::MAIN)
        };
        let call = call("1", "t").replace(r#""name""#, &format!(r#"{said}"name""#));
        let handled = bench.gate.handle_from(&bench.talk, source, call.as_bytes());
        Box::pin(handled).await.unwrap();
        let record = bench.records_of("tool_call").await.pop().unwrap();
        assert_eq!(record.get(&["correlation", "job_id"]), job, "{record:?}");
        let recorded = record.get(&["correlation", "trace_id"]);
        if trace.is_empty() {
            assert!(recorded.len() == 36 && recorded != UUID, "{recorded}");
        } else {
            assert_eq!(recorded, trace, "{record:?}");
        }
    }
}

#[tokio::test]
async fn credentials_are_in_no_id_whatever_it_came_by() {
    let token = ["gh", "p_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].concat();
    let bench = Bench::with(open, |settings| {
        settings.terms.guards.secrets = Some(Secrets {
            sent: Level::Off,
            received: Treatment::Off,
            rules: Arc::new(crate::guard::secrets::SecretRules::builtin()),
        });
    });
    bench.shake_hands().await;
    bench.list(&["t"]).await;
    let token_of = |part: &str| Some(Arc::from(format!("{part} {token}")));
    let carrier = TransportHeaders {
        proven: Some(Arc::new(WorkIds {
            job_id: token_of("proven"),
            ..WorkIds::default()
        })),
        work: Some(Arc::new(WorkIds {
            task_id: token_of("header"),
            ..WorkIds::default()
        })),
        ..TransportHeaders::default()
    };
    let source = Source {
        carrier,
        ..Source::on(Stream::MAIN)
    };
    let call = call("1", "t").replace(
        r#""name""#,
        &format!(r#""_meta":{{"mcp-protector/workflow_run_id":"meta {token}"}},"name""#),
    );
    let handled = bench.gate.handle_from(&bench.talk, source, call.as_bytes());
    Box::pin(handled).await.unwrap();
    let record = bench.records_of("tool_call").await.pop().unwrap();
    assert!(!record.text().contains(&token), "{record:?}");
    for (id, part) in [
        ("job_id", "proven"),
        ("task_id", "header"),
        ("workflow_run_id", "meta"),
    ] {
        let recorded = record.get(&["correlation", id]);
        assert!(recorded.starts_with(&format!("{part} ")), "{recorded}");
    }
    assert!(record.text().contains(r#""redactions":["#), "{record:?}");
}

#[tokio::test]
async fn a_call_and_its_outcome_share_their_reference_whatever_the_outcome_is() {
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let result = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#);
    let fails = |id: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"no"}}}}"#)
    };
    let broken = |id: &str| format!(r#"{{"jsonrpc":"1.0","id":{id},"result":{{}}}}"#);
    for (outcome, decision) in [
        ("result", "ALLOW"),
        ("error", "ALLOW"),
        ("broken", "BLOCK"),
        ("timeout", "ERROR"),
        ("cancelled", "ERROR"),
        ("died", "ERROR"),
        ("ended", "ERROR"),
    ] {
        let bench = Bench::ready(open, &["t"]).await;
        bench.agent(&call("1", "t")).await;
        let id = id_of(&bench.to_upstream()[0]);
        match outcome {
            "result" => bench.upstream(&result(&id)).await,
            "error" => bench.upstream(&fails(&id)).await,
            "broken" => bench.upstream(&broken(&id)).await,
            "timeout" => {
                bench.clock.advance(Duration::from_mins(2));
                bench.gate.expire(&bench.talk).await.unwrap();
            }
            "cancelled" => bench.agent(cancel).await,
            "died" => Box::pin(bench.gate.upstream_died(&bench.talk))
                .await
                .unwrap(),
            _ => {
                let over = UpstreamFault::SessionOver;
                let ended = bench.gate.conversation_ends(&bench.talk, &over);
                Box::pin(ended).await.unwrap();
            }
        }
        let calls = bench.records_of("tool_call").await;
        let ended = bench.records_of("tool_result").await;
        assert_eq!((calls.len(), ended.len()), (1, 1), "{outcome}");
        let reference = calls[0].get(&["reference"]);
        assert!(!reference.is_empty());
        assert_eq!(ended[0].get(&["reference"]), reference, "{outcome}");
        assert_eq!(work(&ended[0]), work(&calls[0]), "{outcome}");
        assert_eq!(ended[0].get(&["decision"]), decision, "{outcome}");
    }
}
