//! Servers that are added, changed and removed while the gate runs.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::processes::support::python;
use crate::service::own_roots::over_http;
use crate::service::several::{agent, tools};
use crate::support::http::Agent;
use crate::support::processes::{eventually, marked};
use crate::support::serving::Serving;
use crate::support::setup::Setup;

/// Says who it is. A call of `wait` has no answer.
const SERVER: &str = r"
import json, sys
name = NAME
tools = [{'name': n, 'inputSchema': {'type': 'object'}} for n in ('read', 'wait')]
for line in sys.stdin:
    m = json.loads(line)
    if 'id' not in m: continue
    method, p = m['method'], m.get('params', {})
    if method == 'initialize': r = {'protocolVersion': p['protocolVersion'], 'capabilities': {'tools': {'listChanged': True}}, 'serverInfo': {'name': name, 'version': '1'}}
    elif method == 'tools/list': r = {'tools': tools}
    elif method == 'tools/call' and p['name'] == 'wait': continue
    elif method == 'tools/call': r = {'content': [{'type': 'text', 'text': name + ' ' + p['name']}]}
    else: r = {}
    print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': r}), flush=True)
";

pub(crate) const ALL: &str = r#"@id("all") permit (principal, action, resource);"#;

pub(crate) fn server(name: &str) -> Vec<String> {
    python(&SERVER.replace("NAME", &format!("{name:?}")))
}

fn table(key: &str, says: &str) -> String {
    format!("[servers.{key}]\ncommand = {:?}\n# end\n", server(says))
}

/// A gate before `crm`, in its configuration, and `mail`, in a file of its own.
fn gate(unified: &str) -> Serving {
    let mut setup = over_http(Setup::of(server("crm")).policies(ALL));
    setup.key = Some("crm");
    setup.top = "servers_dir = 'servers.d'\n".to_owned();
    setup.more = format!("[flow]\nflow_in = 'off'\n{unified}");
    fs::create_dir(setup.path("servers.d")).unwrap();
    put(&setup, "mail", &table("mail", "mail"));
    Serving::start(setup)
}

/// Writes the file of a server, as a program does: whole.
fn put(setup: &Setup, key: &str, text: &str) {
    let file = setup.path(&format!("servers.d/{key}.toml"));
    let half = file.with_extension("half");
    fs::write(&half, text).unwrap();
    fs::rename(half, file).unwrap();
}

fn remove(gate: &Serving, key: &str) {
    fs::remove_file(gate.setup().path(&format!("servers.d/{key}.toml"))).unwrap();
}

/// The answer to a call over HTTP, or the status of a refusal.
fn call(agent: &Agent, tool: &str) -> String {
    let params = json!({"name": tool, "arguments": {}});
    let request = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
    let answer = agent.post(&request.to_string());
    if answer.status != 200 {
        return answer.status.to_string();
    }
    let message = answer.message();
    let text = &message["result"]["content"][0]["text"];
    let text = text.as_str().or(message["error"]["message"].as_str());
    text.unwrap_or_default().to_owned()
}

/// The answer to a call in a session of its own at the endpoint of a server, or the status of a refusal.
pub(crate) fn call_anew(gate: &Serving, key: &str, tool: &str) -> String {
    let (before, _) = gate.url.rsplit_once('/').unwrap();
    let agent = Agent::at(&format!("{before}/{key}"));
    let agent = agent.with("Authorization: Bearer bob-0123456789-0123456789-");
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
    }});
    let begun = agent.post(&initialize.to_string());
    let Some(session) = begun.header("mcp-session-id") else {
        return begun.status.to_string();
    };
    let agent = agent.with(format!("Mcp-Session-Id: {session}"));
    agent.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let answer = call(&agent, tool);
    agent.request("DELETE", "");
    answer
}

pub(crate) fn becomes(expected: &str, mut now: impl FnMut() -> String) {
    eventually(|| match now() {
        it if it == expected => Ok(()),
        other => Err(format!("{other}, not {expected}")),
    });
}

