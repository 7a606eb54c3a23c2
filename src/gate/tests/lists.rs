//! Lists show what could be called.

use super::*;

/// The names that the agent sees of what the upstream lists.
async fn shown(tools: &str) -> Vec<String> {
    let bench = Bench::new(guarded);
    bench.shake_hands().await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":{tools}}}}}"#
        ))
        .await;
    let reply = bench.to_agent().remove(0);
    let message = Message::decode(reply.as_bytes(), &Limits::default()).unwrap();
    let Some(tools) = message.result().and_then(|result| result.get("tools")) else {
        return vec![reply];
    };
    tools
        .items()
        .map(|tool| tool.get("name").unwrap().as_str().unwrap().into_owned())
        .collect()
}

#[tokio::test]
async fn a_list_shows_what_could_be_called_in_the_upstreams_order() {
    let tools = r#"[{"name":"b","inputSchema":{}},{"name":"hidden_1","inputSchema":{}},{"name":"a","inputSchema":{}}]"#;
    assert_eq!(shown(tools).await, ["b", "a"]);
}

#[tokio::test]
async fn one_malformed_tool_never_disables_the_filter_for_the_rest() {
    for bad in [
        r#"{"name":"x","inputSchema":true}"#,
        r#"{"name":"x"}"#,
        r#"{"name":7,"inputSchema":{}}"#,
        r#"{"inputSchema":{}}"#,
        r#"{"name":"a\u0007","inputSchema":{}}"#,
        "null",
        "[]",
        "\"a\"",
    ] {
        let tools = format!(
            r#"[{{"name":"a","inputSchema":{{}}}},{bad},{{"name":"hidden_1","inputSchema":{{}}}},{{"name":"b","inputSchema":{{}}}}]"#
        );
        assert_eq!(shown(&tools).await, ["a", "b"], "{bad}");
    }
}

#[tokio::test]
async fn equal_definitions_are_folded_and_conflicting_ones_hidden() {
    let twice = r#"[{"name":"a","inputSchema":{}},{"name":"b","inputSchema":{}},{"name":"a","inputSchema":{}}]"#;
    assert_eq!(shown(twice).await, ["a", "b"]);
    let conflict = r#"[{"name":"a","inputSchema":{}},{"name":"b","inputSchema":{}},{"name":"a","inputSchema":{"type":"object"}}]"#;
    assert_eq!(shown(conflict).await, ["b"]);
}

