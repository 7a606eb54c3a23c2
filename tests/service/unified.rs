//! One endpoint for all servers: each under its own key, and nothing of one reaches another.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;

use serde_json::{Value, json};

use crate::processes::support::python;
use crate::service::own_roots::over_http;
use crate::service::several::agent_at;
use crate::support::http::{Agent, Answer};
use crate::support::json::json as parsed;
use crate::support::peer::Peer;
use crate::support::processes::eventually;
use crate::support::serving::Serving;
use crate::support::setup::Setup;

/// Has three pages of everything that has a list, and says who it is in each answer.
const SERVER: &str = r"
import json, os, sys, time
name = NAME
def send(m): print(json.dumps(dict(m, jsonrpc='2.0')), flush=True)
def page(kind, p, item):
    n = int(p.get('cursor', name + ':0').split(':')[1])
    r = {kind: [item('%d' % (2 * n + i)) for i in (0, 1)]}
    if n < 2: r['nextCursor'] = '%s:%d' % (name, n + 1)
    return r
ui = {'ui': {'resourceUri': 'ui://board/1'}}
seen = []
more = [{'name': n, 'inputSchema': {'type': 'object'}} for n in ('wait', 'seen', 'tell', 'ask')]
answers = []
for line in sys.stdin:
    m = json.loads(line)
    if 'method' not in m:
        answers.append(m.get('result', m.get('error')))
        if len(answers) == 2: send({'id': asked, 'result': {'content': [{'type': 'text', 'text': json.dumps(answers)}]}})
        continue
    seen.append(m['method'])
    if 'id' not in m: continue
    method, p = m.get('method'), m.get('params', {})
    if method == 'initialize' and GATE:
        while not os.path.exists(GATE): time.sleep(0.01)
    if method == 'initialize': r = {'protocolVersion': p['protocolVersion'], 'capabilities': {'tools': {}, 'prompts': {}, 'resources': {'subscribe': True}, 'logging': {}, 'completions': {}}, 'serverInfo': {'name': name, 'version': '1'}, 'instructions': 'I am ' + name}
    elif method == 'tools/list' and MORE: r = {'tools': more}
    elif method == 'tools/list': r = page('tools', p, lambda n: {'name': 'tool__' + n, 'inputSchema': {'type': 'object'}, '_meta': ui})
    elif method == 'prompts/list': r = page('prompts', p, lambda n: {'name': 'prompt_' + n})
    elif method == 'resources/list': r = page('resources', p, lambda n: {'name': n, 'uri': 'file:///+' + n})
    elif method == 'resources/templates/list': r = page('resourceTemplates', p, lambda n: {'name': n, 'uriTemplate': 'file:///%s/{a}' % n})
    elif method == 'tools/call' and p['name'] == 'wait': continue
    elif method == 'tools/call' and p['name'] == 'seen': r = {'content': [{'type': 'text', 'text': json.dumps(seen)}]}
    elif method == 'tools/call' and p['name'] == 'tell':
        token = p['_meta']['progressToken']
        send({'method': 'notifications/progress', 'params': {'progressToken': token, 'progress': 1}})
        send({'method': 'notifications/message', 'params': {'level': 'info', 'logger': 'log', 'data': 'file:///x'}})
        send({'method': 'notifications/resources/updated', 'params': {'uri': 'file:///0'}})
        send({'method': 'notifications/tools/list_changed'})
        r = {'content': []}
    elif method == 'tools/call' and p['name'] == 'ask':
        form = {'message': name, 'requestedSchema': {'type': 'object', 'properties': {'said': {'type': 'string'}}}}
        send({'id': 1, 'method': 'elicitation/create', 'params': dict(form, _meta={'progressToken': 1})})
        send({'id': 2, 'method': 'elicitation/create', 'params': form})
        asked = m['id']
        continue
    elif method == 'tools/call': r = {'content': [{'type': 'text', 'text': name + ' ' + p['name']}, {'type': 'resource_link', 'name': 'x', 'uri': 'file:///x'}, {'type': 'resource', 'resource': {'uri': 'ui://board/1', 'text': 'file:///text'}}]}
    elif method == 'prompts/get': r = {'messages': [{'role': 'user', 'content': {'type': 'text', 'text': name + ' ' + p['name']}}, {'role': 'user', 'content': {'type': 'resource', 'resource': {'uri': 'file:///x', 'text': ''}}}]}
    elif method == 'resources/read': r = {'contents': [{'uri': p['uri'], 'text': name + ' ' + p['uri']}]}
    elif method == 'completion/complete': r = {'completion': {'values': [name, p['ref'].get('name', p['ref'].get('uri'))]}}
    else: r = {}
    send({'id': m['id'], 'result': r})
