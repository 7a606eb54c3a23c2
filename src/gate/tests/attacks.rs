//! What must never reach the other side.

use super::*;

/// Nothing reaches the upstream, and the agent is told with this code.
async fn check(frame: &str, code: i64) {
    let bench = Bench::ready(open, &["safe", "evil"]).await;
    bench.agent(frame).await;
    assert_eq!(bench.to_upstream(), Vec::<String>::new(), "{frame}");
    let answers = bench.to_agent();
    assert_eq!(answers.len(), 1, "{frame}");
    assert!(
        answers[0].contains(&format!(r#""code":{code},"#)),
        "{frame}: {}",
        answers[0]
    );
    let refused = bench.records().await;
    let last = refused.last().unwrap();
    assert_eq!(last.get(&["decision"]), "BLOCK", "{frame}: {}", last.text());
}

#[tokio::test]
async fn malformed_and_ambiguous_calls_never_reach_the_upstream() {
    let cases: &[(&str, i64)] = &[
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"safe","name":"evil"}}"#,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"safe","n\u0061me":"evil"}}"#,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"safe","Name":"evil"}}"#,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{"name":"evil"}}"#,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"safe","arguments":{"p":"/ok","p":"/etc/shadow"}}}"#,
            -32600,
        ),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil"}}]"#,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["evil",{}]}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"safe","arguments":[]}}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"safe","requestState":1}}"#,
            -32602,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, -32602),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call ","params":{"name":"evil"}}"#,
            -32601,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"Tools/Call","params":{"name":"evil"}}"#,
            -32601,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x/anything"}"#, -32601),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tasks/delete","params":{"taskId":"t"}}"#,
            -32601,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}"#,
            -32601,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#,
            -32600,
        ),
        (r#"{"jsonrpc":"2.0","id":1.0,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}"#,
            -32600,
        ),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,", -32700),
        (
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
            -32700,
        ),
    ];
    for (frame, code) in cases {
        check(frame, *code).await;
    }
}

#[tokio::test]
async fn a_call_without_an_id_is_dropped_and_recorded() {
    let bench = Bench::ready(open, &["evil"]).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"evil"}}"#)
        .await;
    assert!(bench.to_upstream().is_empty());
    assert!(bench.to_agent().is_empty());
    let last = bench.records().await.pop().unwrap();
    assert_eq!(last.get(&["reason", "code"]), "not_a_request");
}

#[tokio::test]
async fn a_carriage_return_cannot_smuggle_a_second_frame() {
    let bench = Bench::ready(open, &["evil"]).await;
    let evil =
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"evil","arguments":{}}}"#;
    let frame = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{{\"x\":\r{evil}\r}}}}"
    );
    bench.agent(&frame).await;
    let sent = bench.to_upstream();
    assert_eq!(sent.len(), 1);
    assert!(!sent[0].contains(['\r', '\n']), "{sent:?}");
}

#[tokio::test]
async fn a_hidden_tool_and_a_missing_one_get_the_same_bytes() {
    let bench = Bench::ready(guarded, &["echo", "hidden_xx"]).await;
    bench.agent(&call("1", "hidden_xx")).await;
    bench.agent(&call("1", "absent_xx")).await;
    let answers = bench.to_agent();
    assert_eq!(
        answers[0].replace("hidden_xx", "*"),
        answers[1].replace("absent_xx", "*")
    );
    assert!(answers[0].contains("-32602"), "{answers:?}");
    assert!(bench.to_upstream().is_empty());
}

