//! Results that are fetched later: whose they are, and by which policies.

mod servers;
mod told;

use super::*;
use crate::policy::Agent;
use crate::session::Ids;

const KNOWS: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;
const KNOWS_NOT: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// Only what is named `denied`, and results that are errors, are denied; a session has one call.
fn sparing(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    let is_denied = match (&facts.action, &facts.resource) {
        (Action::CallTool { .. }, Resource::Tool(tool)) => {
            tool.name == "denied" || facts.env.session.calls > 0
        }
        (Action::ReceiveResult { received }, Resource::Tool(_)) => received.is_error,
        (Action::Elicit { fields, .. }, _) => fields.iter().any(|field| field == "password"),
        _ => false,
    };
    Ok(if is_denied {
        Verdict::Deny { reasons: vec![] }
    } else {
        allow()
    })
}

/// No tool may be called any more.
fn closed(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    Ok(match facts.action {
        Action::CallTool { .. } | Action::Sample { .. } => Verdict::Deny { reasons: vec![] },
        _ => allow(),
    })
}

/// An agent without a session that knows which tool there is.
fn stateless(rule: Rule) -> Bench {
    let bench = Bench::new(rule).with_ids(Ids::OfStream);
    offer(&bench.talk);
    bench
}

fn offer(talk: &Talk<Recorder, Recorder>) {
    let page = crate::session::Page::of_one_tool("slow");
    let begins = crate::session::Traversal::AgentBegins;
    talk.session
        .state()
        .lists
        .tools
        .add_page(begins, &page, None);
}

fn ask(method: &str, members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{members},{KNOWS}}}}}"#)
}

fn reply(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{result}}}}}"#)
}

/// Sends a request and answers it; yields what the agent gets.
async fn exchange(bench: &Bench, request: &str, result: &str) -> String {
    bench.agent(request).await;
    let asked = bench.to_upstream();
    if let [asked] = asked.as_slice() {
        bench.upstream(&reply(&id_of(asked), result)).await;
    }
    bench.to_agent().remove(0)
}

const CALL: &str = r#""name":"slow","arguments":{}"#;
const TASK: &str = r#""resultType":"task","taskId":"t-1","status":"working","ttlMs":60000"#;

/// A call that becomes the task `t-1`.
async fn begin(bench: &Bench) {
    let told = exchange(bench, &ask("tools/call", CALL), TASK).await;
    assert_eq!(told, reply("1", TASK));
}