";

pub(super) const POLICIES: &str = r#"@id("all") permit (principal, action, resource);"#;

pub(super) fn server(name: &str) -> Vec<String> {
    script(name, "False", Path::new(""))
}

/// Has tools that say and ask what servers may.
fn talking(name: &str) -> Vec<String> {
    script(name, "True", Path::new(""))
}

/// Answers `initialize` once there is such a file.
fn waiting_for(name: &str, file: &Path) -> Vec<String> {
    script(name, "True", file)
}

fn script(name: &str, more: &str, file: &Path) -> Vec<String> {
    let script = SERVER.replace("NAME", &format!("{name:?}"));
    let script = script.replace("MORE", more);
    python(&script.replace("GATE", &format!("{file:?}")))
}

fn before_three() -> Setup {
    let mut setup = over_http(Setup::of(server("crm")).policies(POLICIES));
    setup.key = Some("crm");
    setup.more = format!(
        "[flow]\nflow_in = 'off'\n[unified]\nwait = '30s'\naliases = {{ search = 'web__tool__1' }}\n[servers.mail]\ncommand = {:?}\n[servers.web]\ncommand = {:?}\n",
        server("mail"),
        server("web")
    );
    setup
}

pub(super) fn agent(gate: &Serving) -> Agent {
    let (before, _) = gate.url.rsplit_once('/').unwrap();
    agent_at(before, "bob")
}

pub(super) fn ask(agent: &Agent, method: &str, params: &Value) -> Value {
    let request = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let answer = agent.post(&request.to_string()).message();
    assert_eq!(answer["id"], 7, "{answer}");
    answer
}

/// All pages of a list.
pub(super) fn all(agent: &Agent, method: &str, list: &str) -> Vec<Value> {
    let mut items = Vec::new();
    let mut params = json!({});
    loop {
        let answer = ask(agent, method, &params);
        items.extend(answer["result"][list].as_array().unwrap().clone());
        match answer["result"].get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => return items,
        }
    }
}

#[test]
fn lists_of_three_pages_of_three_servers_are_what_three_lists_are() {
    let gate = Serving::start(before_three());
    let agent = agent(&gate);
    for (method, list, key, shown) in [
        (
            "tools/list",
            "tools",
            "name",
            ["crm__tool__", "mail__tool__", "web__tool__"],
        ),
        (
            "prompts/list",
            "prompts",
            "name",
            ["crm__prompt_", "mail__prompt_", "web__prompt_"],
        ),
        (
            "resources/list",
            "resources",
            "uri",
            ["crm+file:///+", "mail+file:///+", "web+file:///+"],
        ),
        (
            "resources/templates/list",
            "resourceTemplates",
            "uriTemplate",
            ["crm+file:///", "mail+file:///", "web+file:///"],
        ),
    ] {
        let ending = if method == "resources/templates/list" {
            "/{a}"
        } else {
            ""
        };
        let mut expected: Vec<String> = shown
            .iter()
            .flat_map(|before| (0..6).map(move |n| format!("{before}{n}{ending}")))
            .map(|name| {
                if name == "web__tool__1" {
                    "search".to_owned()
                } else {
                    name
                }
            })
            .collect();
        let items = all(&agent, method, list);
        let mut names: Vec<_> = items
            .iter()
            .map(|it| it[key].as_str().unwrap().to_owned())
            .collect();
        names.sort();
        expected.sort();
        assert_eq!(names, expected);
    }
}