#[tokio::test]
async fn a_definition_that_differs_from_that_on_an_earlier_page_is_hidden_and_its_tool_gone() {
    let bench = Bench::new(open);
    bench.shake_hands().await;
    let page = async |cursor: &str, result: &str| {
        let params = format!(r#","params":{{{cursor}}}"#);
        bench
            .agent(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list"{params}}}"#
            ))
            .await;
        let id = id_of(&bench.to_upstream()[0]);
        bench
            .upstream(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{{result}}}}}"#
            ))
            .await;
        bench.to_agent().remove(0)
    };
    let first =
        r#""tools":[{"name":"a","inputSchema":{}},{"name":"b","inputSchema":{}}],"nextCursor":"2""#;
    let second = r#""tools":[{"name":"a","description":"another","inputSchema":{}},{"name":"b","inputSchema":{}}]"#;
    page("", first).await;
    let shown = page(r#""cursor":"2""#, second).await;
    assert!(!shown.contains("another"), "{shown}");
    assert!(shown.contains(r#""name":"b""#), "{shown}");
    bench.agent(&call("2", "a")).await;
    assert!(bench.to_agent()[0].contains("Unknown tool: a"));
    bench.agent(&call("3", "b")).await;
    assert_eq!(bench.to_upstream().len(), 1);
    // A list that begins anew may say something else.
    page("", second).await;
    bench.agent(&call("4", "a")).await;
    assert_eq!(bench.to_upstream().len(), 1);
}

#[tokio::test]
async fn a_list_that_is_no_array_is_not_delivered() {
    for tools in ["{}", "null", "\"a\"", "7"] {
        let answer = shown(tools).await.remove(0);
        assert!(
            answer.contains("error") && !answer.contains("result"),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn a_list_whose_next_page_has_no_name_is_not_delivered() {
    for cursor in ["2", "{}", "[]", "true"] {
        let answer = shown(&format!(r#"[],"nextCursor":{cursor}"#)).await;
        assert!(answer[0].contains("-32603"), "{answer:?}");
        assert!(!answer[0].contains("result"), "{answer:?}");
    }
    let last = r#"[{"name":"a","inputSchema":{}}],"nextCursor":null"#;
    assert_eq!(shown(last).await, ["a"]);
}

#[tokio::test]
async fn what_a_list_does_not_show_is_in_the_audit() {
    let bench = Bench::ready(guarded, &["a", "hidden_1"]).await;
    let record = bench.records_of("gate_decision").await.pop().unwrap();
    assert!(
        record
            .text()
            .contains(r#""pointer":"/result/tools/1","op":"remove""#),
        "{}",
        record.text()
    );
}

#[tokio::test]
async fn a_call_before_any_list_waits_for_every_page_of_the_gates_own() {
    let bench = Bench::new(open);
    bench.shake_hands().await;
    bench.agent(&call("1", "second")).await;
    let first = bench.to_upstream().remove(0);
    assert!(first.contains(r#""method":"tools/list""#), "{first}");
    bench.upstream(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"tools":[{{"name":"first","inputSchema":{{}}}}],"nextCursor":"p2"}}}}"#, id_of(&first))).await;
    let next = bench.to_upstream().remove(0);
    assert!(next.contains(r#""cursor":"p2""#), "{next}");
    bench.upstream(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"tools":[{{"name":"second","inputSchema":{{}}}}]}}}}"#, id_of(&next))).await;
    assert!(bench.to_upstream()[0].contains(r#""name":"second""#));
    assert!(bench.to_agent().is_empty());
}

#[tokio::test]
async fn calls_that_wait_for_a_list_that_never_comes_are_refused() {
    let bench = Bench::new(open);
    bench.shake_hands().await;
    bench.agent(&call("1", "echo")).await;
    let id = id_of(&bench.to_upstream()[0]);
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":"no"}}}}"#
        ))
        .await;
    let answers = bench.to_agent();
    assert_eq!(answers.len(), 1);
    assert!(answers[0].contains("error"), "{answers:?}");
    assert!(bench.to_upstream().is_empty());
}

#[tokio::test]
async fn calls_that_wait_for_a_list_that_cannot_be_read_are_refused() {
    let bench = Bench::new(open);
    bench.shake_hands().await;
    bench.agent(&call("1", "echo")).await;
    let id = id_of(&bench.to_upstream()[0]);
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[],"tools":[]}}}}"#
        ))
        .await;
    let answers = bench.to_agent();
    assert_eq!(answers.len(), 1);
    assert!(answers[0].contains("-32603"), "{answers:?}");
    assert!(bench.talk.session.is_idle());
}

#[tokio::test]
async fn a_cursor_that_loops_ends() {
    let bench = Bench::new(open);
    bench.shake_hands().await;
    bench.agent(&call("1", "echo")).await;
    let mut rounds = 0;
    while let Some(asked) = bench.to_upstream().pop() {
        rounds += 1;
        assert!(rounds <= 1_000, "{asked}");
        bench
            .upstream(&format!(
                r#"{{"jsonrpc":"2.0","id":{},"result":{{"tools":[],"nextCursor":"again"}}}}"#,
                id_of(&asked)
            ))
            .await;
    }
    assert_eq!(rounds, 1_000);
    assert_eq!(bench.to_agent().len(), 1);
}

#[tokio::test]
async fn a_changed_list_is_asked_for_again_before_the_next_call() {
    let bench = Bench::ready(open, &["old"]).await;
    bench
        .upstream(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)
        .await;
    assert_eq!(bench.to_agent().len(), 1);
    bench.agent(&call("1", "old")).await;
    assert!(bench.to_upstream()[0].contains("tools/list"));
}

