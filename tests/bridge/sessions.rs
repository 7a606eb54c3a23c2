//! Whole sessions, line by line.

use std::fs;

use serde_json::{Value, json};

use crate::bridge::pairs::{Behind, PAIRS, Pair, Transport};
use crate::support::json::json;
use crate::support::peer::Peer;
use crate::support::setup::ALLOW_ALL;

/// An agent that knows sessions only, and answers what it is asked.
struct Agent {
    peer: Peer,
    latest: u64,
    /// What it was told meanwhile: the methods of notifications and requests, in order.
    told: Vec<String>,
    behind: Behind,
}

impl Agent {
    fn start(mut behind: Behind) -> Self {
        let command = std::mem::replace(&mut behind.command, std::process::Command::new(""));
        let mut agent = Self {
            peer: Peer::start(command),
            latest: 0,
            told: Vec::new(),
            behind,
        };
        let welcome = agent.ask(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {"elicitation": {}, "sampling": {}, "roots": {}},
                "clientInfo": {"name": "agent", "version": "1"},
            }),
        );
        assert_eq!(
            welcome["result"]["protocolVersion"], "2025-06-18",
            "{welcome}"
        );
        assert_eq!(welcome["result"]["serverInfo"]["name"], "everything-server");
        agent.tell("notifications/initialized", &json!({}));
        agent
    }

    fn tell(&mut self, method: &str, params: &Value) {
        self.peer
            .send(json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.latest += 1;
        let id = self.latest;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.peer.send(request.to_string());
        id
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        self.answer_to(id)
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    fn answer_to(&mut self, id: u64) -> Value {
        loop {
            let message = self.hear();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// The next message. What asks is answered.
    fn hear(&mut self) -> Value {
        let message = json(self.peer.receive().expect("the gate has ended"));
        let Some(method) = message["method"].as_str() else {
            return message;
        };
        self.told.push(method.to_owned());
        let answer = match method {
            "elicitation/create" => {
                json!({"action": "accept", "content": {"name": "Ada", "quest": "Q"}})
            }
            "sampling/createMessage" => {
                json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "Reykjavik"}})
            }
            "roots/list" => json!({"roots": [{"uri": "file:///srv"}]}),
            _ => return message,
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": answer});
        self.peer.send(answer.to_string());
        message
    }

    fn hear_of(&mut self, method: &str) {
        while !self.told.iter().any(|told| told == method) {
            self.hear();
        }
    }
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
}

fn whole_session(pair: Pair) {
    let mut agent = Agent::start(pair.guarded(|setup| setup.policies(ALLOW_ALL).agentic()));
    assert_eq!(agent.ask("ping", &json!({}))["result"], json!({}));

    let called = agent.call("echo", &json!({"text": "before any list"}));
    assert_eq!(text(&called), "before any list");
    assert!(called["result"].get("resultType").is_none(), "{called}");
    let listed = agent.ask("tools/list", &json!({}));
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 4);
    for member in ["resultType", "ttlMs", "cacheScope"] {
        assert!(listed["result"].get(member).is_none(), "{listed}");
    }

    assert!(text(&agent.call("elicit", &json!({}))).contains("Ada"));
    assert!(text(&agent.call("elicit_twice", &json!({}))).contains(", "));
    assert!(text(&agent.call("sample", &json!({}))).contains("Reykjavik"));
    assert!(text(&agent.call("roots", &json!({}))).contains("file:///srv"));
    assert_eq!(
        agent
            .told
            .iter()
            .filter(|it| *it == "elicitation/create")
            .count(),
        3
    );

    agent.call("log", &json!({"level": "error", "message": "m"}));
    assert!(!agent.told.contains(&"notifications/message".to_owned()));
    assert_eq!(
        agent.ask("logging/setLevel", &json!({"level": "info"}))["result"],
        json!({})
    );
    agent.call("log", &json!({"level": "error", "message": "m"}));
    agent.hear_of("notifications/message");

    agent.ask(
        "tools/call",
        &json!({"name": "slow", "arguments": {"steps": 2, "delay_ms": 1}, "_meta": {"progressToken": "t"}}),
    );
    agent.hear_of("notifications/progress");

    let uri = json!({"uri": "everything://text/changing"});
    assert_eq!(agent.ask("resources/subscribe", &uri)["result"], json!({}));
    agent.call("touch", &uri);
    agent.hear_of("notifications/resources/updated");
    agent.call("toggle_tool", &json!({}));
    agent.hear_of("notifications/tools/list_changed");
    assert_eq!(
        agent.ask("resources/unsubscribe", &uri)["result"],
        json!({})
    );

    let gone = agent.ask("resources/read", &json!({"uri": "everything://nowhere"}));
    assert_eq!(gone["error"]["code"], -32002, "{gone}");
    let foreign = agent.ask("server/discover", &json!({}));
    assert_eq!(foreign["error"]["code"], -32601, "{foreign}");

    // A call that is cancelled gets no answer, and the session goes on.
    let slow = agent.send(
        "tools/call",
        &json!({"name": "slow", "arguments": {"steps": 1, "delay_ms": 60_000}}),
    );
    agent.tell("notifications/cancelled", &json!({"requestId": slow}));
    assert_eq!(
        text(&agent.call("echo", &json!({"text": "after"}))),
        "after"
    );

    let ended = agent.peer.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for line in ended.lines {
        for foreign in ["resultType", "ttlMs", "subscriptionId", "inputRequests"] {
            assert!(!line.contains(foreign), "{line}");
        }
    }
    let setup = agent.behind.setup();
    let records = setup.audit_text();
    let records: Vec<Value> = records.lines().map(json).collect();
    let calls = records.iter().filter(|it| it["kind"] == "tool_call");
    let calls: Vec<&Value> = calls.collect();
    assert!(calls.len() > 8, "{calls:#?}");
    for call in calls {
        assert_eq!(call["bridged"], "2025-06-18", "{call}");
    }
    if pair.server == Transport::Stdio {
        says_it_itself(&fs::read_to_string(setup.path("received")).unwrap());
    }
}

