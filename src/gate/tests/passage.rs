//! What passes, and that nothing of it is lost.

use super::super::own::OwnMessage;
use super::*;
use crate::policy::Obligation;
use crate::wire::ArrivalForm;

const MAIN: crate::wire::Stream = crate::wire::Stream::MAIN;

#[tokio::test]
async fn an_allowed_call_reaches_the_upstream_under_an_id_of_the_gates() {
    let bench = Bench::ready(open, &["echo"]).await;
    bench.agent(&call("\"seven\"", "echo")).await;
    let sent = bench.to_upstream().remove(0);
    let minted = id_of(&sent);
    assert_eq!(sent, call(&minted, "echo"));
    bench.upstream(&result(&minted)).await;
    assert_eq!(bench.to_agent(), [result("\"seven\"")]);
}

#[tokio::test]
async fn unknown_members_key_order_and_number_text_pass_unchanged_both_ways() {
    let bench = Bench::ready(open, &["echo"]).await;
    let sent = r#"{"x-vendor":{"b":1.0,"a":1e400},"params":{"zeta":null,"name":"echo","arguments":{"n":18446744073709551616,"z":-0,"u":"\u00e9é"},"_meta":{"com.example/k":[1,2.50]}},"method":"tools/call","id":9,"jsonrpc":"2.0"}"#;
    bench.agent(sent).await;
    let received = bench.to_upstream().remove(0);
    let minted = id_of(&received);
    assert_eq!(
        received,
        sent.replace(r#""id":9"#, &format!(r#""id":{minted}"#))
    );

    let reply = r#"{"result":{"x":{"big":123456789012345678901234567890},"content":[{"vendor":true,"text":"\ud83d\ude00","type":"text"}]},"extra":[],"id":9,"jsonrpc":"2.0"}"#;
    bench
        .upstream(&reply.replace(r#""id":9"#, &format!(r#""id":{minted}"#)))
        .await;
    assert_eq!(bench.to_agent(), [reply]);
}

#[tokio::test]
async fn equal_ids_of_different_types_are_answered_each_with_its_own() {
    let bench = Bench::ready(open, &["echo"]).await;
    bench.agent(&call("1", "echo")).await;
    bench.agent(&call("\"1\"", "echo")).await;
    let sent = bench.to_upstream();
    bench.upstream(&result(&id_of(&sent[1]))).await;
    bench.upstream(&result(&id_of(&sent[0]))).await;
    assert_eq!(bench.to_agent(), [result("\"1\""), result("1")]);
}

#[tokio::test]
async fn every_call_has_one_decision_and_one_outcome_in_the_audit() {
    let bench = Bench::ready(guarded, &["echo", "denied_a"]).await;
    bench.agent(&call("1", "echo")).await;
    bench
        .upstream(&result(&id_of(&bench.to_upstream()[0])))
        .await;
    bench.agent(&call("2", "denied_a")).await;
    let calls = bench.records_of("tool_call").await;
    let decisions: Vec<_> = calls
        .iter()
        .map(|it| (it.get(&["target"]), it.get(&["decision"])))
        .collect();
    let expected = [("echo", "ALLOW"), ("denied_a", "BLOCK")].map(|(a, b)| (a.into(), b.into()));
    assert_eq!(decisions, expected);
    let results = bench.records_of("tool_result").await;
    assert_eq!(results.len(), 1);
    assert_eq!(results[0].get(&["reference"]), calls[0].get(&["reference"]));
    assert_eq!(calls[0].get(&["agent", "asserted_name"]), "tester");
}

#[tokio::test]
async fn progress_passes_only_for_a_token_in_flight() {
    let bench = Bench::ready(open, &["slow"]).await;
    bench.agent(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":"t"}}}"#).await;
    bench.to_upstream();
    let progress = |token: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}"#
        )
    };
    bench.upstream(&progress("\"t\"")).await;
    assert_eq!(bench.to_agent(), [progress("\"t\"")]);
    // Spelled as the server likes, it is the same token; a number is another one.
    bench.upstream(&progress(r#""\u0074""#)).await;
    assert_eq!(bench.to_agent(), [progress(r#""\u0074""#)]);
    for other in ["\"other\"", "116", "\"T\""] {
        bench.upstream(&progress(other)).await;
        assert!(bench.to_agent().is_empty());
    }
}

#[tokio::test]
async fn a_message_of_the_stateless_era_needs_no_handshake() {
    let bench = Bench::new(open);
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    bench
        .agent(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{{{meta}}}}}"#
        ))
        .await;
    assert_eq!(bench.to_upstream().len(), 1);
    bench
        .agent(&format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"echo",{meta}}}}}"#
        ))
        .await;
    let fetch = bench.to_upstream();
    assert!(
        fetch[0].contains("tools/list") && fetch[0].contains("2026-07-28"),
        "{fetch:?}"
    );
    let listed = format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"resultType":"complete","tools":[{{"name":"echo","inputSchema":{{}}}}]}}}}"#,
        id_of(&fetch[0])
    );
    bench.upstream(&listed).await;
    assert!(bench.to_upstream()[0].contains("tools/call"));
    assert!(bench.to_agent().is_empty());
}