/// Waits for a record of a server with this reason.
fn recorded(gate: &Serving, server: &str, code: &str) {
    eventually(|| {
        let text = gate.setup().audit_text();
        let mut records = text.lines().map(|line| line.parse::<Value>().unwrap());
        let is_there = records.any(|it| it["upstream"] == server && it["reason"]["code"] == code);
        is_there.then_some(()).ok_or(text)
    });
}

#[test]
fn a_server_that_is_added_is_served_and_the_sessions_of_others_go_on() {
    let gate = gate("");
    let (crm, mail) = (agent(&gate, "bob", "crm"), agent(&gate, "bob", "mail"));
    assert_eq!(call(&mail, "read"), "mail read");
    assert_eq!(call_anew(&gate, "web", "read"), "404");
    put(gate.setup(), "web", &table("web", "web"));
    becomes("web read", || call_anew(&gate, "web", "read"));
    let web = agent(&gate, "bob", "web");
    assert_eq!(call(&web, "read"), "web read");
    assert_eq!(call(&mail, "read"), "mail read");
    assert_eq!(call(&crm, "read"), "crm read");
    recorded(&gate, "web", "server_added");
}

#[test]
fn a_server_that_is_removed_answers_what_waits_and_leaves_no_process() {
    let gate = gate("");
    let (crm, mail) = (agent(&gate, "bob", "crm"), agent(&gate, "bob", "mail"));
    assert_eq!(call(&crm, "read"), "crm read");
    let waiting = thread::scope(|scope| {
        let waiting = scope.spawn(|| call(&mail, "wait"));
        eventually(|| {
            let audit = gate.setup().audit_text();
            audit
                .contains(r#""target":"wait""#)
                .then_some(())
                .ok_or(audit)
        });
        remove(&gate, "mail");
        waiting.join().unwrap()
    });
    assert!(waiting.contains("the server was removed"), "{waiting}");
    becomes("404", || call_anew(&gate, "mail", "read"));
    assert_eq!(call(&mail, "read"), "404");
    recorded(&gate, "mail", "server_removed");
    eventually(|| {
        let left = marked(gate.setup().mark());
        let servers = left.iter().filter(|(_, name)| name.starts_with("python"));
        let servers = servers.count();
        // That of `crm`.
        (servers == 1).then_some(()).ok_or(format!("{left:?}"))
    });
    assert_eq!(call(&crm, "read"), "crm read");
}

#[test]
fn a_server_that_is_changed_takes_the_place_of_the_one_before() {
    let gate = gate("");
    let (crm, mail) = (agent(&gate, "bob", "crm"), agent(&gate, "bob", "mail"));
    assert_eq!(call(&mail, "read"), "mail read");
    put(gate.setup(), "mail", &table("mail", "other mail"));
    becomes("other mail read", || call_anew(&gate, "mail", "read"));
    // A session belongs to the server that it was begun with.
    assert_eq!(call(&mail, "read"), "404");
    assert_eq!(call(&crm, "read"), "crm read");
    let disabled = table("mail", "mail").replace("# end", "enabled = false\n# end");
    put(gate.setup(), "mail", &disabled);
    becomes("404", || call_anew(&gate, "mail", "read"));
    put(gate.setup(), "mail", &table("mail", "mail"));
    becomes("mail read", || call_anew(&gate, "mail", "read"));
}

#[test]
fn a_file_that_is_wrong_or_half_written_changes_nothing_and_is_named_with_its_line() {
    let gate = gate("");
    let mail = agent(&gate, "bob", "mail");
    let whole = table("mail", "mail").replace("# end", "required = true\n# end");
    put(gate.setup(), "mail", &whole);
    // With another configuration it is another server.
    becomes("404", || call(&mail, "read"));
    let mail = agent(&gate, "bob", "mail");
    let half = whole.replace("required = true\n# end\n", "");
    for (text, told) in [
        // Nothing shows that it ends here.
        (
            &*half,
            "servers.mail.required: is in force and is not there",
        ),
        ("[servers.mail]\ncommand = [", "mail.toml:2:"),
        ("[servers.mail]\ncomand = ['x']\n# end\n", "mail.toml:2:1]"),
        (
            "[servers.web]\ncommand = ['x']\n# end\n",
            "has no table `[servers.mail]`",
        ),
        (
            "[servers.mail]\ncommand = ['x']\n[policy]\nallow = []\n# end\n",
            "mail.toml:3:",
        ),
    ] {
        put(gate.setup(), "mail", text);
        eventually(|| {
            let said = gate.said.lock().unwrap().clone();
            said.contains(told).then_some(()).ok_or(said)
        });
        assert_eq!(call(&mail, "read"), "mail read", "{told}");
    }
    put(gate.setup(), "crm", &table("crm", "another"));
    eventually(|| {
        let said = gate.said.lock().unwrap().clone();
        let told = "has the server `crm`, and so has";
        said.contains(told).then_some(()).ok_or(said)
    });
    assert_eq!(call(&mail, "read"), "mail read");
}

#[test]
fn a_server_with_policies_of_its_own_goes_without_a_confirmation() {
    let gate = gate("");
    let own = gate.setup().path("own");
    fs::create_dir(&own).unwrap();
    let deny = r#"@id("deny") forbid (principal, action in Mcp::Action::"call_tool", resource == Mcp::Tool::"wait");"#;
    fs::write(own.join("deny.cedar"), deny).unwrap();
    let table = table("web", "web").replace("# end", &format!("policy = {own:?}\n# end"));
    put(gate.setup(), "web", &table);
    becomes("web read", || call_anew(&gate, "web", "read"));
    assert_eq!(call_anew(&gate, "web", "wait"), "Unknown tool: wait");
    remove(&gate, "web");
    becomes("404", || call_anew(&gate, "web", "read"));
    assert_eq!(call_anew(&gate, "crm", "read"), "crm read");
}

#[test]
fn an_agent_before_all_servers_hears_of_those_that_come_and_go() {
    let gate = gate("[unified]\n");
    let (before, _) = gate.url.rsplit_once('/').unwrap();
    let all = crate::service::several::agent_at(before, "bob");
    let names = |expected: &[&str]| {
        let expected = expected.join(" ");
        becomes(&expected, || tools(&all).join(" "));
    };
    names(&["crm__read", "crm__wait", "mail__read", "mail__wait"]);
    put(gate.setup(), "web", &table("web", "web"));
    names(&[
        "crm__read",
        "crm__wait",
        "mail__read",
        "mail__wait",
        "web__read",
        "web__wait",
    ]);
    assert_eq!(call(&all, "web__read"), "web read");
    remove(&gate, "mail");
    names(&["crm__read", "crm__wait", "web__read", "web__wait"]);
    assert_eq!(call(&all, "mail__read"), "Unknown tool: mail__read");
    assert_eq!(call(&all, "crm__read"), "crm read");
    // Its place is taken by another.
    put(gate.setup(), "mail", &table("mail", "another"));
    names(&[
        "crm__read",
        "crm__wait",
        "web__read",
        "web__wait",
        "mail__read",
        "mail__wait",
    ]);
    assert_eq!(call(&all, "mail__read"), "another read");
}

#[test]
fn under_load_no_answer_is_of_another_server_while_servers_come_and_go() {
    let gate = gate("");
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let steady = scope.spawn(|| {
            let crm = agent(&gate, "bob", "crm");
            let mut calls = 0_u32;
            while !is_over.load(Ordering::Relaxed) {
                assert_eq!(call(&crm, "read"), "crm read");
                calls += 1;
            }
            calls
        });
        let unsteady = scope.spawn(|| {
            let (mut right, mut refused) = (0_u32, 0_u32);
            while !is_over.load(Ordering::Relaxed) {
                match &*call_anew(&gate, "mail", "read") {
                    "one read" | "two read" | "mail read" => right += 1,
                    "crm read" => panic!("the answer of another server"),
                    _ => refused += 1,
                }
            }
            (right, refused)
        });
        for round in 0..4 {
            let says = ["one", "two"][round % 2];
            put(gate.setup(), "mail", &table("mail", says));
            becomes(&format!("{says} read"), || call_anew(&gate, "mail", "read"));
            remove(&gate, "mail");
            becomes("404", || call_anew(&gate, "mail", "read"));
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(steady.join().unwrap() > 10);
        let (right, refused) = unsteady.join().unwrap();
        assert!(right > 0 && refused > 0, "{right} {refused}");
    });
}