/// Each request that a server without sessions got says what it speaks.
fn says_it_itself(received: &str) {
    let received: Vec<Value> = received.lines().map(json).collect();
    assert!(received.len() > 10);
    let requests = received.iter().filter(|it| it.get("id").is_some());
    for request in requests.filter(|it| it["method"] != "initialize") {
        let meta = &request["params"]["_meta"];
        let version = &meta["io.modelcontextprotocol/protocolVersion"];
        assert_eq!(version, "2026-07-28", "{request}");
        for foreign in ["ping", "logging/setLevel", "resources/subscribe"] {
            assert_ne!(request["method"], foreign);
        }
    }
}

#[test]
fn a_session_works_before_a_server_that_has_none_over_each_pair_of_transports() {
    PAIRS.into_iter().for_each(whole_session);
}

#[test]
fn the_same_policies_hold_for_those_who_come_over_the_bridge() {
    let policies = "
        @id(\"open\") permit (principal, action, resource);
        @id(\"no-add\") @advice(\"no sums\")
        forbid (principal, action in Mcp::Action::\"call_tool\", resource == Mcp::Tool::\"add\");
        @id(\"no-asking\") forbid (principal, action == Mcp::Action::\"elicit\", resource);
        @id(\"no-level\") forbid (principal, action == Mcp::Action::\"set_level\", resource);
        @id(\"era\") forbid (principal, action == Mcp::Action::\"get_prompt\", resource)
            unless { context.env.protocol == \"2025-06-18\" };
    ";
    for pair in PAIRS {
        let mut agent = Agent::start(pair.behind(policies));
        let listed = agent.ask("tools/list", &json!({}));
        assert!(!listed.to_string().contains("\"add\""), "{listed}");
        let hidden = agent.call("add", &json!({"a": 1, "b": 2}));
        assert_eq!(hidden["error"]["code"], -32602, "{hidden}");
        let asked = agent.call("elicit", &json!({}));
        assert_eq!(asked["error"]["code"], 4030, "{asked}");
        assert_eq!(agent.told, [""; 0]);
        let level = agent.ask("logging/setLevel", &json!({"level": "info"}));
        assert_eq!(level["error"]["code"], 4030, "{level}");
        // What is judged is what the server gets.
        let prompt = agent.ask("prompts/get", &json!({"name": "simple"}));
        assert_eq!(prompt["error"]["code"], 4030, "{prompt}");
    }
}

#[test]
fn an_allowlist_is_all_that_such_a_session_needs() {
    for pair in PAIRS {
        let mut agent = Agent::start(pair.guarded(|setup| setup.allow(&["echo", "touch"])));
        let called = agent.call("echo", &json!({"text": "x"}));
        assert_eq!(text(&called), "x");
        let denied = agent.call("add", &json!({"a": 1, "b": 2}));
        assert_eq!(denied["error"]["code"], -32602, "{denied}");
        let uri = json!({"uri": "everything://text/changing"});
        assert_eq!(agent.ask("resources/subscribe", &uri)["result"], json!({}));
        agent.call("touch", &uri);
        agent.hear_of("notifications/resources/updated");
    }
}

#[test]
fn without_the_bridge_an_agent_gets_the_servers_own_refusal() {
    let mut setup = crate::support::setup::Setup::of([
        crate::support::fixtures::fixture("everything-server").as_str(),
        "--stateless",
    ])
    .policies(ALLOW_ALL);
    setup.limits.push_str("\n[protocol]\nbridge = false\n");
    let mut peer = Peer::start(setup.gate());
    peer.send(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"agent","version":"1"}}}"#);
    let refused = peer.receive().unwrap().to_owned();
    assert_eq!(
        refused,
        r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"Method not found: initialize"}}"#
    );
}
