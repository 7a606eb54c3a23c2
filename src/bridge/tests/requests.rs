//! What an agent asks, and what comes back.

use super::*;
use crate::bridge::state::Aside;
use crate::wire::Id;

#[tokio::test]
async fn each_request_says_who_sends_it_and_is_otherwise_what_it_was() {
    let bench = Bench::bridged(open).await;
    let check = async |sent: &str, got: &str| {
        let message = |id: &str, params: &str| {
            let comma = if params.is_empty() { "" } else { "," };
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"prompts/list"{comma}{params}}}"#)
        };
        bench.agent(&message("\"x\"", sent)).await;
        let asked = bench.to_upstream();
        let id = id_of(&asked[0]).unwrap();
        assert_eq!(asked, [message(&id, &got.replace("META", META))]);
        bench
            .upstream(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"prompts":[],"nextCursor":"/"}}}}"#
            ))
            .await;
        assert_eq!(
            bench.to_agent(),
            [r#"{"jsonrpc":"2.0","id":"x","result":{"prompts":[],"nextCursor":"/"}}"#]
        );
    };
    check("", r#""params":{"_meta":{META}}"#).await;
    check(r#""params":{}"#, r#""params":{"_meta":{META}}"#).await;
    check(
        r#""params":{"z":1.0,"a":1E+2}"#,
        r#""params":{"z":1.0,"a":1E+2,"_meta":{META}}"#,
    )
    .await;
    check(
        r#""params":{"_meta":{"progressToken":"\u0074","x/y":[]},"cursor":"\/"}"#,
        r#""params":{"_meta":{"progressToken":"\u0074","x/y":[],META},"cursor":"\/"}"#,
    )
    .await;
    check(
        r#""params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-06-18","io.modelcontextprotocol/logLevel":"debug"}}"#,
        r#""params":{"_meta":{META}}"#,
    )
    .await;
    check(
        r#""params":{"task":{"ttl":1}}"#,
        r#""params":{"_meta":{META}}"#,
    )
    .await;
}

#[tokio::test]
async fn a_result_has_nothing_that_no_session_has() {
    let bench = Bench::listed(open).await;
    let check = async |method: &str, got: &str, told: &str| {
        bench
            .agent(&format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{"name":"t","uri":"file:///a"}}}}"#
            ))
            .await;
        bench.answer(got).await;
        assert_eq!(
            bench.to_agent(),
            [format!(r#"{{"jsonrpc":"2.0","id":7,{told}}}"#)]
        );
    };
    check(
        "resources/list",
        r#""result":{"ttlMs":1,"resources":[{"uri":"a:b","name":"n","size":1.0}],"resultType":"complete","cacheScope":"public","_meta":{"x":1E0}}"#,
        r#""result":{"resources":[{"uri":"a:b","name":"n","size":1.0}],"_meta":{"x":1E0}}"#,
    )
    .await;
    check(
        "tools/call",
        r#""result":{"resultType":"complete","content":[{"type":"text","text":"\u0061"}],"structuredContent":{"a":0.10},"ttlMs":"mine"}"#,
        r#""result":{"content":[{"type":"text","text":"\u0061"}],"structuredContent":{"a":0.10},"ttlMs":"mine"}"#,
    )
    .await;
    check(
        "tools/call",
        r#""result":{"resultType":"complete","content":[{"type":"text","text":"[1]"}],"structuredContent":[1]}"#,
        r#""result":{"content":[{"type":"text","text":"[1]"}]}"#,
    )
    .await;
    check(
        "tools/list",
        r#""result":{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}},{"name":"u","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}]}"#,
        r#""result":{"tools":[{"name":"t","inputSchema":{"type":"object"}},{"name":"u","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}]}"#,
    )
    .await;
    check(
        "resources/read",
        r#""error":{"code":-32602,"message":"gone","data":{"uri":"file:///a"}}"#,
        r#""error":{"code":-32002,"message":"gone","data":{"uri":"file:///a"}}"#,
    )
    .await;
    check(
        "resources/read",
        r#""error":{"code":-32602,"message":"bad"}"#,
        r#""error":{"code":-32602,"message":"bad"}"#,
    )
    .await;
}