#[test]
fn what_has_a_name_reaches_its_server_alone_and_comes_back_under_it() {
    let gate = Serving::start(before_three());
    let agent = agent(&gate);
    let called = ask(
        &agent,
        "tools/call",
        &json!({"name": "mail__tool__3", "arguments": {}}),
    );
    assert_eq!(
        called["result"]["content"],
        json!([
            {"type": "text", "text": "mail tool__3"},
            {"type": "resource_link", "name": "x", "uri": "mail+file:///x"},
            {"type": "resource", "resource": {"uri": "ui://mail/board/1", "text": "file:///text"}},
        ])
    );
    let called = ask(
        &agent,
        "tools/call",
        &json!({"name": "search", "arguments": {}}),
    );
    assert_eq!(
        called["result"]["content"][0]["text"], "web tool__1",
        "{called}"
    );
    let got = ask(&agent, "prompts/get", &json!({"name": "web__prompt_2"}));
    assert_eq!(
        got["result"]["messages"][0]["content"]["text"],
        "web prompt_2"
    );
    assert_eq!(
        got["result"]["messages"][1]["content"]["resource"]["uri"],
        "web+file:///x"
    );
    let read = ask(&agent, "resources/read", &json!({"uri": "crm+file:///+5"}));
    assert_eq!(
        read["result"]["contents"],
        json!([{"uri": "crm+file:///+5", "text": "crm file:///+5"}])
    );
    let read = ask(
        &agent,
        "resources/read",
        &json!({"uri": "ui://web/board/1"}),
    );
    assert_eq!(read["result"]["contents"][0]["text"], "web ui://board/1");
    for (reference, said) in [
        (
            json!({"type": "ref/prompt", "name": "mail__prompt_1"}),
            "prompt_1",
        ),
        (
            json!({"type": "ref/resource", "uri": "mail+file:///1/{a}"}),
            "file:///1/{a}",
        ),
    ] {
        let completed = ask(
            &agent,
            "completion/complete",
            &json!({"ref": reference, "argument": {"name": "a", "value": "b"}}),
        );
        assert_eq!(
            completed["result"]["completion"]["values"],
            json!(["mail", said])
        );
    }
    for (method, params) in [
        ("ping", json!({})),
        ("logging/setLevel", json!({"level": "info"})),
        ("resources/subscribe", json!({"uri": "crm+file:///+5"})),
    ] {
        assert_eq!(
            ask(&agent, method, &params)["result"],
            json!({}),
            "{method}"
        );
    }
}

#[test]
fn what_is_of_no_server_is_refused_and_recorded() {
    let gate = Serving::start(before_three());
    let agent = agent(&gate);
    let check = |method: &str, params: Value, expected: &str| {
        let answer = ask(&agent, method, &params);
        assert_eq!(answer["error"]["message"], expected, "{method} {params}");
    };
    for name in ["tool__1", "crm_tool__1", "other__tool__1", "web__tool__1"] {
        let told = format!("Unknown tool: {name}");
        check("tools/call", json!({"name": name, "arguments": {}}), &told);
    }
    let nothing = "Invalid params: there is nothing of this name";
    check("prompts/get", json!({"name": "prompt_1"}), nothing);
    check("resources/read", json!({"uri": "file:///+5"}), nothing);
    check("resources/read", json!({"uri": "ui://board/1"}), nothing);
    check("tools/other", json!({}), "Method not found");
    let cursor = "invalid params: `cursor` was not given for this list; begin it anew";
    check("tools/list", json!({"cursor": "crm:1"}), cursor);
    for reason in ["unrouted", "unknown_cursor", "unknown_method"] {
        let code = format!(r#""code":"{reason}""#);
        eventually(|| {
            let records = gate.setup().audit_text();
            let is_recorded = records.contains(&code);
            is_recorded.then_some(()).ok_or(records)
        });
    }
}

pub(super) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"tester","version":"1"}}}"#;

pub(super) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// An agent on standard streams before two servers of which each has asked, or has not yet.
fn before_two_that_talk() -> (Setup, Peer) {
    let mut setup = Setup::of(talking("crm")).policies(POLICIES);
    setup.key = Some("crm");
    setup.more = format!(
        "[flow]\nflow_in = 'off'\n[unified]\n[servers.mail]\ncommand = {:?}\n",
        talking("mail")
    );
    let mut agent = Peer::start(setup.gate());
    agent.send(INITIALIZE);
    let greeted = next(&mut agent);
    let result = &greeted["result"];
    assert_eq!(result["serverInfo"]["name"], "mcp-protector", "{greeted}");
    assert_eq!(
        result["instructions"],
        "## crm\n\nI am crm\n\n## mail\n\nI am mail"
    );
    assert_eq!(result["capabilities"]["resources"]["subscribe"], true);
    agent.send(INITIALIZED);
    // The tools are known from then on.
    for (id, key) in [(101, "crm"), (102, "mail")] {
        seen(&mut agent, id, key);
    }
    (setup, agent)
}

