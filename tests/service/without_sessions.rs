//! Agents without a session before servers that know nothing else: whose session it is, and its end.

use std::io::Write as _;
use std::path::Path;
use std::thread::scope;

use serde_json::{Value, json};

use crate::processes::support::python;
use crate::service::own_roots::over_http;
use crate::service::unified::{POLICIES, stateless};
use crate::support::http::Agent;
use crate::support::json::json as parsed;
use crate::support::processes::eventually;
use crate::support::serving::Serving;
use crate::support::setup::Setup;

/// Counts its calls, and says what it has seen. One tool waits for a file, one asks the agent, one ends it.
const SERVER: &str = r"
import json, os, sys, threading, time
name = NAME
def send(m): print(json.dumps(dict(m, jsonrpc='2.0')), flush=True)
def text(id, t): send({'id': id, 'result': {'content': [{'type': 'text', 'text': t}]}})
def wait(id):
    while not os.path.exists(GATE): time.sleep(0.01)
    text(id, 'waited')
seen, calls, asked = [], 0, None
tools = [{'name': n, 'inputSchema': {'type': 'object'}} for n in ('count', 'seen', 'wait', 'ask', 'tell', 'end')]
for line in sys.stdin:
    m = json.loads(line)
    if 'method' not in m:
        text(asked, json.dumps(m))
        continue
    method, p, id = m['method'], m.get('params', {}), m.get('id')
    seen.append([method, p])
    if id is None: continue
    if method == 'initialize': r = {'protocolVersion': p['protocolVersion'], 'capabilities': {'tools': {'listChanged': True}}, 'serverInfo': {'name': name, 'version': '1'}}
    elif method == 'server/discover':
        send({'id': id, 'error': {'code': -32602, 'message': 'Invalid request parameters'}})
        continue
    elif method == 'tools/list': r = {'tools': tools}
    elif method == 'tools/call':
        tool = p['name']
        calls += 1
        if tool == 'end': os._exit(1)
        elif tool == 'wait': threading.Thread(target=wait, args=(id,), daemon=True).start()
        elif tool == 'ask':
            asked = id
            send({'id': 'q', 'method': 'roots/list'})
        elif tool == 'tell':
            send({'method': 'notifications/progress', 'params': {'progressToken': p['_meta']['progressToken'], 'progress': 1}})
            send({'method': 'notifications/message', 'params': {'level': 'info', 'data': 'logged'}})
            text(id, 'told')
        else: text(id, json.dumps(seen) if tool == 'seen' else '%s %d %d' % (name, os.getpid(), calls))
        continue
    else:
        send({'id': id, 'error': {'code': -32601, 'message': 'Method not found'}})
        continue
    send({'id': id, 'result': r})
";

fn server(name: &str, file: &Path) -> Vec<String> {
    let script = SERVER.replace("NAME", &format!("{name:?}"));
    python(&script.replace("GATE", &format!("{file:?}")))
}

fn gate(more: impl FnOnce(&mut Setup)) -> Serving {
    let mut setup = over_http(Setup::of(["none"]).policies(POLICIES));
    setup.command = server("crm", &setup.path("file"));
    more(&mut setup);
    Serving::start(setup)
}

fn agent(url: &str, who: &str, method: &str) -> Agent {
    let ending = if who == "bob" { "-" } else { "" };
    Agent::at(url)
        .with(format!(
            "Authorization: Bearer {who}-0123456789-0123456789{ending}"
        ))
        .with("MCP-Protocol-Version: 2026-07-28")
        .with(format!("Mcp-Method: {method}"))
}

fn request(method: &str, params: &Value) -> String {
    let mut params = params.clone();
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"roots": {}});
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string()
}

fn ask(url: &str, who: &str, method: &str, params: &Value) -> Vec<Value> {
    let agent = agent(url, who, method);
    let agent = match params.get("name").and_then(Value::as_str) {
        Some(name) => agent.with(format!("Mcp-Name: {name}")),
        None => agent,
    };
    let body = agent.post(&request(method, params)).body;
    if body.starts_with('{') {
        return vec![parsed(&body)];
    }
    let events = body.lines().filter_map(|line| line.strip_prefix("data: "));
    events.map(parsed).collect()
}

fn call(url: &str, who: &str, tool: &str) -> Value {
    let called = ask(
        url,
        who,
        "tools/call",
        &json!({"name": tool, "arguments": {}}),
    );
    called.last().unwrap().clone()
}