#[tokio::test]
async fn a_result_that_no_session_has_is_refused_and_says_so() {
    let bench = Bench::listed(open).await;
    let check = async |got: &str, told: &str| {
        bench
            .agent(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}}"#)
            .await;
        bench.answer(got).await;
        let answers = bench.to_agent();
        assert_eq!(answers.len(), 1, "{got}: {answers:?}");
        assert!(answers[0].starts_with(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"#));
        assert!(answers[0].contains(told), "{answers:?}");
        assert!(!answers[0].contains("forged"), "{answers:?}");
        assert!(bench.bridge.is_idle());
    };
    check(
        r#""result":{"resultType":"complete","content":[],"structuredContent":["forged"]}"#,
        "structuredContent",
    )
    .await;
    check(r#""result":{"resultType":"forged"}"#, "refused").await;
    check(
        r#""result":{"resultType":"input_required"}"#,
        "does not say which",
    )
    .await;
    check(
        r#""result":{"resultType":"input_required","requestState":1}"#,
        "requestState",
    )
    .await;
    check(
        r#""result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"url","message":"forged","url":"https://x"}}}}"#,
        "not_negotiated",
    )
    .await;
    let records = bench
        .records(&["kind", "target", "decision", "stage", "reason/code"])
        .await;
    assert!(
        records.contains(&"tool_call t BLOCK bridge unbridged".to_owned()),
        "{records:#?}"
    );
}

#[tokio::test]
async fn what_means_nothing_in_a_session_is_refused() {
    let bench = Bench::listed(open).await;
    let check = async |frame: &str, told: &str| {
        bench.agent(frame).await;
        assert_eq!(bench.to_upstream(), [""; 0], "{frame}");
        assert_eq!(bench.to_agent(), [told]);
    };
    let unknown =
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#;
    for method in [
        "server/discover",
        "tasks/list",
        "tasks/get",
        "nothing",
        "roots/list",
    ] {
        check(
            &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#),
            unknown,
        )
        .await;
    }
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{}}}"#,
        unknown,
    )
    .await;
    for member in [r#""inputResponses":{}"#, r#""requestState":"forged""#] {
        let key = member.split('"').nth(1).unwrap();
        check(
            &format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t",{member}}}}}"#
            ),
            &format!(
                r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32602,"message":"the session has no `{key}`, which belongs to the server's revision"}}}}"#
            ),
        )
        .await;
    }
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":[]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: `params/_meta` must be an object, not an array"}}"#,
    )
    .await;
}

#[tokio::test]
async fn what_the_server_need_not_know_is_judged_and_answered_all_the_same() {
    let bench = Bench::bridged(|facts| !matches!(facts.action, Action::Ping)).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
        .await;
    assert!(bench.to_agent()[0].contains("denied by policy"));
    for method in [
        "notifications/roots/list_changed",
        "notifications/initialized",
    ] {
        bench
            .agent(&format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#))
            .await;
    }
    assert!(bench.to_upstream()[0].contains("subscriptions/listen"));
    let records = bench
        .records(&["method", "decision", "stage", "bridged"])
        .await;
    for settled in [
        "ping BLOCK decide 2025-06-18",
        "notifications/roots/list_changed ALLOW bridge 2025-06-18",
        "notifications/initialized ALLOW bridge 2025-06-18",
    ] {
        assert!(
            records.contains(&settled.to_owned()),
            "{settled}: {records:#?}"
        );
    }
}

#[tokio::test]
async fn a_log_level_holds_for_the_requests_after_it_if_policy_permits_it() {
    let level =
        r#"{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"\u0069nfo"}}"#;
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"prompts/list"}"#;
    let bench = Bench::bridged(open).await;
    bench.agent(level).await;
    assert_eq!(
        bench.to_agent(),
        [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#]
    );
    bench.agent(list).await;
    assert!(
        bench.to_upstream()[0].ends_with(r#""io.modelcontextprotocol/logLevel":"\u0069nfo"}}}"#)
    );

    let bench = Bench::bridged(|facts| !matches!(facts.action, Action::SetLevel)).await;
    bench.agent(level).await;
    assert!(bench.to_agent()[0].contains("denied by policy"));
    bench.agent(list).await;
    assert!(!bench.to_upstream()[0].contains("logLevel"));
}

#[tokio::test]
async fn a_request_that_the_server_refuses_ends_while_another_ones_id_is_refused() {
    let bench = Bench::listed(open).await;
    let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}}"#;
    bench.agent(call).await;
    let bridge = bench.talk.agent.bridge().unwrap();
    bridge.state().aside = Some(Aside(Id::integer(5)));
    let answer = r#""error":{"code":-32600,"message":"no"}"#;
    bench.answer(answer).await;
    assert!(bench.to_agent()[0].contains("no"));
    bench.to_upstream();
    bench.agent(call).await;
    assert_eq!(bench.to_upstream().len(), 1, "the id is free again");
}