pub(super) fn next(agent: &mut Peer) -> Value {
    parsed(agent.receive().expect("a line"))
}

fn call(agent: &mut Peer, id: u64, tool: &str, meta: &Value) {
    let params = json!({"name": tool, "arguments": {}, "_meta": meta});
    let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
    agent.send(request.to_string());
}

/// What the server of this key has got.
fn seen(agent: &mut Peer, id: u64, key: &str) -> Vec<String> {
    call(agent, id, &format!("{key}__seen"), &json!({}));
    let answer = next(agent);
    let text = answer["result"]["content"][0]["text"].as_str();
    let seen = parsed(text.unwrap_or_else(|| panic!("{answer}")));
    let seen = seen.as_array().unwrap().iter();
    seen.map(|it| it.as_str().unwrap().to_owned()).collect()
}

#[test]
fn servers_ask_under_ids_of_their_own_and_each_gets_its_answers_alone() {
    let (_setup, mut agent) = before_two_that_talk();
    call(&mut agent, 1, "crm__ask", &json!({}));
    call(&mut agent, 2, "mail__ask", &json!({}));
    let mut asked: Vec<Value> = (0..4).map(|_| next(&mut agent)).collect();
    let ids: BTreeSet<u64> = asked.iter().filter_map(|it| it["id"].as_u64()).collect();
    assert_eq!(ids.len(), 4, "{asked:?}");
    let mut tokens = BTreeSet::new();
    asked.reverse();
    for question in &asked {
        let key = question["params"]["message"].as_str().unwrap();
        let mut said = key.to_owned();
        if let Some(token) = question["params"].pointer("/_meta/progressToken") {
            token.as_str().unwrap().clone_into(&mut said);
            tokens.insert(said.clone());
            let progress = json!({"progressToken": token, "progress": 1});
            let told =
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress});
            agent.send(told.to_string());
        }
        let result = json!({"action": "accept", "content": {"said": said}});
        agent.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": result}).to_string());
    }
    assert_eq!(tokens, ["crm+1".to_owned(), "mail+1".to_owned()].into());
    for _ in 0..2 {
        let answer = next(&mut agent);
        let key = if answer["id"] == 1 { "crm" } else { "mail" };
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        for said in [key.to_owned(), format!("{key}+1")] {
            assert!(text.contains(&format!(r#""said": "{said}""#)), "{answer}");
        }
    }
    for (id, key) in [(3, "crm"), (4, "mail")] {
        let progress = seen(&mut agent, id, key);
        let progress = progress.iter().filter(|it| *it == "notifications/progress");
        assert_eq!(progress.count(), 1);
    }
}

#[test]
fn what_servers_tell_has_their_names_and_a_cancellation_reaches_one() {
    let (_setup, mut agent) = before_two_that_talk();
    let subscribed = r#"{"jsonrpc":"2.0","id":9,"method":"resources/subscribe","params":{"uri":"mail+file:///0"}}"#;
    agent.send(subscribed);
    assert_eq!(next(&mut agent)["result"], json!({}));
    call(
        &mut agent,
        1,
        "mail__tell",
        &json!({"progressToken": "mine"}),
    );
    let told: Vec<Value> = (0..5).map(|_| next(&mut agent)).collect();
    let params = |method: &str| {
        let found = told.iter().find(|it| it["method"] == method);
        found.unwrap_or_else(|| panic!("{method}: {told:?}"))["params"].clone()
    };
    assert_eq!(params("notifications/progress")["progressToken"], "mine");
    let log = params("notifications/message");
    assert_eq!(
        (&log["logger"], &log["data"]),
        (&json!("mail+log"), &json!("file:///x"))
    );
    let updated = params("notifications/resources/updated");
    assert_eq!(updated["uri"], "mail+file:///0");
    params("notifications/tools/list_changed");
    call(&mut agent, 2, "crm__wait", &json!({}));
    agent.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#);
    let cancelled = "notifications/cancelled".to_owned();
    assert!(seen(&mut agent, 3, "crm").contains(&cancelled));
    assert!(!seen(&mut agent, 4, "mail").contains(&cancelled));
    // The id may be used again.
    call(&mut agent, 2, "crm__seen", &json!({}));
    assert_eq!(next(&mut agent)["id"], 2);
}

#[test]
fn when_the_agent_closes_its_end_every_server_ends_and_what_waits_is_answered() {
    let (setup, mut agent) = before_two_that_talk();
    call(&mut agent, 1, "crm__seen", &json!({}));
    agent.close();
    assert_eq!(next(&mut agent)["id"], 1);
    let ended = agent.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let records = setup.audit_text();
    let ends = records.matches(r#""kind":"session_end""#).count();
    assert_eq!(ends, 3, "{records}");
}

#[test]
fn a_slow_server_keeps_no_one_waiting_and_is_there_once_it_has_answered() {
    let mut setup = Setup::of(talking("crm")).policies(POLICIES);
    setup.key = Some("crm");
    let file = setup.path("go");
    setup.more = format!(
        "[flow]\nflow_in = 'off'\n[unified]\nwait = '100ms'\n[servers.web]\ncommand = {:?}\n",
        waiting_for("web", &file)
    );
    let mut agent = Peer::start(setup.gate());
    agent.send(INITIALIZE);
    let greeted = next(&mut agent);
    assert_eq!(greeted["result"]["instructions"], "## crm\n\nI am crm");
    assert_eq!(
        greeted["result"]["capabilities"]["tools"]["listChanged"],
        true
    );
    agent.send(INITIALIZED);
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    agent.send(list);
    let listed = next(&mut agent);
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 4);
    assert_eq!(
        listed["result"]["_meta"]["mcp-protector/unavailable"],
        json!(["web"])
    );
    call(&mut agent, 2, "web__seen", &json!({}));
    assert_eq!(next(&mut agent)["error"]["code"], -32603);
    seen(&mut agent, 3, "crm");
    fs::write(&file, "").unwrap();
    let told: BTreeSet<String> = (0..3)
        .map(|_| next(&mut agent)["method"].as_str().unwrap().to_owned())
        .collect();
    let lists = ["tools", "prompts", "resources"];
    let changed = lists.map(|list| format!("notifications/{list}/list_changed"));
    assert_eq!(told, changed.into());
    // It was told that the agent is there before anything else.
    let seen_by_web = seen(&mut agent, 4, "web");
    assert_eq!(
        seen_by_web[..2],
        ["initialize", "notifications/initialized"]
    );
    agent.send(list);
    let listed = next(&mut agent);
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 8);
    assert_eq!(listed["result"].get("_meta"), None);
}

/// Speaks revision 2026-07-28 alone.
const STATELESS: &str = r"
import json, sys
name = NAME
def send(m): print(json.dumps(dict(m, jsonrpc='2.0')), flush=True)
whole = {'resultType': 'complete', '_meta': {'io.modelcontextprotocol/serverInfo': {'name': name, 'version': '1'}}}
kept = {'ttlMs': 60000, 'cacheScope': 'public'}
for line in sys.stdin:
    m = json.loads(line)
    if 'id' not in m: continue
    method, p = m['method'], m.get('params', {})
    if method == 'server/discover': r = dict(kept, supportedVersions=['2026-07-28'], capabilities={'tools': {'listChanged': True}, 'resources': {'subscribe': True}})
    elif method == 'tools/list': r = dict(kept, tools=[{'name': 'who', 'inputSchema': {'type': 'object'}}])
    elif method == 'tools/call': r = {'content': [{'type': 'text', 'text': name}, {'type': 'resource_link', 'name': 'x', 'uri': 'file:///x'}]}
    elif method == 'subscriptions/listen':
        tag = {'_meta': {'io.modelcontextprotocol/subscriptionId': m['id']}}
        send({'method': 'notifications/subscriptions/acknowledged', 'params': dict(tag, notifications=p['notifications'])})
        for uri in p['notifications'].get('resourceSubscriptions', []):
            send({'method': 'notifications/resources/updated', 'params': dict(tag, uri=uri)})
        continue
    else: r = {}
    send({'id': m['id'], 'result': dict(whole, **r)})
";

pub(super) fn stateless(name: &str) -> Vec<String> {
    python(&STATELESS.replace("NAME", &format!("{name:?}")))
}

fn before_two_without_sessions() -> Serving {
    let mut setup = over_http(Setup::of(stateless("crm")).policies(POLICIES));
    setup.key = Some("crm");
    setup.more = format!(
        "[flow]\nflow_in = 'off'\n[unified]\nwait = '30s'\n[servers.web]\ncommand = {:?}\n",
        stateless("web")
    );
    Serving::start(setup)
}

fn post(url: &str, method: &str, name: Option<&str>, params: &Value) -> Answer {
    let mut agent = Agent::at(url)
        .with("Authorization: Bearer bob-0123456789-0123456789-")
        .with("MCP-Protocol-Version: 2026-07-28")
        .with(format!("Mcp-Method: {method}"));
    if let Some(name) = name {
        agent = agent.with(format!("Mcp-Name: {name}"));
    }
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let request = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    agent.post(&request.to_string())
}

#[test]
fn agents_without_a_session_have_all_servers_too() {
    let gate = before_two_without_sessions();
    let (url, _) = gate.url.rsplit_once('/').unwrap();
    let ask = |method: &str, name: Option<&str>, params: Value| {
        let answer = post(url, method, name, &params);
        answer.message()["result"].clone()
    };
    let found = ask("server/discover", None, json!({}));
    assert_eq!(found["supportedVersions"], json!(["2026-07-28"]), "{found}");
    assert_eq!(found["capabilities"]["resources"]["subscribe"], true);
    assert_eq!(found["cacheScope"], "private");
    let listed = ask("tools/list", None, json!({}));
    let names: Vec<_> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["name"])
        .collect();
    assert_eq!(names, ["crm__who", "web__who"]);
    let called = ask(
        "tools/call",
        Some("web__who"),
        json!({"name": "web__who", "arguments": {}}),
    );
    assert_eq!(called["content"][0]["text"], "web");
    assert_eq!(called["content"][1]["uri"], "web+file:///x");
    // The name in the header is that of the body.
    let other = post(
        url,
        "tools/call",
        Some("who"),
        &json!({"name": "web__who", "arguments": {}}),
    );
    assert_eq!(other.status, 400, "{other:?}");
}