#[tokio::test]
async fn a_subscription_is_known_to_each_side_by_its_own_id() {
    let bench = Bench::new(open);
    bench.agent(r#"{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#).await;
    let minted = id_of(&bench.to_upstream()[0]);
    let notice = |id: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
        )
    };
    bench.upstream(&notice(&minted)).await;
    assert_eq!(bench.to_agent(), [notice("\"sub\"")]);
    bench.upstream(&notice("99")).await;
    assert!(bench.to_agent().is_empty());
}

#[tokio::test]
async fn a_stream_has_the_news_that_it_was_opened_for_and_no_other() {
    let news = |method: &str, id: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{{"uri":"notes:///a","_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
        )
    };
    let kinds = [
        ("tools/list_changed", r#""toolsListChanged":true"#),
        ("prompts/list_changed", r#""promptsListChanged":true"#),
        ("resources/list_changed", r#""resourcesListChanged":true"#),
        (
            "resources/updated",
            r#""resourceSubscriptions":["notes:///a"]"#,
        ),
    ];
    for (asked, member) in kinds {
        let bench = Bench::new(open);
        let listen = r#"{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{"notifications":{MEMBER},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
        bench.agent(&listen.replace("MEMBER", member)).await;
        let minted = id_of(&bench.to_upstream()[0]);
        for (method, _) in kinds {
            bench.upstream(&news(method, &minted)).await;
            let expected: &[String] = if method == asked {
                &[news(method, "\"sub\"")]
            } else {
                &[]
            };
            assert_eq!(bench.to_agent(), expected, "{asked} {method}");
        }
    }
    let bench = Bench::new(open);
    let listen = r#"{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":false,"resourceSubscriptions":[]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    bench.agent(listen).await;
    let minted = id_of(&bench.to_upstream()[0]);
    for (method, _) in kinds {
        bench.upstream(&news(method, &minted)).await;
        assert!(bench.to_agent().is_empty(), "{method}");
    }
}

#[tokio::test]
async fn what_is_stripped_of_meta_is_gone_and_told_in_the_audit() {
    let bench = Bench::ready(stripping, &["echo"]).await;
    let sent = r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"echo","_meta":{"a/b":1,"c":2,"\u0064":3}}}"#;
    bench.agent(sent).await;
    let received = bench.to_upstream().remove(0);
    assert!(received.contains(r#""_meta":{"c":2}"#), "{received}");
    let call = bench.records_of("tool_call").await.remove(0);
    let edits = call.text();
    assert!(
        edits.contains("/params/_meta/a~1b") && edits.contains("/params/_meta/d"),
        "{edits}"
    );
    let minted = id_of(&received);
    let reply =
        format!(r#"{{"jsonrpc":"2.0","id":{minted},"result":{{"content":[],"_meta":{{"d":1}}}}}}"#);
    bench.upstream(&reply).await;
    assert!(bench.to_agent()[0].contains(r#""_meta":{}"#));
}

fn stripping(_: &Facts<'_>) -> Result<Verdict, EngineFault> {
    let strip = |key: &str| Obligation::StripMeta(key.into());
    Ok(Verdict::Allow {
        reasons: vec![],
        obligations: vec![strip("a/b"), strip("d"), strip("absent")],
    })
}

#[tokio::test]
async fn a_note_for_the_audit_changes_nothing_in_the_message() {
    let noted: Rule = |_| {
        Ok(Verdict::Allow {
            reasons: vec![],
            obligations: vec![Obligation::Annotate("seen by the policy".into())],
        })
    };
    let bench = Bench::ready(noted, &["echo"]).await;
    bench.agent(&call("9", "echo")).await;
    let sent = bench.to_upstream().remove(0);
    assert!(!sent.contains("seen by the policy"), "{sent}");
    let record = bench.records_of("tool_call").await.remove(0);
    assert!(record.text().contains("seen by the policy"), "{record:?}");
}

/// What the bridge makes of a permitted message.
#[test]
fn a_permit_in_other_words_is_for_the_same_side_and_stream() {
    let own = OwnMessage::cancel(7, "x");
    let permit = Permit::own(Side::Agent, MAIN, own, &Redactor::default());
    let check = |other: &Permit, line: &str, stream, form: Option<ArrivalForm>| {
        assert_eq!((other.to(), other.line()), (Side::Agent, line));
        assert_eq!(other.passage().stream, stream);
        let is = match other.passage().carried {
            Carried::Reply { form, .. } => Some(form),
            Carried::Request { .. } | Carried::Notification { .. } => None,
        };
        assert_eq!(is, form);
    };
    let reply = |form| Carried::Reply { error: None, form };
    // What answers no reply of the server's is whole.
    check(
        &permit.answering("a".to_owned(), None),
        "a",
        MAIN,
        Some(ArrivalForm::Whole),
    );
    let event = permit.translated("b".to_owned(), reply(ArrivalForm::Event));
    check(&event, "b", MAIN, Some(ArrivalForm::Event));
    let answered = event.answering("c".to_owned(), Some(-1));
    check(&answered, "c", MAIN, Some(ArrivalForm::Event));
    let carried = permit.passage().carried.clone();
    let stream = crate::wire::Stream::numbered(5);
    let elsewhere = permit.translated_for(stream, "d".to_owned(), carried);
    check(&elsewhere, "d", stream, None);
}