#[tokio::test]
async fn ids_belong_to_one_request_at_a_time() {
    let bench = Bench::listed(open).await;
    let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}}"#;
    let reused = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"a request with this id is already in flight"}}"#;
    bench.agent(call).await;
    bench.agent(call).await;
    assert_eq!(bench.to_agent(), [reused]);
    bench
        .answer(r#""result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}"#)
        .await;
    bench.to_agent();
    // It waits for the agent, and is still the same request.
    bench.agent(call).await;
    assert_eq!(bench.to_agent(), [reused]);
    // Another type is another id, and four may wait.
    for id in ["\"7\"", "8", "9", "10"] {
        bench.agent(&call.replace('7', id)).await;
    }
    let told = bench.to_agent();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("too many requests in flight: at most 4"),
        "{told:?}"
    );
}

#[tokio::test]
async fn how_many_may_wait_is_as_the_gates_terms_say_from_then_on() {
    let bench = Bench::listed(open).await;
    let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}}"#;
    bench.bridge.renew(&terms(1));
    bench.agent(call).await;
    assert_eq!(bench.to_agent(), [""; 0]);
    bench.agent(&call.replace('7', "8")).await;
    let told = bench.to_agent();
    assert!(told[0].contains("at most 1"), "{told:?}");
    bench.bridge.renew(&terms(2));
    bench.agent(&call.replace('7', "9")).await;
    assert_eq!(bench.to_agent(), [""; 0]);
}

#[tokio::test]
async fn a_cancelled_request_is_cancelled_at_the_server_and_its_late_result_is_dropped() {
    let bench = Bench::listed(open).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}}"#)
        .await;
    let id = id_of(&bench.to_upstream()[0]).unwrap();
    bench
        .agent(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"x"}}"#)
        .await;
    assert_eq!(
        bench.to_upstream(),
        [format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"x"}}}}"#
        )]
    );
    assert!(bench.bridge.is_idle());
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","content":[]}}}}"#
        ))
        .await;
    assert_eq!(bench.to_agent(), [""; 0]);
    // One of nothing is refused.
    bench
        .agent(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#)
        .await;
    let records = bench.records(&["method", "reason/code"]).await;
    assert_eq!(records.last().unwrap(), "notifications/cancelled stray");
}

#[tokio::test]
async fn a_denied_cancellation_leaves_the_request_as_it_was() {
    let bench = Bench::listed(|facts| !matches!(facts.action, Action::Cancel)).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}}"#)
        .await;
    let id = id_of(&bench.to_upstream()[0]).unwrap();
    bench
        .agent(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#)
        .await;
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","content":[]}}}}"#
        ))
        .await;
    assert_eq!(
        bench.to_agent(),
        [r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#]
    );
}

#[tokio::test]
async fn what_is_no_message_is_refused_as_ever() {
    let bench = Bench::bridged(open).await;
    for frame in [
        "",
        "{",
        "[]",
        r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}"#,
    ] {
        bench.agent(frame).await;
    }
    assert_eq!(bench.to_agent().len(), 4);
    let records = bench.records(&["kind", "decision"]).await;
    assert_eq!(
        records
            .iter()
            .filter(|it| *it == "malformed_message BLOCK")
            .count(),
        4
    );
}

#[tokio::test]
async fn a_message_that_no_longer_fits_is_refused_and_answered() {
    let bench = Bench::bridged(open).await;
    let filler = "x".repeat(Limits::default().max_bytes - 120);
    bench
        .agent(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"prompts/list","params":{{"cursor":"{filler}"}}}}"#
        ))
        .await;
    assert_eq!(bench.to_upstream(), [""; 0]);
    assert!(bench.to_agent()[0].contains("larger than is accepted"));
}

#[tokio::test]
async fn a_record_has_the_ids_that_came_beside_the_message() {
    let bench = Bench::listed(open).await;
    let ids = |job: &str, task: &str| {
        let id = |id: &str| (!id.is_empty()).then(|| Arc::from(id));
        Some(Arc::new(WorkIds {
            job_id: id(job),
            task_id: id(task),
            ..WorkIds::default()
        }))
    };
    let carrier = TransportHeaders {
        proven: ids("of the token", ""),
        work: ids("of a header", "task of a header"),
        ..TransportHeaders::default()
    };
    let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}}"#;
    bench.carried(call, carrier.clone()).await;
    bench.answer(r#""result":{"content":[]}"#).await;
    // What has no counterpart, and what is refused.
    let ping = r#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#;
    bench.carried(ping, carrier.clone()).await;
    let unknown = r#"{"jsonrpc":"2.0","id":9,"method":"a/b"}"#;
    bench.carried(unknown, carrier).await;
    let members = [
        "kind",
        "method",
        "correlation/job_id",
        "correlation/task_id",
    ];
    let records = bench.records(&members).await;
    let ids = "of the token task of a header";
    let expected = [
        format!("tool_call tools/call {ids}"),
        format!("tool_result tools/call {ids}"),
        format!("request ping {ids}"),
        format!("request a/b {ids}"),
    ];
    assert_eq!(records[records.len() - 4..], expected, "{records:#?}");
}