fn about(method: &str) -> String {
    ask(method, r#""taskId":"t-1""#)
}

const DONE: &str =
    r#""resultType":"complete","taskId":"t-1","status":"completed","result":{"content":[]}"#;
const FAILED: &str = r#""resultType":"complete","taskId":"t-1","status":"completed","result":{"content":[],"isError":true}"#;

#[tokio::test]
async fn a_task_is_asked_about_by_the_one_who_began_it_and_by_nobody_else() {
    let bench = stateless(sparing);
    begin(&bench).await;
    // It was one call, and its result may be fetched although no second one is permitted.
    assert_eq!(
        exchange(&bench, &about("tasks/get"), DONE).await,
        reply("1", DONE)
    );
    let unknown = ask("tasks/get", r#""taskId":"t-2""#);
    let unknown = exchange(&bench, &unknown, DONE).await;
    assert!(unknown.contains("-32602"), "{unknown}");
    let own = bench.talk.session.state().parties.agent.id.clone();
    for (agent, passes) in [(own.as_str(), true), ("eve", false)] {
        let agent = Agent {
            id: agent.to_owned(),
            ..Agent::default()
        };
        let session = Session::new(SessionId::from_random(8), "http", Server::default(), 0);
        let session = session.of(agent).with_ids(Ids::OfStream);
        let talk = Talk::new(session, Recorder::default(), Recorder::default());
        for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
            let stream = crate::wire::Stream::numbered(1);
            let asked = about(method);
            let handled = bench
                .gate
                .handle(&talk, Side::Agent, stream, asked.as_bytes());
            Box::pin(handled).await.unwrap();
            assert_eq!(talk.upstream.take().len(), usize::from(passes), "{method}");
            let told = talk.agent.take();
            assert!(passes || told == [unknown.as_str()], "{method}: {told:?}");
            Box::pin(bench.gate.hung_up(&talk, stream)).await.unwrap();
            talk.upstream.take();
        }
    }
}

#[tokio::test]
async fn what_comes_of_a_task_is_judged_like_the_result_of_its_call() {
    let cases = [
        (DONE, true),
        (FAILED, false),
        (
            r#""resultType":"complete","taskId":"t-1","status":"failed","error":{"code":1,"message":"m"}"#,
            false,
        ),
        // Of another task; not finished; asking for what may not be asked.
        (
            r#""resultType":"complete","taskId":"t-9","status":"working""#,
            false,
        ),
        (
            r#""resultType":"complete","taskId":"t-1","result":{"inputRequests":{}}"#,
            false,
        ),
        (
            r#""resultType":"complete","taskId":"t-1","result":{"resultType":"input_required"}"#,
            false,
        ),
        (
            r#""resultType":"task","taskId":"t-1","status":"working""#,
            false,
        ),
        (
            r#""resultType":"complete","taskId":"t-1","status":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}}"#,
            true,
        ),
        (
            r#""resultType":"complete","taskId":"t-1","status":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"password":{"type":"string"}}}}}}"#,
            false,
        ),
    ];
    for (told, passes) in cases {
        let bench = stateless(sparing);
        begin(&bench).await;
        let heard = exchange(&bench, &about("tasks/get"), told).await;
        assert_eq!(heard == reply("1", told), passes, "{told}: {heard}");
    }
}

#[tokio::test]
async fn what_a_task_is_of_must_still_be_permitted() {
    let bench = stateless(sparing);
    begin(&bench).await;
    bench.gate.policy.publish(snapshot("closed", closed));
    for (method, passes) in [
        ("tasks/get", false),
        ("tasks/update", false),
        ("tasks/cancel", true),
    ] {
        let heard = exchange(&bench, &about(method), r#""resultType":"complete""#).await;
        assert_eq!(heard.contains("4030"), !passes, "{method}: {heard}");
    }
}

#[tokio::test]
async fn a_task_that_nobody_asked_for_is_no_result() {
    let plain = |members: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{{members},{KNOWS_NOT}}}}}"#
        )
    };
    let long = "x".repeat(300_000);
    let cases = [
        (plain(CALL), TASK.to_owned()),
        (ask("tools/call", CALL), TASK.replace("t-1", "")),
        (ask("tools/call", CALL), TASK.replace("t-1", r"a\u0000")),
        (ask("tools/call", CALL), TASK.replace(r#""t-1""#, "7")),
        (ask("tools/call", CALL), TASK.replace("t-1", &long)),
        (
            ask("prompts/get", CALL).replace(r#""arguments":{},"#, ""),
            TASK.to_owned(),
        ),
        // Too long to be judged again.
        (
            ask(
                "tools/call",
                &CALL.replace("{}", &format!(r#"{{"a":"{long}"}}"#)),
            ),
            TASK.to_owned(),
        ),
    ];
    for (call, told) in cases {
        let bench = stateless(sparing);
        let heard = exchange(&bench, &call, &told).await;
        assert!(heard.contains("-32603"), "{heard}");
        let heard = exchange(&bench, &about("tasks/get"), DONE).await;
        assert!(heard.contains("-32602"), "{heard}");
    }
}

#[tokio::test]
async fn an_agent_that_does_not_know_tasks_is_told_what_it_lacks() {
    let bench = stateless(sparing);
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let asked = about(method).replace(KNOWS, KNOWS_NOT);
        let heard = exchange(&bench, &asked, DONE).await;
        assert!(
            heard.contains("-32021")
                && heard.contains(
                    r#""requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#
                ),
            "{heard}"
        );
    }
    // Methods of the other design.
    for method in ["tasks/result", "tasks/list"] {
        let heard = exchange(&bench, &about(method), DONE).await;
        assert!(heard.contains("-32601"), "{heard}");
    }
}

#[tokio::test]
async fn of_an_id_with_two_meanings_both_must_be_permitted() {
    fn all(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        open(facts)
    }
    /// Only calls with an argument.
    fn some(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
        Ok(match &facts.action {
            Action::CallTool { targets, .. } if targets.bytes < 3 => {
                Verdict::Deny { reasons: vec![] }
            }
            _ => allow(),
        })
    }
    for (again, rule, passes) in [
        (1, all as Rule, true),
        (1, some as Rule, false),
        (3, all as Rule, true),
        // So many that nobody remembers them.
        (4, all as Rule, false),
    ] {
        let bench = stateless(open);
        begin(&bench).await;
        for number in 0..again {
            let call = ask(
                "tools/call",
                &CALL.replace("{}", &format!(r#"{{"a":{number}}}"#)),
            );
            exchange(&bench, &call, TASK).await;
        }
        bench.gate.policy.publish(snapshot("later", rule));
        let heard = exchange(&bench, &about("tasks/get"), DONE).await;
        assert_eq!(heard == reply("1", DONE), passes, "{again}: {heard}");
    }
}

#[tokio::test]
async fn an_id_that_may_mean_calls_of_two_tools_means_none() {
    let bench = stateless(open);
    begin(&bench).await;
    let page = crate::session::Page::of_one_tool("other");
    let begins = crate::session::Traversal::AgentBegins;
    bench
        .talk
        .session
        .state()
        .lists
        .tools
        .add_page(begins, &page, None);
    let call = ask("tools/call", &CALL.replace("slow", "other"));
    exchange(&bench, &call, TASK).await;
    bench.agent(&about("tasks/get")).await;
    assert!(bench.to_upstream().is_empty());
    assert!(bench.to_agent()[0].contains("-32602"));
}

#[tokio::test]
async fn a_task_is_answered_only_what_it_asked() {
    let bench = stateless(sparing);
    begin(&bench).await;
    let update = ask(
        "tasks/update",
        r#""taskId":"t-1","inputResponses":{"k":{"n":1},"z":{}}"#,
    );
    bench.agent(&update).await;
    assert!(bench.to_upstream()[0].contains(r#""inputResponses":{}"#));
    let asks = r#""resultType":"complete","taskId":"t-1","status":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}}"#;
    exchange(
        &bench,
        &about("tasks/get").replace(r#""id":1"#, r#""id":2"#),
        asks,
    )
    .await;
    bench.agent(&update.replace(r#""id":1"#, r#""id":3"#)).await;
    let sent = bench.to_upstream().remove(0);
    assert!(sent.contains(r#""inputResponses":{"k":{"n":1}}"#), "{sent}");
}

#[tokio::test]
async fn news_of_a_task_reach_the_one_who_began_it_as_far_as_its_result_may() {
    let bench = stateless(sparing);
    begin(&bench).await;
    let listen = |id: &str| {
        ask(
            "subscriptions/listen",
            &format!(r#""notifications":{{"taskIds":["{id}"]}}"#),
        )
    };
    bench.agent(&listen("t-9")).await;
    assert!(bench.to_agent()[0].contains("-32602"));
    let stream = crate::wire::Stream::numbered(5);
    bench.agent_on(stream, &listen("t-1")).await;
    let id = id_of(&bench.to_upstream()[0]);
    let news = |id: &str, members: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/tasks","params":{{{members},"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
        )
    };
    for (members, passes) in [
        (r#""taskId":"t-1","status":"working""#, true),
        (r#""taskId":"t-9","status":"working""#, false),
        (
            r#""taskId":"t-1","status":"completed","result":{"content":[]}"#,
            true,
        ),
        (
            r#""taskId":"t-1","status":"completed","result":{"content":[],"isError":true}"#,
            false,
        ),
    ] {
        bench.upstream(&news(&id, members)).await;
        assert_eq!(bench.to_agent().len(), usize::from(passes), "{members}");
    }
}

/// Of what is confidential, only what is short may be received.
fn short_where_confidential(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    Ok(match &facts.action {
        Action::ReceiveResult { received } if received.level >= 2 && received.bytes > 200 => {
            Verdict::Deny { reasons: vec![] }
        }
        _ => allow(),
    })
}

#[tokio::test]
async fn news_of_a_result_have_the_level_of_what_began_it() {
    for (level, passes) in [(1, true), (2, false)] {
        let bench = stateless(short_where_confidential);
        let tool = crate::policy::ToolLabels {
            level,
            ..crate::policy::ToolLabels::default()
        };
        let labels = crate::policy::Labels {
            tools: [("slow".to_owned(), tool)].into(),
            ..crate::policy::Labels::default()
        };
        let policies = snapshot("labelled", short_where_confidential).with_labels(labels);
        bench.gate.policy.publish(policies);
        begin(&bench).await;
        let listen = ask(
            "subscriptions/listen",
            r#""notifications":{"taskIds":["t-1"]}"#,
        );
        bench
            .agent_on(crate::wire::Stream::numbered(5), &listen)
            .await;
        let id = id_of(&bench.to_upstream()[0]);
        let text = "x".repeat(300);
        bench
            .upstream(&format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/tasks","params":{{"taskId":"t-1","status":"completed","result":{{"content":[{{"type":"text","text":"{text}"}}]}},"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
            ))
            .await;
        assert_eq!(bench.to_agent().len(), usize::from(passes), "{level}");
    }
}

#[tokio::test]
async fn what_news_of_a_task_ask_is_not_told_and_cannot_be_answered() {
    let bench = stateless(sparing);
    begin(&bench).await;
    let stream = crate::wire::Stream::numbered(5);
    let listen = ask(
        "subscriptions/listen",
        r#""notifications":{"taskIds":["t-1"]}"#,
    );
    bench.agent_on(stream, &listen).await;
    let id = id_of(&bench.to_upstream()[0]);
    let news = |members: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/tasks","params":{{"taskId":"t-1",{members},"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
        )
    };
    let asks = r#""status":"input_required","inputRequests":{"sly":{"method":"elicitation/create","params":{}}}"#;
    bench.upstream(&news(asks)).await;
    let told = bench.to_agent().remove(0);
    assert!(told.contains("input_required\""), "{told}");
    assert!(!told.contains("sly"), "{told}");
    let within = r#""status":"completed","result":{"content":[],"inputRequests":{}}"#;
    bench.upstream(&news(within)).await;
    assert!(bench.to_agent().is_empty());
    let update = ask(
        "tasks/update",
        r#""taskId":"t-1","inputResponses":{"sly":{}}"#,
    );
    bench.agent(&update).await;
    let sent = bench.to_upstream().remove(0);
    assert!(!sent.contains("sly"), "{sent}");
}

#[tokio::test]
async fn a_message_that_names_one_task_often_costs_as_one_and_names_few() {
    let bench = stateless(sparing);
    begin(&bench).await;
    let listen = |ids: &[String]| {
        let ids = ids.join(",");
        ask(
            "subscriptions/listen",
            &format!(r#""notifications":{{"taskIds":[{ids}]}}"#),
        )
    };
    let same = vec![r#""t-1""#.to_owned(); 5_000];
    bench
        .agent_on(crate::wire::Stream::numbered(5), &listen(&same))
        .await;
    assert_eq!(bench.to_upstream().len(), 1);
    let many: Vec<String> = (0..65).map(|number| format!(r#""t-{number}""#)).collect();
    bench
        .agent_on(crate::wire::Stream::numbered(6), &listen(&many))
        .await;
    assert!(bench.to_upstream().is_empty());
    assert!(bench.to_agent()[0].contains("-32602"));
}

/// A request of a session.
fn legacy(id: u32, method: &str, members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{members}}}}}"#)
}

const LEGACY_TASK: &str = r#""task":{"taskId":"t-1","status":"working","ttl":60000}"#;

/// A session with the task `t-1`.
async fn session(rule: Rule) -> Bench {
    let bench = Bench::ready(rule, &["slow"]).await;
    let call = legacy(
        1,
        "tools/call",
        r#""name":"slow","arguments":{},"task":{"ttl":60000}"#,
    );
    let told = exchange(&bench, &call, LEGACY_TASK).await;
    assert_eq!(told, reply("1", LEGACY_TASK));
    bench
}

#[tokio::test]
async fn a_session_fetches_the_results_of_its_tasks() {
    let cases = [
        (
            "tasks/get",
            "t-1",
            r#""taskId":"t-1","status":"working""#,
            true,
        ),
        (
            "tasks/cancel",
            "t-1",
            r#""taskId":"t-1","status":"cancelled""#,
            true,
        ),
        (
            "tasks/result",
            "t-1",
            r#""content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t-1"}}"#,
            true,
        ),
        (
            "tasks/result",
            "t-1",
            r#""content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t-9"}}"#,
            false,
        ),
        (
            "tasks/result",
            "t-1",
            r#""content":[],"isError":true"#,
            false,
        ),
        ("tasks/get", "t-9", "", false),
        ("tasks/cancel", "t-9", "", false),
        ("tasks/result", "t-9", "", false),
    ];
    for (method, id, told, passes) in cases {
        let bench = session(sparing).await;
        let asked = legacy(1, method, &format!(r#""taskId":"{id}""#));
        let heard = exchange(&bench, &asked, told).await;
        assert_eq!(heard == reply("1", told), passes, "{method} {id}: {heard}");
    }
    let bench = session(sparing).await;
    bench.gate.policy.publish(snapshot("closed", closed));
    let asked = legacy(1, "tasks/result", r#""taskId":"t-1""#);
    let heard = exchange(&bench, &asked, r#""content":[]"#).await;
    assert!(heard.contains("4030"), "{heard}");
}

#[tokio::test]
async fn a_list_of_tasks_shows_those_that_began_here_and_may_still_be_asked_about() {
    let list = r#""tasks":[{"taskId":"t-0"},{"taskId":"t-1","status":"working"},{},7]"#;
    let asked = legacy(1, "tasks/list", "");
    let bench = session(sparing).await;
    let heard = exchange(&bench, &asked, list).await;
    assert_eq!(
        heard,
        reply("1", r#""tasks":[{"taskId":"t-1","status":"working"}]"#)
    );
    bench.gate.policy.publish(snapshot("closed", closed));
    assert_eq!(
        exchange(&bench, &asked, list).await,
        reply("1", r#""tasks":[]"#)
    );
    let heard = exchange(&bench, &asked, r#""tasks":{}"#).await;
    assert!(heard.contains("-32603"), "{heard}");
}

#[tokio::test]
async fn what_is_told_of_tasks_that_nobody_knows_is_dropped() {
    let bench = session(sparing).await;
    let status = |id: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{{"taskId":"{id}","status":"working"}}}}"#
        )
    };
    let roots = |id: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":"r{id}","method":"roots/list","params":{{"_meta":{{"io.modelcontextprotocol/related-task":{{"taskId":"{id}"}}}}}}}}"#
        )
    };
    for (message, passes) in [
        (status("t-1"), true),
        (status("t-9"), false),
        (roots("t-1"), true),
        (roots("t-9"), false),
    ] {
        bench.upstream(&message).await;
        assert_eq!(bench.to_agent().len(), usize::from(passes), "{message}");
    }
}

#[tokio::test]
async fn a_server_asks_about_its_own_tasks_at_the_agent() {
    let bench = Bench::new(sparing);
    bench
        .agent(&INITIALIZE.replace(
            r#""roots":{}"#,
            r#""sampling":{},"tasks":{"requests":{"sampling":{"createMessage":{}}}}"#,
        ))
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    bench.upstream(&reply(&id, r#""protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}"#)).await;
    bench.to_agent();
    let sample = legacy(
        7,
        "sampling/createMessage",
        r#""messages":[],"maxTokens":1,"task":{"ttl":1000}"#,
    );
    bench.upstream(&sample).await;
    let asked = id_of(&bench.to_agent()[0]);
    bench.agent(&reply(&asked, LEGACY_TASK)).await;
    assert_eq!(bench.to_upstream(), [reply("7", LEGACY_TASK)]);
    let get = |id: &str| legacy(8, "tasks/get", &format!(r#""taskId":"{id}""#));
    bench.upstream(&get("t-9")).await;
    assert!(bench.to_agent().is_empty() && bench.to_upstream()[0].contains("-32602"));
    // The agent asks the server in vain about its own.
    bench.agent(&get("t-1")).await;
    assert!(bench.to_upstream().is_empty() && bench.to_agent()[0].contains("-32602"));
    bench.upstream(&get("t-1")).await;
    let asked = id_of(&bench.to_agent()[0]);
    bench
        .agent(&reply(&asked, r#""taskId":"t-1","status":"working""#))
        .await;
    assert_eq!(
        bench.to_upstream(),
        [reply("8", r#""taskId":"t-1","status":"working""#)]
    );
    bench.gate.policy.publish(snapshot("closed", closed));
    bench.upstream(&get("t-1")).await;
    assert!(bench.to_agent().is_empty() && bench.to_upstream()[0].contains("-32601"));
    bench.gate.session_ended(&bench.talk).await.unwrap();
    bench.upstream(&get("t-1")).await;
    assert!(bench.to_upstream()[0].contains("-32602"));
}

#[tokio::test]
async fn a_task_is_forgotten_when_its_time_is_over() {
    for (seconds, passes) in [(59, true), (60, false)] {
        let bench = stateless(open);
        begin(&bench).await;
        bench.clock.advance(Duration::from_secs(seconds));
        bench.agent(&about("tasks/get")).await;
        assert_eq!(bench.to_upstream().len(), usize::from(passes), "{seconds}");
    }
}