/// What the agent gets in place of a result, whose method this is.
async fn hinted(method: &str, members: &str) -> String {
    let bench = Bench::new(guarded);
    let asked = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"uri":"file:///a","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    );
    bench.agent(&asked).await;
    let id = id_of(&bench.to_upstream()[0]);
    let reply = |id: &str, members: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete",{members}}}}}"#)
    };
    bench.upstream(&reply(&id, members)).await;
    let replies = bench.to_agent();
    assert_eq!(replies.len(), 1, "{replies:?}");
    replies[0].clone()
}

#[tokio::test]
async fn no_result_may_be_handed_on_to_others_by_a_cache() {
    let cases = [
        // Nobody is filtered here; of others it is not known.
        ("tools/list", r#""tools":[]"#),
        ("prompts/list", r#""prompts":[]"#),
        ("resources/list", r#""resources":[]"#),
        ("resources/templates/list", r#""resourceTemplates":[]"#),
        ("resources/read", r#""contents":[]"#),
        ("server/discover", r#""supportedVersions":[]"#),
    ];
    for (method, member) in cases {
        for scope in [
            r#""public""#,
            r#""\u0070ublic""#,
            r#""Private""#,
            "null",
            "{}",
        ] {
            let hinted = hinted(
                method,
                &format!(r#"{member},"ttlMs":0,"cacheScope":{scope}"#),
            )
            .await;
            assert!(
                hinted.contains(&format!(r#"{member},"ttlMs":0,"cacheScope":"private""#)),
                "{method} {scope}: {hinted}"
            );
        }
        let hinted = hinted(method, &format!(r#"{member},"ttlMs":9"#)).await;
        assert!(hinted.contains(r#""ttlMs":0"#), "{method}: {hinted}");
    }
}

#[tokio::test]
async fn a_filtered_list_is_kept_no_longer_than_policies_let_and_the_audit_says_so() {
    // The engine of these tests looks at the time.
    let list = r#""tools":[],"ttlMs":3600000,"cacheScope":"private""#;
    assert!(hinted("tools/list", list).await.contains(r#""ttlMs":0"#));
    let read = r#""contents":[],"ttlMs":3600000,"cacheScope":"private""#;
    assert!(hinted("resources/read", read).await.contains("3600000"));
    let bench = Bench::ready(open, &[]).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    let list = r#""tools":[],"ttlMs":7,"cacheScope":"public""#;
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{{list}}}}}"#
        ))
        .await;
    let records = bench.records().await;
    let record = records.last().unwrap().text();
    assert!(
        record.contains(r#"{"pointer":"/result/cacheScope","op":"replace""#)
            && record.contains(r#"{"pointer":"/result/ttlMs","op":"replace""#),
        "{record}"
    );
}

#[tokio::test]
async fn a_list_beyond_a_limit_ends_its_request_at_once_and_the_limit_is_named() {
    let bench = Bench::new(open);
    bench.shake_hands().await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    let tools: Vec<String> = (0..20_000)
        .map(|number| {
            format!(r#"{{"name":"t{number}","inputSchema":{{"type":"object","properties":{{}}}}}}"#)
        })
        .collect();
    let tools = tools.join(",");
    bench
        .upstream(&format!(
            r#"{{"result":{{"tools":[{tools}]}},"jsonrpc":"2.0","id":{id}}}"#
        ))
        .await;
    let told = bench.to_agent().remove(0);
    assert!(
        told.starts_with(r#"{"jsonrpc":"2.0","id":1,"error":"#),
        "{told}"
    );
    assert!(
        told.contains("too_many_values (`limits.max_nodes` is 50000)"),
        "{told}"
    );
    assert_eq!(
        bench
            .records()
            .await
            .last()
            .unwrap()
            .get(&["reason", "code"]),
        "too_many_values"
    );
}
