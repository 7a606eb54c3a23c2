//! What one of several servers does costs the others nothing, and a session moves to the isolated instance
//! of each at its own level.

use std::io::Write as _;
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::processes::support::python;
use crate::service::own_roots::{call, over_http};
use crate::service::several::{agent, tools};
use crate::support::http::Agent;
use crate::support::processes::eventually;
use crate::support::serving::Serving;
use crate::support::setup::Setup;

/// Answers with its name and process; a call makes it die, or write without an end.
const SERVER: &str = r"
import json, os, sys, time
name = NAME
tools = [{'name': n, 'inputSchema': {'type': 'object'}} for n in ('who', 'pid', 'internal', 'confidential', 'secret', 'die', 'babble', 'long')]
def say(m): print(json.dumps({'jsonrpc': '2.0', **m}), flush=True)
for line in sys.stdin:
    m = json.loads(line)
    if 'id' not in m: continue
    method, p = m['method'], m.get('params', {})
    if method == 'initialize': r = {'protocolVersion': p['protocolVersion'], 'capabilities': {'tools': {}, 'logging': {}}, 'serverInfo': {'name': name, 'version': '1'}}
    elif method == 'tools/list': r = {'tools': tools}
    elif method == 'tools/call':
        if p['name'] == 'die': os._exit(1)
        while p['name'] == 'babble': time.sleep(0.005); say({'method': 'notifications/message', 'params': {'level': 'info', 'data': 'x' * 1000}})
        while p['name'] == 'long': sys.stdout.write('x' * 65536)
        r = {'content': [{'type': 'text', 'text': str(os.getpid()) if p['name'] == 'pid' else name}]}
    else: r = {}
    say({'id': m['id'], 'result': r})
";

const LABELS: &str = r#"
[default]
permission = "read"
[tools."crm/internal"]
permission  = "read"
sensitivity = "internal"
[tools."mail/confidential"]
permission  = "read"
sensitivity = "confidential"
[tools."web/secret"]
permission  = "read"
sensitivity = "secret"
"#;

fn server(name: &str) -> Vec<String> {
    python(&SERVER.replace("NAME", &format!("{name:?}")))
}

/// A gate before the servers with these keys, with these lines of each.
fn before(keys: [&'static str; 3], lines: impl Fn(&str) -> String) -> Serving {
    let [first, others @ ..] = keys;
    let policies = "@id(\"all\") permit (principal, action, resource);";
    let setup = Setup::of(server(first)).policies(policies).labels(LABELS);
    let mut setup = over_http(setup);
    setup.key = Some(first);
    setup.limits = "request_timeout = \"10m\"\nmax_request_timeout = \"10m\"\n".to_owned();
    let others = others.map(|key| format!("[servers.{key}]\ncommand = {:?}\n", server(key)));
    setup.more = others.concat() + &keys.map(lines).concat();
    Serving::start(setup)
}

fn alone(keys: [&'static str; 3]) -> Serving {
    before(keys, |_| String::new())
}

fn who(agent: &Agent) -> String {
    call(agent, "who", &json!({}))
}

/// What one server does is nothing to agents of this one: those that have a session, and those that begin one.
fn check_serves(gate: &Serving, agent_of_it: &Agent, key: &str) {
    for _ in 0..50 {
        assert_eq!(who(agent_of_it), key);
    }
    assert!(tools(agent_of_it).contains(&"who".to_owned()));
    assert_eq!(who(&agent(gate, "alice", key)), key);
}

fn signal(process: &str, signal: Signal) {
    let pid = Pid::from_raw(process.parse().unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

fn call_of(tool: &str) -> String {
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": tool, "arguments": {}},
    });
    call.to_string()
}

/// Waits until the gate has sent a call of this tool to a server.
fn until_sent(gate: &Serving, tool: &str) {
    eventually(|| {
        let records = gate.setup().audit_text();
        let is_sent = |line: &str| {
            let record: Value = line.parse().unwrap();
            record["kind"] == "tool_call"
                && record["decision"] == "ALLOW"
                && record["target"] == tool
        };
        records.lines().any(is_sent).then_some(()).ok_or(records)
    });
}

#[test]
fn a_server_that_stands_still_keeps_no_agent_from_another() {
    let gate = alone(["crm", "mail", "web"]);
    let (crm, mail) = (agent(&gate, "bob", "crm"), agent(&gate, "bob", "mail"));
    let process = call(&mail, "pid", &json!({}));
    signal(&process, Signal::STOP);
    let asking = thread::spawn(move || mail.post(&call_of("who")));
    until_sent(&gate, "who");
    check_serves(&gate, &crm, "crm");
    check_serves(&gate, &agent(&gate, "bob", "web"), "web");
    assert!(!asking.is_finished());
    signal(&process, Signal::CONT);
    // In a stream by now.
    let answer = asking.join().unwrap();
    assert!(answer.body.contains(r#""text":"mail""#), "{answer:?}");
}

#[test]
fn a_server_that_says_something_for_ever_or_dies_leaves_the_others_alone() {
    let gate = alone(["crm", "mail", "web"]);
    let crm = agent(&gate, "bob", "crm");
    assert_eq!(who(&crm), "crm");
    let mut waiting = Vec::new();
    for (key, tool) in [("mail", "die"), ("mail", "babble"), ("web", "long")] {
        let other = agent(&gate, "bob", key);
        let ask = call_of(tool);
        let mut stream = other.begin("POST", ask.len());
        stream.write_all(ask.as_bytes()).unwrap();
        until_sent(&gate, tool);
        check_serves(&gate, &crm, "crm");
        waiting.push(stream);
    }
    // Agents of these servers, too, unless it is their own session.
    for key in ["mail", "web"] {
        assert_eq!(who(&agent(&gate, "alice", key)), key);
    }
}

#[test]
fn a_session_moves_to_the_isolated_instance_of_each_server_at_its_own_level() {
    let levels = [
        ("crm", "internal"),
        ("mail", "confidential"),
        ("web", "secret"),
    ];
    let gate = before(levels.map(|(key, _)| key), |key| {
        let (_, level) = levels.iter().find(|(it, _)| *it == key).unwrap();
        format!(
            "[servers.{key}.isolated]\nmin_sensitivity = {level:?}\ncommand = {:?}\n",
            server(&format!("{key} isolated"))
        )
    });
    let agents = levels.map(|(key, _)| agent(&gate, "bob", key));
    let other = agent(&gate, "alice", "crm");
    let all = || agents.each_ref().map(who);
    assert_eq!(all(), ["crm", "mail", "web"]);
    for (moved, (_, tool)) in levels.iter().enumerate() {
        call(&agents[moved], tool, &json!({}));
        let expected: Vec<String> = levels
            .iter()
            .enumerate()
            .map(|(at, (key, _))| {
                let isolated = if at <= moved { " isolated" } else { "" };
                format!("{key}{isolated}")
            })
            .collect();
        assert_eq!(all(), *expected, "{tool}");
    }
    // What begins now, too; other principals are where they were.
    assert_eq!(who(&agent(&gate, "bob", "mail")), "mail isolated");
    assert_eq!(who(&other), "crm");
}