#[tokio::test]
async fn a_visible_tool_that_is_denied_is_told_so_with_a_reference() {
    let bench = Bench::ready(guarded, &["denied_a"]).await;
    bench.agent(&call("1", "denied_a")).await;
    let answer = bench.to_agent().remove(0);
    let record = bench.records_of("tool_call").await.pop().unwrap();
    let reference = record.get(&["reference"]);
    assert!(answer.contains(&format!(r#""code":{DENIED},"#)), "{answer}");
    assert!(
        answer.contains(&format!(r#""audit":"{reference}""#)),
        "{answer}"
    );
}

#[tokio::test]
async fn an_engine_that_fails_denies_and_is_recorded_as_a_fault() {
    fn broken(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        match facts.action {
            Action::CallTool { .. } => Err(EngineFault {
                engine: EngineName("scripted"),
                kind: crate::policy::FaultKind::Evaluation,
                policy: None,
                problem: "overflow".to_owned(),
            }),
            _ => Ok(allow()),
        }
    }
    let bench = Bench::ready(broken, &["echo"]).await;
    bench.agent(&call("1", "echo")).await;
    assert!(bench.to_upstream().is_empty());
    assert_eq!(bench.to_agent().len(), 1);
    let record = bench.records_of("tool_call").await.pop().unwrap();
    assert_eq!(record.get(&["decision"]), "ERROR");
    assert_eq!(record.get(&["reason", "code"]), "engine_fault");
}

#[tokio::test]
async fn a_reused_id_in_flight_is_refused_and_the_first_call_still_answered_once() {
    let bench = Bench::ready(open, &["echo"]).await;
    bench.agent(&call("7", "echo")).await;
    bench.agent(&call("7", "echo")).await;
    let sent = bench.to_upstream();
    assert_eq!(sent.len(), 1);
    assert!(bench.to_agent()[0].contains("-32600"));
    bench.upstream(&result(&id_of(&sent[0]))).await;
    assert_eq!(bench.to_agent(), [result("7")]);
}

#[tokio::test]
async fn replies_that_answer_nothing_are_dropped_and_counted() {
    let bench = Bench::ready(open, &["echo"]).await;
    bench.agent(&call("1", "echo")).await;
    let minted = id_of(&bench.to_upstream()[0]);
    let confused = format!("\"{minted}\"");
    for id in ["4242", &confused, "0"] {
        bench.upstream(&result(id)).await;
    }
    assert!(bench.to_agent().is_empty());
    bench.upstream(&result(&minted)).await;
    bench.upstream(&result(&minted)).await;
    assert_eq!(bench.to_agent(), [result("1")]);
    assert_eq!(bench.talk.session.state().connection.stray_replies, 4);
}

#[tokio::test]
async fn a_reply_that_cannot_be_read_is_answered_as_a_fault_of_the_upstream() {
    let check = async |result: &str, why: &str| {
        for id_first in [true, false] {
            let bench = Bench::ready(open, &["echo"]).await;
            bench.agent(&call("1", "echo")).await;
            let minted = id_of(&bench.to_upstream()[0]);
            let reply = if id_first {
                format!(r#"{{"jsonrpc":"2.0","id":{minted},"result":{result}}}"#)
            } else {
                format!(r#"{{"jsonrpc":"2.0","result":{result},"id":{minted}}}"#)
            };
            bench.upstream(&reply).await;
            let answers = bench.to_agent();
            assert_eq!(answers.len(), 1, "{why}");
            // Not -32600 or -32700: the agent's own request was in order.
            assert!(
                answers[0].starts_with(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"#),
                "{answers:?}"
            );
            assert!(answers[0].contains(why), "{answers:?}");
        }
    };
    let nested = |inner: &str| {
        let depth = 100;
        [&"[".repeat(depth), inner, &"]".repeat(depth)].concat()
    };
    check(r#"{"a":1,"a":2}"#, "duplicate_key").await;
    check(&format!(r#"{{"a":{}}}"#, nested("")), "too_deep").await;
    check(
        &format!(r#"{{"a":{},"b":1}}"#, nested(r#""]\"}""#)),
        "too_deep",
    )
    .await;
}

#[tokio::test]
async fn a_call_that_waits_for_a_list_that_nests_too_deep_is_answered_at_once() {
    let deep = ["{\"items\":".repeat(100), "{}".to_owned(), "}".repeat(100)].concat();
    let bench = Bench::with(open, |_| {});
    bench.shake_hands().await;
    bench.agent(&call("1", "echo")).await;
    let asked = bench.to_upstream();
    assert!(asked[0].contains(r#""method":"tools/list""#), "{asked:?}");
    let minted = id_of(&asked[0]);
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{minted},"result":{{"tools":[{{"name":"echo","inputSchema":{deep}}}]}}}}"#
        ))
        .await;
    let answers = bench.to_agent();
    assert_eq!(answers.len(), 1, "{answers:?}");
    let told = "did not list what it offers";
    assert!(answers[0].contains(told), "{answers:?}");
}

#[tokio::test]
async fn news_of_what_nobody_asked_for_is_not_passed_on() {
    let bench = Bench::ready(open, &["echo"]).await;
    let updated = r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}"#;
    let complete = r#"{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e"}}"#;
    for unasked in [updated, complete] {
        bench.upstream(unasked).await;
        assert!(bench.to_agent().is_empty(), "{unasked}");
    }
    bench
        .agent(r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///a"}}"#)
        .await;
    bench.upstream(updated).await;
    assert_eq!(bench.to_agent(), [updated]);
}

#[tokio::test]
async fn what_a_server_asks_unbidden_never_reaches_the_agent() {
    let bench = Bench::ready(guarded, &["echo"]).await;
    let cases = [
        (
            r#"{"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#,
            "-32601",
        ),
        (
            r#"{"jsonrpc":"2.0","id":5,"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}"#,
            "-32601",
        ),
        (r#"{"jsonrpc":"2.0","id":5,"method":"x/unknown"}"#, "-32601"),
        (
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo"}}"#,
            "-32601",
        ),
        // The agent has said that it has roots, but no policy permits asking for them.
        (
            r#"{"jsonrpc":"2.0","id":5,"method":"roots/list"}"#,
            "-32601",
        ),
    ];
    for (frame, code) in cases {
        bench.upstream(frame).await;
        assert!(bench.to_agent().is_empty(), "{frame}");
        let answers = bench.to_upstream();
        assert_eq!(answers.len(), 1, "{frame}");
        assert!(answers[0].contains(code), "{frame}: {}", answers[0]);
    }
}

#[tokio::test]
async fn what_a_result_asks_in_return_is_judged_too() {
    let bench = Bench::ready(guarded, &["echo"]).await;
    bench.agent(&call("1", "echo")).await;
    let minted = id_of(&bench.to_upstream()[0]);
    bench.upstream(&format!(r#"{{"jsonrpc":"2.0","id":{minted},"result":{{"resultType":"input_required","inputRequests":{{"k":{{"method":"roots/list"}}}}}}}}"#)).await;
    let answers = bench.to_agent();
    assert_eq!(answers.len(), 1);
    assert!(
        answers[0].contains("4030") && !answers[0].contains("roots/list"),
        "{answers:?}"
    );
    // The agent never said that it could be asked for samples: the reply is at fault, not the call.
    bench.agent(&call("2", "echo")).await;
    let minted = id_of(&bench.to_upstream()[0]);
    bench.upstream(&format!(r#"{{"jsonrpc":"2.0","id":{minted},"result":{{"resultType":"input_required","inputRequests":{{"k":{{"method":"sampling/createMessage","params":{{"messages":[],"maxTokens":1}}}}}}}}}}"#)).await;
    let answers = bench.to_agent();
    assert!(answers[0].contains("-32603"), "{answers:?}");
}

#[tokio::test]
async fn a_secret_of_the_configuration_passes_in_neither_direction() {
    use secrecy::SecretString;
    let secret = SecretString::from("CANARY-1234567890".to_owned());
    let bench = Bench::with(open, |settings| {
        settings.secrets = crate::audit::Redactor::new([&secret]).unwrap();
    });
    bench.shake_hands().await;
    bench.list(&["echo"]).await;
    // As it is, behind needless escapes, inside another string, twice.
    for hidden in [
        r#""CANARY-1234567890""#,
        r#""\u0043ANARY-1234567890""#,
        r#""key=CANARY-1234567890;""#,
        r#"["CANARY-1234567890",{"k":"CANARY-1234567890"}]"#,
    ] {
        bench
            .agent(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"a":{hidden}}}}}}}"#))
            .await;
        let sent = bench.to_upstream().remove(0);
        let result = format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"content":[],"x":{hidden}}}}}"#,
            id_of(&sent)
        );
        bench.upstream(&result).await;
        let received = bench.to_agent().remove(0);
        for line in [sent, received] {
            let message = Message::decode(line.as_bytes(), &Limits::default()).unwrap();
            assert!(
                !line.contains("CANARY") && !line.contains("0043ANARY"),
                "{line}"
            );
            assert!(message.text().contains("[redacted]"), "{line}");
        }
    }
    // Nor does a header say what the message no longer does.
    for (method, key) in [("resources/read", "uri"), ("prompts/get", "name")] {
        bench
            .agent(&format!(r#"{{"jsonrpc":"2.0","id":2,"method":"{method}","params":{{"{key}":"x://a/CANARY-1234567890"}}}}"#))
            .await;
        let sent = bench.to_upstream().remove(0);
        assert!(sent.contains("x://a/[redacted]"), "{sent}");
        bench.upstream(&result(&id_of(&sent))).await;
        bench.to_agent();
    }
    // A key cannot be replaced: the message does not pass.
    bench
        .agent(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"CANARY-1234567890":1}}}"#)
        .await;
    assert!(bench.to_upstream().is_empty());
    assert!(bench.to_agent()[0].contains("error"));
    assert!(bench.talk.session.is_idle());
}

#[tokio::test]
async fn a_method_of_the_other_era_is_an_unknown_one() {
    let bench = Bench::ready(open, &["echo"]).await;
    bench.agent(r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#).await;
    assert!(bench.to_agent()[0].contains("-32601"));
    let bench = Bench::new(open);
    bench.agent(r#"{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#).await;
    assert!(bench.to_agent()[0].contains("-32601"));
    assert!(bench.to_upstream().is_empty());
}

#[tokio::test]
async fn an_engine_that_panics_denies_one_message_and_the_gate_lives() {
    fn panicking(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        match (&facts.action, &facts.resource) {
            (Action::CallTool { .. }, Resource::Tool(tool)) if tool.name == "evil" => {
                panic!("injected")
            }
            // The reply, when its request has gone out already.
            (Action::ReceiveResult { .. }, Resource::Tool(tool)) if tool.name == "odd" => {
                panic!("injected")
            }
            _ => Ok(allow()),
        }
    }
    let bench = Bench::ready(panicking, &["evil", "odd", "echo"]).await;
    bench.agent(&call("1", "evil")).await;
    assert!(bench.to_upstream().is_empty());
    assert!(bench.to_agent()[0].contains(r#""id":1,"error""#));
    bench.agent(&call("2", "odd")).await;
    let minted = id_of(&bench.to_upstream()[0]);
    bench.upstream(&result(&minted)).await;
    let answers = bench.to_agent();
    assert_eq!(answers.len(), 1);
    assert!(answers[0].contains(r#""id":2,"error""#), "{answers:?}");
    assert!(bench.talk.session.is_idle());
    bench.agent(&call("3", "echo")).await;
    assert_eq!(bench.to_upstream().len(), 1);
    let fault = bench.records_of("tool_call").await.remove(0);
    assert_eq!(fault.get(&["decision"]), "ERROR");
    assert_eq!(fault.get(&["reason", "code"]), "engine_fault");
}

#[tokio::test]
async fn a_panic_anywhere_on_the_path_is_answered_once_and_leaves_nothing_waiting() {
    let bench = Bench::ready(open, &[PANIC, "echo"]).await;
    bench.agent(&call("1", PANIC)).await;
    let answers = bench.to_agent();
    assert!(answers[0].contains("-32603"), "{answers:?}");
    assert!(bench.talk.session.is_idle());
    bench.agent(&call("1", "echo")).await;
    assert_eq!(bench.to_upstream().len(), 1);
    let outcome = bench.records_of("tool_result").await.remove(0);
    assert_eq!(outcome.get(&["reason", "code"]), "panic");
}
