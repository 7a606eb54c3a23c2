//! Agents without a session before a server that needs one.

use super::*;
use crate::bridge::Step;
use crate::policy::Principal;
use crate::session::Ids;
use crate::wire::AgentToken;

/// What such an agent says of itself.
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"ada","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}"#;

const ELICITATION: &str = r#"{"elicitation":{}}"#;

const INITIALIZED: &str = r#""result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"tasks":{}},"serverInfo":{"name":"s","version":"1.0","x":1e2},"instructions":"Be kind."}"#;

const TOOLS: &str = r#""result":{"tools":[{"name":"t","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}],"x":1.50}"#;

const SERVER_INFO: &str =
    r#""io.modelcontextprotocol/serverInfo":{"name":"s","version":"1.0","x":1e2}"#;

fn modern(id: &str, method: &str) -> String {
    with_params(id, method, "")
}

fn with_params(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}{META}}}}}"#)
}

/// Of an agent with these capabilities.
fn discover(id: &str, capabilities: &str) -> String {
    modern(id, "server/discover").replace(ELICITATION, capabilities)
}

fn call(id: &str) -> String {
    with_params(id, "tools/call", r#""name":"t","#)
}

impl Bench {
    /// Of agents that know nothing of each other.
    fn shared() -> Self {
        let mut bench = Self::new(open).among_several();
        bench.stream = Stream::numbered(1);
        bench
    }

    fn among_several(mut self) -> Self {
        let server = Server {
            name: "fixture".to_owned(),
            ..Server::default()
        };
        let session = Session::new(SessionId::from_random(7), "http", server, 0);
        let agent = Bridged::new(Recorder::default(), Some(self.bridge.clone()));
        let session = session.with_ids(Ids::OfStream);
        self.talk = Talk::new(session, Recorder::default(), agent);
        self
    }

    /// A session is open, and the gate knows the tool `t`.
    async fn opened(self) -> Self {
        self.agent(&modern("\"o\"", "tools/list")).await;
        self.answer(REFUSED).await;
        self.answer(INITIALIZED).await;
        self.answer(TOOLS).await;
        self.to_agent();
        self
    }
}

#[tokio::test]
async fn the_first_request_that_needs_a_session_opens_one() {
    let bench = Bench::new(open);
    bench.agent(&modern("7", "tools/list")).await;
    // What the server speaks is not known yet.
    assert!(bench.to_upstream()[0].contains("server/discover"));
    bench
        .upstream(&format!(r#"{{"jsonrpc":"2.0","id":1,{REFUSED}}}"#))
        .await;
    assert_eq!(
        bench.to_upstream(),
        [
            r#"{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"ada","version":"1"}}}"#
        ]
    );
    assert_eq!(bench.to_agent(), [""; 0]);
    bench
        .upstream(&format!(r#"{{"jsonrpc":"2.0","id":2,{INITIALIZED}}}"#))
        .await;
    assert_eq!(
        bench.to_upstream(),
        [
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#
        ]
    );
    bench
        .upstream(&format!(r#"{{"jsonrpc":"2.0","id":3,{TOOLS}}}"#))
        .await;
    assert_eq!(
        bench.to_agent(),
        [format!(
            r#"{{"jsonrpc":"2.0","id":7,"result":{{"tools":[{{"name":"t","inputSchema":{{"type":"object"}}}}],"x":1.50,"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{{{SERVER_INFO}}}}}}}"#
        )]
    );
    let records = bench
        .records(&["kind", "method", "decision", "reason/code", "bridged"])
        .await;
    let lists: Vec<_> = records
        .iter()
        .filter(|it| it.contains("tools/list"))
        .collect();
    assert_eq!(lists.len(), 2, "a decision and its outcome: {records:#?}");
    assert!(
        lists.iter().all(|it| it.ends_with("2026-07-28")),
        "{lists:#?}"
    );
}

#[tokio::test]
async fn a_question_what_the_server_speaks_is_answered_by_what_it_says_in_the_session() {
    let bench = Bench::new(open);
    bench.agent(&discover("7", "{}")).await;
    bench.answer(REFUSED).await;
    bench.answer(INITIALIZED).await;
    let told = format!(
        r#""result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{"listChanged":true}},"resources":{{}}}},"instructions":"Be kind.","ttlMs":0,"cacheScope":"private","_meta":{{{SERVER_INFO}}}}}}}"#
    );
    assert_eq!(
        bench.to_agent(),
        [format!(r#"{{"jsonrpc":"2.0","id":7,{told}"#)]
    );
    bench.to_upstream();
    // An agent that could be asked has this session already.
    for capabilities in ["{}", ELICITATION] {
        bench.agent(&discover("8", capabilities)).await;
        assert_eq!(
            bench.to_agent(),
            [format!(r#"{{"jsonrpc":"2.0","id":8,{told}"#)]
        );
        assert_eq!(bench.to_upstream(), [""; 0], "it has said so already");
    }
}

#[tokio::test]
async fn an_agent_that_can_be_asked_and_asks_what_the_server_speaks_may_begin_a_session_of_its_own()
{
    for capabilities in [
        ELICITATION,
        r#"{"sampling":{}}"#,
        r#"{"extensions":{},"roots":{"listChanged":true}}"#,
    ] {
        let bench = Bench::new(open);
        bench.agent(&discover("7", capabilities)).await;
        bench.answer(REFUSED).await;
        let told = bench.to_agent();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains(r#""code":-32601"#), "{told:?}");
        assert!(told[0].contains("begins with `initialize`"), "{told:?}");
        bench.agent(INITIALIZE).await;
        let sent = bench.to_upstream();
        assert!(sent[0].contains(r#""sampling":{"x":1.0}"#), "{sent:?}");

        let bench = Bench::new(open);
        bench.agent(&discover("7", capabilities)).await;
        let asked = id_of(&bench.to_upstream()[0]).unwrap().parse().unwrap();
        let fault = UpstreamFault::Status(400);
        let failed = bench.gate.upstream_failed(&bench.talk, asked, fault);
        Box::pin(failed).await.unwrap();
        bench.settle().await;
        assert_eq!(bench.to_upstream(), [""; 0]);
        assert!(bench.to_agent()[0].contains(r#""code":-32601"#));

        // Over HTTP others may have a session of the bridge's.
        let bench = Bench::shared().opened().await;
        bench.agent(&discover("7", capabilities)).await;
        let told = bench.to_agent();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains(r#""code":-32601"#), "{told:?}");
        assert!(told[0].contains("begins with `initialize`"), "{told:?}");
        bench.agent(&discover("8", "{}")).await;
        assert!(bench.to_agent()[0].contains(r#""supportedVersions":["2026-07-28"]"#));
        assert_eq!(bench.to_upstream(), [""; 0]);
    }
}

#[tokio::test]
async fn what_the_agents_revision_alone_has_does_not_reach_the_server() {
    let bench = Bench::new(open).opened().await;
    let check = async |params: &str, sent: &str| {
        bench
            .agent(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#
            ))
            .await;
        let line = &bench.to_upstream()[0];
        let (_, rest) = line.split_once(r#""method""#).unwrap();
        assert_eq!(rest, format!(r#":"tools/call","params":{sent}}}"#));
        bench.answer_last(line, r#""result":{"content":[]}"#).await;
        bench.to_agent();
    };
    check(&format!(r#"{{"name":"t",{META}}}"#), r#"{"name":"t"}"#).await;
    check(
        &format!(r#"{{{META},"arguments":{{"x":1e2}},"task":{{"ttl":1}},"name":"t"}}"#),
        r#"{"arguments":{"x":1e2},"name":"t"}"#,
    )
    .await;
    check(
        r#"{"name":"t","_meta":{"a":1.0,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"info","progressToken":"p"}}"#,
        r#"{"name":"t","_meta":{"a":1.0,"progressToken":"p"}}"#,
    )
    .await;
}

#[tokio::test]
async fn results_and_errors_are_told_in_the_agents_revision() {
    let bench = Bench::new(open).opened().await;
    let check = async |request: &str, outcome: &str, told: &str| {
        bench.agent(request).await;
        bench.answer(outcome).await;
        let answers = bench.to_agent();
        let expected = format!(r#"{{"jsonrpc":"2.0","id":1,{told}}}"#);
        assert_eq!(answers, [expected], "{outcome}");
    };
    let meta = format!(r#""_meta":{{{SERVER_INFO}}}"#);
    check(
        &call("1"),
        r#""result":{"content":[],"x":1.50}"#,
        &format!(r#""result":{{"content":[],"x":1.50,"resultType":"complete",{meta}}}"#),
    )
    .await;
    // A server of sessions means nothing by these.
    check(
        &call("1"),
        r#""result":{"resultType":"complete","content":[],"requestState":"s","_meta":{"a":1.0}}"#,
        r#""result":{"resultType":"complete","content":[],"_meta":{"a":1.0}}"#,
    )
    .await;
    check(
        &modern("1", "prompts/list"),
        r#""result":{"prompts":[],"ttlMs":1000,"cacheScope":"public"}"#,
        &format!(
            r#""result":{{"prompts":[],"ttlMs":0,"cacheScope":"private","resultType":"complete",{meta}}}"#
        ),
    )
    .await;
    let read = with_params("1", "resources/read", r#""uri":"x:y","#);
    check(
        &read,
        r#""error":{"code":-32002,"message":"no","data":{"uri":"x:y"}}"#,
        r#""error":{"code":-32602,"message":"no","data":{"uri":"x:y"}}"#,
    )
    .await;
    check(
        &call("1"),
        r#""error":{"code":-32002,"message":"no"}"#,
        r#""error":{"code":-32002,"message":"no"}"#,
    )
    .await;
    for code in [-32_021, -32_022] {
        check(
            &call("1"),
            &format!(r#""error":{{"code":{code},"message":"no"}}"#),
            r#""error":{"code":-32603,"message":"no"}"#,
        )
        .await;
    }
    let page = r#"{"mode":"url","message":"m","url":"https://a.example","elicitationId":"e"}"#;
    bench.agent(&call("1")).await;
    bench
        .answer(&format!(
            r#""error":{{"code":-32042,"message":"no","data":{{"elicitations":[{page}]}}}}"#
        ))
        .await;
    let told = bench.to_agent();
    assert!(told[0].contains(r#""code":-32021"#), "{told:?}");
    assert!(
        told[0].contains(r#""data":{"requiredCapabilities":{"elicitation":{"url":{}}}}"#),
        "{told:?}"
    );
}

#[tokio::test]
async fn what_the_session_does_not_have_is_refused() {
    let bench = Bench::new(open).opened().await;
    let check = async |frame: &str, told: &str| {
        bench.agent(frame).await;
        assert_eq!(bench.to_upstream(), [""; 0], "{frame}");
        let answers = bench.to_agent();
        assert_eq!(answers.len(), 1, "{frame}: {answers:?}");
        assert!(answers[0].contains(told), "{frame}: {answers:?}");
    };
    for method in [
        "tasks/get",
        "ping",
        "resources/subscribe",
        "logging/setLevel",
        "nothing",
    ] {
        check(&modern("1", method), r#""code":-32601"#).await;
    }
    for (member, key) in [
        (r#""requestState":"forged","#, "requestState"),
        (r#""inputResponses":{},"#, "inputResponses"),
    ] {
        let params = format!(r#""name":"t",{member}"#);
        check(
            &with_params("1", "tools/call", &params),
            &format!("the server's session has no `{key}`"),
        )
        .await;
    }
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
        "not been initialized",
    )
    .await;
    check(
        INITIALIZE,
        r#""data":{"supported":["2026-07-28"],"requested":"2025-06-18"}"#,
    )
    .await;
    check(
        &modern("1", "tools/list").replace("2026-07-28", "2027-01-01"),
        r#""data":{"supported":["2026-07-28"],"requested":"2027-01-01"}"#,
    )
    .await;
    let records = bench.records(&["method", "decision", "bridged"]).await;
    assert!(
        records.contains(&"tasks/get BLOCK 2026-07-28".to_owned()),
        "{records:#?}"
    );
}

#[tokio::test]
async fn the_server_is_told_that_the_agent_cannot_be_asked() {
    for bench in [Bench::new(open), Bench::shared()] {
        let bench = bench.opened().await;
        bench.agent(&call("1")).await;
        bench.to_upstream();
        let check = async |method: &str, params: &str, told: &str| {
            bench
                .upstream(&format!(
                    r#"{{"jsonrpc":"2.0","id":50,"method":"{method}","params":{params}}}"#
                ))
                .await;
            assert_eq!(bench.to_agent(), [""; 0], "{method}");
            let answers = bench.to_upstream();
            assert_eq!(answers.len(), 1, "{method}: {answers:?}");
            assert!(answers[0].contains(told), "{method}: {answers:?}");
        };
        check("ping", "{}", r#"{"jsonrpc":"2.0","id":50,"result":{}}"#).await;
        check("roots/list", "{}", r#""code":-32601"#).await;
        check(
            "elicitation/create",
            r#"{"message":"m","requestedSchema":{"type":"object","properties":{}}}"#,
            r#""code":-32601"#,
        )
        .await;
        check(
            "sampling/createMessage",
            r#"{"messages":[],"maxTokens":1}"#,
            r#""code":-32601"#,
        )
        .await;
    }
}

#[tokio::test]
async fn a_session_that_is_refused_or_denied_is_a_reason_and_is_asked_for_again() {
    let check = async |rule: Rule, refusal: &str, code: &str, told: &str| {
        let bench = Bench::new(rule);
        bench.agent(&modern("1", "tools/list")).await;
        bench.agent(&modern("2", "prompts/list")).await;
        bench.answer(REFUSED).await;
        if !refusal.is_empty() {
            bench.answer(refusal).await;
        }
        let answers = bench.to_agent();
        assert_eq!(answers.len(), 2, "{answers:?}");
        for answer in answers {
            assert!(answer.contains(code) && answer.contains(told), "{answer}");
        }
        bench.to_upstream();
        bench.agent(&modern("3", "tools/list")).await;
        let asked = bench.to_upstream();
        let again = asked.iter().any(|line| line.contains("initialize"));
        assert_eq!(again, !refusal.is_empty(), "{asked:?}");
    };
    check(
        open,
        r#""error":{"code":-32602,"message":"not today"}"#,
        r#""code":-32603"#,
        "not today",
    )
    .await;
    check(
        |facts| !matches!(facts.action, Action::Initialize),
        "",
        r#""code":4030"#,
        "policy denies `initialize`",
    )
    .await;
}

#[tokio::test]
async fn no_request_of_an_agent_is_taken_for_the_bridges_handshake() {
    let check = async |guess: fn(&str) -> String| {
        let bench = Bench::shared();
        bench.agent(&modern("1", "tools/list")).await;
        let asked = id_of(&bench.to_upstream()[0]).unwrap();
        let refused = format!(r#"{{"jsonrpc":"2.0","id":{asked},{REFUSED}}}"#);
        let (gate, talk) = (&bench.gate, &bench.talk);
        let passed = gate.handle(talk, Side::Upstream, Stream::UNTOLD, refused.as_bytes());
        Box::pin(passed).await.unwrap();
        Box::pin(gate.resume(talk)).await.unwrap();
        let mut handshake = String::new();
        while let Some(step) = at_once(bench.bridge.next()).await {
            if let Step::Pass { frame, .. } = &step {
                handshake = id_of(str::from_utf8(frame).unwrap()).unwrap();
            }
            Box::pin(bench.bridge.carry_out(gate, talk, step))
                .await
                .unwrap();
        }
        let other = Source::on(Stream::numbered(9));
        bench
            .from(other, &modern(&guess(&handshake), "nothing"))
            .await;
        let told = bench.to_agent();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains(r#""code":-32601"#), "{told:?}");
        bench.answer(INITIALIZED).await;
        bench.answer(TOOLS).await;
        let told = bench.to_agent();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains(r#""id":1,"result":{"tools""#), "{told:?}");
    };
    check(|_| r#""mcp-protector/session""#.to_owned()).await;
    check(str::to_owned).await;
}

#[tokio::test]
async fn what_policy_denies_opens_no_session() {
    let bench = Bench::new(|facts| !matches!(facts.action, Action::ReadResource));
    bench
        .agent(&with_params("1", "resources/read", r#""uri":"x:y","#))
        .await;
    assert_eq!(bench.to_upstream(), [""; 0]);
    assert!(bench.to_agent()[0].contains("denied by policy"));
}

#[tokio::test]
async fn a_restarted_server_gets_the_same_session() {
    let bench = Bench::new(open).opened().await;
    bench.agent(&call("1")).await;
    bench.to_upstream();
    bench.gate.upstream_died(&bench.talk).await.unwrap();
    assert!(bench.to_agent()[0].contains(r#""code":-32603"#));
    bench.gate.upstream_restarted(&bench.talk).await;
    let asked = bench.to_upstream();
    assert!(
        asked[0].contains(
            r#""method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}"#
        ),
        "{asked:?}"
    );
    bench.answer_last(&asked[0], INITIALIZED).await;
    let told = bench.to_upstream();
    assert!(told[0].contains("notifications/initialized"), "{told:?}");
    bench.agent(&modern("2", "prompts/list")).await;
    bench.answer(r#""result":{"prompts":[]}"#).await;
    assert!(bench.to_agent()[0].contains(r#""resultType":"complete""#));
}

#[tokio::test]
async fn news_reach_those_who_listen_and_logs_those_who_ask() {
    for bench in [Bench::new(open), Bench::shared()] {
        let bench = bench.opened().await;
        let listen = with_params(
            "5",
            "subscriptions/listen",
            r#""notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["x:y"]},"#,
        );
        bench.agent(&listen).await;
        assert_eq!(
            bench.to_agent(),
            [
                r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":5}}}"#
            ]
        );
        assert_eq!(bench.to_upstream(), [""; 0]);
        let changed = |list: &str| {
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/{list}/list_changed"}}"#)
        };
        bench.upstream(&changed("tools")).await;
        bench.upstream(&changed("prompts")).await;
        assert_eq!(
            bench.to_agent(),
            [
                r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":5}}}"#
            ]
        );
        let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","data":1}}"#;
        let asks = |level: &str| {
            modern("6", "prompts/list").replace(
                r#""_meta":{"#,
                &format!(r#""_meta":{{"io.modelcontextprotocol/logLevel":"{level}","#),
            )
        };
        for (request, is_told) in [
            (modern("6", "prompts/list"), false),
            (asks("error"), false),
            (asks("warning"), true),
            (asks("debug"), true),
        ] {
            bench.agent(&request).await;
            let asked = bench.to_upstream();
            bench.upstream(log).await;
            let told = bench.to_agent();
            assert_eq!(told.len(), usize::from(is_told), "{request}: {told:?}");
            bench
                .answer_last(&asked[0], r#""result":{"prompts":[]}"#)
                .await;
            bench.to_agent();
        }
    }
}

#[tokio::test]
async fn what_is_cancelled_is_cancelled_alone() {
    let cancel = |id: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        )
    };
    let bench = Bench::new(open).opened().await;
    bench.agent(&call("1")).await;
    bench.agent(&call("2")).await;
    let asked = bench.to_upstream();
    bench.agent(&cancel("1")).await;
    let first = id_of(&asked[0]).unwrap();
    assert_eq!(bench.to_upstream(), [cancel(&first)]);
    bench
        .answer_last(&asked[1], r#""result":{"content":[]}"#)
        .await;
    assert!(bench.to_agent()[0].starts_with(r#"{"jsonrpc":"2.0","id":2,"result""#));
    // The id is free again.
    bench.agent(&call("1")).await;
    assert_eq!(bench.to_upstream().len(), 1);

    // Before the session is open.
    let bench = Bench::new(open);
    bench.agent(&modern("1", "tools/list")).await;
    bench.answer(REFUSED).await;
    bench.agent(&modern("2", "prompts/list")).await;
    bench.agent(&cancel("2")).await;
    assert_eq!(bench.to_agent(), [""; 0]);
    bench.answer(INITIALIZED).await;
    let sent = bench.to_upstream();
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert!(sent[1].contains("tools/list"), "{sent:?}");
    let records = bench.records(&["method", "reason/code"]).await;
    assert!(
        records.contains(&"prompts/list cancelled".to_owned()),
        "{records:#?}"
    );

    // Before it is known what the server speaks.
    let bench = Bench::new(open);
    bench.agent(&discover("1", "{}")).await;
    bench.agent(&discover("2", "{}")).await;
    bench.agent(&cancel("1")).await;
    assert_eq!(bench.bridge.state().discoveries.len(), 1);
}

#[tokio::test]
async fn a_status_without_a_message_is_a_reason_to_open_a_session_too() {
    let bench = Bench::new(open);
    bench.agent(&discover("7", "{}")).await;
    let asked = id_of(&bench.to_upstream()[0]).unwrap().parse().unwrap();
    let fault = UpstreamFault::Status(400);
    let failed = bench.gate.upstream_failed(&bench.talk, asked, fault);
    Box::pin(failed).await.unwrap();
    bench.settle().await;
    bench.answer(INITIALIZED).await;
    let told = bench.to_agent();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains(r#""supportedVersions":["2026-07-28"]"#));
}

#[tokio::test]
async fn what_nobody_waits_for_any_more_is_not_sent_once_the_session_is_open() {
    let bench = Bench::shared();
    bench.agent(&modern("7", "tools/list")).await;
    bench.answer(REFUSED).await;
    bench.bridge.hung_up(bench.stream);
    bench.settle().await;
    bench.to_agent();
    bench.answer(INITIALIZED).await;
    let sent = bench.to_upstream();
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert!(sent[0].contains("notifications/initialized"), "{sent:?}");
    let records = bench.records(&["method", "reason/code"]).await;
    assert!(
        records.contains(&"tools/list cancelled".to_owned()),
        "{records:#?}"
    );
}

fn is_of(facts: &Facts<'_>, client: &str) -> bool {
    matches!(facts.principal, Principal::Agent(agent) if agent.client.name == client)
}

#[tokio::test]
async fn each_request_is_judged_as_its_own_agents() {
    let bench = Bench::new(|facts| !is_of(facts, "eve")).opened().await;
    let from = |name: &str| modern("1", "prompts/list").replace("ada", name);
    bench.agent(&from("eve")).await;
    assert_eq!(bench.to_upstream(), [""; 0]);
    assert!(bench.to_agent()[0].contains("denied by policy"));
    bench.agent(&from("bob")).await;
    bench.answer(r#""result":{"prompts":[]}"#).await;
    assert!(bench.to_agent()[0].contains(r#""resultType":"complete""#));
    let records = bench.records(&["method", "agent/asserted_name"]).await;
    for name in ["eve", "bob"] {
        let said = format!("prompts/list {name}");
        assert!(records.contains(&said), "{said}: {records:#?}");
    }
}

#[tokio::test]
async fn what_waits_when_the_conversation_ends_is_answered() {
    let check = async |bench: Bench, ids: &[&str]| {
        let why = UpstreamFault::SessionOver;
        let (gate, talk) = (&bench.gate, &bench.talk);
        Box::pin(gate.conversation_ends(talk, &why)).await.unwrap();
        Box::pin(bench.bridge.conversation_ends(gate, talk, &why))
            .await
            .unwrap();
        let told = bench.to_agent();
        assert_eq!(told.len(), ids.len(), "{told:?}");
        for id in ids {
            let answers = |line: &String| id_of(line).unwrap() == *id && line.contains("error");
            assert_eq!(told.iter().filter(|it| answers(it)).count(), 1, "{told:?}");
        }
        let session_over = |line: &String| line.contains("the session has ended");
        assert!(told.iter().any(session_over), "{told:?}");
        assert_eq!(bench.to_upstream(), [""; 0]);
        assert!(bench.bridge.is_idle());
    };
    let taken = |bench: &Bench, frame: &str| {
        let source = Source::on(bench.stream);
        assert_eq!(bench.bridge.take(&source, frame.as_bytes()), Taken::Yes);
    };
    // `initialize` is at the server.
    let bench = Bench::new(open);
    bench.agent(&modern("1", "tools/list")).await;
    bench.answer(REFUSED).await;
    bench.agent(&modern("2", "prompts/list")).await;
    bench.to_upstream();
    check(bench, &["1", "2"]).await;

    // It is still to be sent.
    let bench = Bench::new(open);
    let source = Source::on(bench.stream);
    let frame = modern("1", "tools/list");
    let taken_over = bench.bridge.take_over(source, frame.as_bytes());
    assert_eq!(taken_over, gate::TakenOver::Yes);
    check(bench, &["1"]).await;

    // The session is open, and these were not sent.
    let bench = Bench::new(open).opened().await;
    taken(&bench, &call("1"));
    taken(&bench, &discover("2", "{}"));
    taken(&bench, &modern("3", "nothing"));
    check(bench, &["1", "2", "3"]).await;

    // Of an agent that begins a session itself.
    let bench = Bench::new(open);
    bench.agent(INITIALIZE).await;
    bench.to_upstream();
    taken(&bench, r#"{"jsonrpc":"2.0","id":5,"method":"tools/list"}"#);
    check(bench, &["0", "5"]).await;
}

#[tokio::test]
async fn what_the_bridge_says_for_the_session_is_vouched_for_by_its_agents() {
    let server: Arc<str> = "https://server.example".into();
    let forwards = gate::UserIdentity::Forward(Arc::clone(&server));
    let identities = gate::UserIdentities::from_first([forwards]);
    let mut bench = Bench::showing(open, identities).among_several();
    bench.stream = Stream::numbered(1);
    let carrier = |valid_for: i64| TransportHeaders {
        token: Some(AgentToken::new(
            "t".into(),
            vec![Arc::clone(&server)],
            valid_for,
        )),
        ..TransportHeaders::default()
    };
    bench
        .carried(&modern("1", "tools/list"), carrier(100))
        .await;
    bench.answer(REFUSED).await;
    // The one that opens the session waits no more.
    bench.bridge.hung_up(bench.stream);
    bench.answer(INITIALIZED).await;
    let sent = bench.to_upstream();
    assert!(sent[0].contains("notifications/initialized"), "{sent:?}");
    let ping = r#"{"jsonrpc":"2.0","id":50,"method":"ping"}"#;
    bench.upstream(ping).await;
    let answer = r#"{"jsonrpc":"2.0","id":50,"result":{}}"#;
    assert_eq!(bench.to_upstream(), [answer]);
    // Its token is valid no longer; that of a later request is.
    bench.clock.0.store(200_000, Ordering::Relaxed);
    bench
        .carried(&modern("2", "prompts/list"), carrier(1_000))
        .await;
    bench.answer(r#""result":{"prompts":[]}"#).await;
    bench.upstream(ping).await;
    assert_eq!(bench.to_upstream(), [answer]);
}

#[tokio::test]
async fn progress_that_could_be_of_two_agents_requests_is_told_to_none() {
    let bench = Bench::shared().opened().await;
    let request =
        modern("1", "prompts/list").replace(r#""_meta":{"#, r#""_meta":{"progressToken":"p","#);
    for stream in [8, 9] {
        let source = Source::on(Stream::numbered(stream));
        bench.from(source, &request).await;
    }
    bench
        .upstream(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}"#)
        .await;
    assert_eq!(bench.to_agent(), [""; 0]);
    let records = bench.records(&["method", "reason/code"]).await;
    assert!(
        records.contains(&"notifications/progress stray".to_owned()),
        "{records:#?}"
    );
}

#[tokio::test]
async fn what_a_closed_stream_brought_goes_no_further() {
    let bench = Bench::shared().opened().await;
    let listen = with_params(
        "2",
        "subscriptions/listen",
        r#""notifications":{"toolsListChanged":true},"#,
    );
    for frame in [call("1"), listen] {
        let taken = bench
            .bridge
            .take(&Source::on(bench.stream), frame.as_bytes());
        assert_eq!(taken, Taken::Yes);
    }
    bench.bridge.hung_up(bench.stream);
    bench.settle().await;
    bench.to_agent();
    assert_eq!(bench.to_upstream(), [""; 0]);
    bench
        .upstream(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)
        .await;
    assert_eq!(bench.to_agent(), [""; 0]);
    let records = bench.records(&["method", "reason/code"]).await;
    for method in ["tools/call", "subscriptions/listen"] {
        let cancelled = format!("{method} cancelled");
        assert!(records.contains(&cancelled), "{records:#?}");
    }
    // The id is free again.
    bench.agent(&call("1")).await;
    assert_eq!(bench.to_upstream().len(), 1);
}

#[tokio::test]
async fn what_has_no_room_until_the_session_is_open_is_told_so() {
    let bench = Bench::new(open);
    for id in ["1", "2", "3", "4", "5"] {
        let frame = modern(id, "prompts/list");
        let taken = bench
            .bridge
            .take_over(Source::on(bench.stream), frame.as_bytes());
        assert_eq!(taken, gate::TakenOver::Yes, "{id}");
    }
    bench.settle().await;
    let told = bench.to_agent();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("too many requests in flight"), "{told:?}");
}