fn text(answer: &Value) -> &str {
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn principals_have_sessions_of_their_own_and_do_not_wait_for_each_other() {
    let gate = gate(|_| {});
    let url = gate.url.as_str();
    let count = |who: &str| text(&call(url, who, "count")).to_owned();
    let (alice, again, bob) = (count("alice"), count("alice"), count("bob"));
    let parts = |of: &str| of.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(parts(&alice)[1], parts(&again)[1], "one session: {again}");
    assert_eq!(parts(&again)[2], "2");
    assert_ne!(parts(&alice)[1], parts(&bob)[1], "another one: {bob}");
    assert_eq!(parts(&bob)[2], "1");
    scope(|scope| {
        let slow = scope.spawn(|| call(url, "alice", "wait"));
        // What both wait for comes when these have been answered.
        assert!(count("bob").ends_with(" 2"));
        assert!(count("alice").starts_with("crm "));
        std::fs::write(gate.setup().path("file"), "").unwrap();
        assert_eq!(text(&slow.join().unwrap()), "waited");
    });
    let seen = parsed(text(&call(url, "bob", "seen")));
    let handshakes = seen.as_array().unwrap().iter();
    let handshakes: Vec<_> = handshakes.filter(|it| it[0] == "initialize").collect();
    assert_eq!(handshakes.len(), 1, "{seen}");
    assert_eq!(handshakes[0][1]["capabilities"], json!({}), "{seen}");
}

#[test]
fn a_server_is_told_that_the_agent_cannot_be_asked_and_tells_what_it_does() {
    let gate = gate(|_| {});
    let asked = call(&gate.url, "alice", "ask");
    let answer = parsed(text(&asked));
    assert_eq!(answer["id"], "q", "{asked}");
    assert_eq!(answer["error"]["code"], -32_601, "{asked}");
    for (level, logs) in [(None, 0), (Some("warning"), 0), (Some("info"), 1)] {
        let mut params = json!({"name": "tell", "arguments": {}, "_meta": {"progressToken": "p"}});
        if let Some(level) = level {
            params["_meta"]["io.modelcontextprotocol/logLevel"] = level.into();
        }
        let told = ask(&gate.url, "alice", "tools/call", &params);
        let of = |method: &str| told.iter().filter(|it| it["method"] == method).count();
        assert_eq!(of("notifications/progress"), 1, "{told:?}");
        assert_eq!(of("notifications/message"), logs, "{told:?}");
        assert_eq!(text(told.last().unwrap()), "told");
    }
}

#[test]
fn an_agent_that_can_be_asked_begins_a_session_of_its_own_beside_that_of_the_gate() {
    let gate = gate(|_| {});
    let url = gate.url.as_str();
    for calls in 1..3 {
        let refused = ask(url, "alice", "server/discover", &json!({}));
        let error = &refused[0]["error"];
        assert_eq!(error["code"], -32_601, "{refused:?}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("begins with `initialize`"), "{message}");
        let own = Agent::at(url).with("Authorization: Bearer alice-0123456789-0123456789");
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count","arguments":{}}}"#;
        let counted = own.in_session().post(body).body;
        assert!(counted.contains(" 1\""), "{counted}");
        assert!(text(&call(url, "alice", "count")).ends_with(&format!(" {calls}")));
    }
}

#[test]
fn a_closed_stream_cancels_its_request_alone() {
    let gate = gate(|_| {});
    let (url, method) = (gate.url.as_str(), "tools/call");
    call(url, "alice", "count");
    let body = request(method, &json!({"name": "wait", "arguments": {}}));
    let waiting = agent(url, "alice", method).with("Mcp-Name: wait");
    let seen = || parsed(text(&call(url, "alice", "seen")));
    let mut stream = waiting.begin("POST", body.len());
    stream.write_all(body.as_bytes()).unwrap();
    let has = |seen: &Value, what: &str| seen.to_string().contains(what);
    eventually(|| {
        let seen = seen();
        has(&seen, r#""name":"wait""#)
            .then_some(())
            .ok_or(seen.to_string())
    });
    drop(stream);
    eventually(|| {
        let seen = seen();
        let cancelled = has(&seen, "notifications/cancelled");
        cancelled.then_some(()).ok_or(seen.to_string())
    });
    assert!(text(&call(url, "alice", "count")).starts_with("crm "));
}

#[test]
fn a_session_that_ends_with_its_server_is_opened_again() {
    let gate = gate(|_| {});
    let before = text(&call(&gate.url, "alice", "count")).to_owned();
    let ended = call(&gate.url, "alice", "end");
    assert_eq!(ended["error"]["code"], -32_603, "{ended}");
    let after = eventually(|| {
        let answer = call(&gate.url, "alice", "count");
        let counted = answer["result"]["content"][0]["text"].as_str();
        counted.map(str::to_owned).ok_or(answer.to_string())
    });
    assert_ne!(before.split(' ').nth(1), after.split(' ').nth(1));
    assert!(after.ends_with(" 1"), "{after}");
}

#[test]
fn one_endpoint_has_servers_with_and_without_sessions() {
    let gate = gate(|setup| {
        setup.key = Some("crm");
        setup.more = format!(
            "[flow]\nflow_in = 'off'\n[unified]\nwait = '30s'\n[servers.web]\ncommand = {:?}\n",
            stateless("web")
        );
    });
    let (url, _) = gate.url.rsplit_once('/').unwrap();
    let ask = |method: &str, params: Value| ask(url, "alice", method, &params)[0].clone();
    let found = ask("server/discover", json!({}));
    assert_eq!(
        found["result"]["supportedVersions"],
        json!(["2026-07-28"]),
        "{found}"
    );
    // That with sessions does not say which lists it has: an agent that can be asked may begin one.
    assert!(
        found["result"]["capabilities"]["prompts"].is_object(),
        "{found}"
    );
    let listed = ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap().iter();
    let names: Vec<_> = tools.map(|it| it["name"].as_str().unwrap()).collect();
    assert!(
        names.contains(&"crm__count") && names.contains(&"web__who"),
        "{names:?}"
    );
    assert_eq!(
        listed["result"]["_meta"].get("mcp-protector/unavailable"),
        None,
        "{listed}"
    );
    for tool in ["crm__count", "web__who"] {
        let called = call(url, "alice", tool);
        let (key, _) = tool.split_once("__").unwrap();
        assert!(text(&called).starts_with(key), "{called}");
        assert_eq!(called["result"]["resultType"], "complete", "{called}");
    }
}