#[test]
fn a_subscription_at_all_servers_has_one_acknowledgement_and_each_servers_uris() {
    let gate = before_two_without_sessions();
    let (url, _) = gate.url.rsplit_once('/').unwrap();
    let params = json!({
        "notifications": {
            "toolsListChanged": true,
            "resourceSubscriptions": ["web+file:///1", "crm+file:///2", "web+file:///3"],
        },
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    });
    let request =
        json!({"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": params});
    let agent = Agent::at(url)
        .with("Authorization: Bearer bob-0123456789-0123456789-")
        .with("MCP-Protocol-Version: 2026-07-28")
        .with("Mcp-Method: subscriptions/listen");
    let body = request.to_string();
    let mut stream = agent.begin("POST", body.len());
    stream.write_all(body.as_bytes()).unwrap();
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    let events = lines.filter_map(|line| Some(parsed(line.strip_prefix("data: ")?)));
    // Beside the updates the gate may tell of a list.
    let mut told = Vec::new();
    for event in events {
        told.push(event);
        let is_update = |it: &&Value| it["params"].get("uri").is_some();
        if told.iter().filter(is_update).count() == 3 {
            break;
        }
    }
    let acknowledged: Vec<&Value> = told
        .iter()
        .filter(|it| it["method"] == "notifications/subscriptions/acknowledged")
        .collect();
    assert_eq!(acknowledged, [&told[0]], "{told:?}");
    let honoured = &acknowledged[0]["params"]["notifications"];
    assert_eq!(honoured["toolsListChanged"], true);
    // The servers answer in any order.
    let followed: BTreeSet<&str> = honoured["resourceSubscriptions"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let requested = ["crm+file:///2", "web+file:///1", "web+file:///3"].into();
    assert_eq!(followed, requested);
    let updated: BTreeSet<&str> = told
        .iter()
        .filter_map(|it| it["params"]["uri"].as_str())
        .collect();
    assert_eq!(updated, requested, "{told:?}");
}
