//! The servers behind a gate that many agents reach.

use std::fs;
use std::process::Command;
use std::thread;

use crate::service::operators::{free_port, get, sample, with_admin};
use crate::support::fixtures::fixture;
use crate::support::http::Agent;
use crate::support::json::json;
use crate::support::processes::{all_end, eventually, marked};
use crate::support::serving::Serving;
use crate::support::setup::{ALLOW_ALL, Setup};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}}"#;

#[test]
fn each_session_has_a_server_of_its_own_that_ends_with_it() {
    let log = tempfile::tempdir().unwrap();
    let log = log.path().join("received");
    let setup = Setup::of([fixture("everything-server")]).env("FIXTURE_LOG", log.to_str().unwrap());
    let gate = Serving::start(setup.policies(ALLOW_ALL).over_http());
    let mark = gate.setup().mark().to_owned();
    let servers = || {
        let all = marked(&mark);
        all.iter()
            .filter(|(_, name)| name.starts_with("everything"))
            .count()
    };
    let until = |count: usize| {
        eventually(|| match servers() {
            running if running == count => Ok(()),
            running => Err(format!(
                "{running} servers run, not {count}: {:?}",
                marked(&mark)
            )),
        });
    };
    let first = Agent::at(&gate.url).in_session();
    let second = Agent::at(&gate.url).in_session();
    until(2);
    let ended = first.request("DELETE", "");
    assert!((200..300).contains(&ended.status), "{ended:?}");
    until(1);
    assert_eq!(first.echo(1, "too late").status, 404);
    assert!(second.echo(1, "still here").body.contains("still here"));
    drop(gate);
    all_end(&mark);
}

#[test]
fn a_session_at_a_server_over_http_ends_with_the_agents() {
    let server = Setup::of([fixture("everything-server")])
        .policies(ALLOW_ALL)
        .over_http();
    let server = Serving::start(server);
    let gate = Setup::before(&server.url).policies(ALLOW_ALL).over_http();
    let gate = Serving::start(gate.without_trial());
    let ended = |times: usize| {
        eventually(|| {
            let said = server.said.lock().unwrap().clone();
            let ended = said.matches("a session ended").count();
            (ended == times).then_some(()).ok_or(said)
        });
    };
    let agent = Agent::at(&gate.url).in_session();
    assert!(agent.echo(1, "here").body.contains("here"));
    let told = agent.request("DELETE", "");
    assert!((200..300).contains(&told.status), "{told:?}");
    ended(1);
    let agent = Agent::at(&gate.url).in_session();
    assert!(agent.echo(1, "here").body.contains("here"));
    // As an operator stops it.
    let pid = rustix::process::Pid::from_child(&gate.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    ended(2);
}

#[test]
fn a_server_over_http_hears_that_nobody_waits_and_that_the_session_ends() {
    let server = Setup::of([fixture("everything-server")])
        .policies(ALLOW_ALL)
        .over_http();
    let log = server.path("received");
    let server = Serving::start(server.env("FIXTURE_LOG", log.to_str().unwrap()));
    let received = || -> Vec<serde_json::Value> {
        let received = fs::read_to_string(&log).unwrap_or_default();
        received.lines().map(json).collect()
    };
    let said = |method: &str| {
        let said = received().into_iter();
        said.filter(|it| it["method"] == method).collect::<Vec<_>>()
    };
    let with = |ends: fn(&Serving, &Agent)| {
        let sessions = || {
            server
                .said
                .lock()
                .unwrap()
                .matches("a session ended")
                .count()
        };
        let before = (said("tools/call").len(), sessions());
        let mut gate = Setup::before(&server.url).policies(ALLOW_ALL).over_http();
        "shutdown_grace_period = \"300ms\"".clone_into(&mut gate.limits);
        let gate = Serving::start(gate.without_trial());
        let agent = Agent::at(&gate.url).in_session();
        // More than are queued for the server at once.
        let waiting: Vec<_> = (0..12)
            .map(|id| {
                let agent = agent.clone();
                thread::spawn(move || {
                    agent.post(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"slow","arguments":{{"steps":1,"delay_ms":600000}}}}}}"#))
                })
            })
            .collect();
        eventually(|| match said("tools/call").len() - before.0 {
            12 => Ok(()),
            calls => Err(format!("{calls} calls")),
        });
        ends(&gate, &agent);
        eventually(|| match sessions() - before.1 {
            0 => Err("the session at the server has not ended".to_owned()),
            _ => Ok(()),
        });
        for agent in waiting {
            let _ = agent.join();
        }
        let ids = |of: &[serde_json::Value], at: &str| {
            let mut ids: Vec<i64> = of
                .iter()
                .map(|it| it.pointer(at).unwrap().as_i64().unwrap())
                .collect();
            ids.sort_unstable();
            ids
        };
        // Of this session, whose server has an id of its own for each.
        let calls = ids(&said("tools/call")[before.0..], "/id");
        let cancelled = said("notifications/cancelled");
        let cancelled = ids(&cancelled[before.0..], "/params/requestId");
        assert_eq!(calls, cancelled);
        // The gate said so, before it ended the session.
        let audit = server.setup().audit_text();
        let heard = audit.lines().map(json).filter(|it| {
            it["method"] == "notifications/cancelled" && it["reason"]["code"] != "gate_initiated"
        });
        assert_eq!(heard.count(), before.0 + 12);
    };
    with(|gate, _| {
        let pid = rustix::process::Pid::from_child(&gate.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    });
    with(|_, agent| {
        let told = agent.request("DELETE", "");
        assert!((200..300).contains(&told.status), "{told:?}");
    });
}

#[test]
fn what_is_refused_before_the_server_is_needed_starts_none() {
    let policy = r#"
        @id("all") permit (principal, action, resource);
        @id("not-bob") forbid (principal == Mcp::Agent::"bob", action, resource);
    "#;
    let setup = Setup::of([fixture("everything-server")]).policies(policy);
    let mut setup = setup.over_http();
    setup.listen.push_str(
        "\nauth = { type = \"bearer\", tokens = { alice = \"alice-0123456789-0123456789\", bob = \"bob-0123456789-0123456789-\" } }",
    );
    let gate = Serving::start(setup.without_trial());
    let with = |token: &str| Agent::at(&gate.url).with(format!("Authorization: Bearer {token}"));
    let (alice, bob) = ("alice-0123456789-0123456789", "bob-0123456789-0123456789-");
    let revised = |revision: &str, token| {
        let agent = with(token).with(format!("MCP-Protocol-Version: {revision}"));
        let agent = agent.with("Mcp-Method: tools/list");
        agent.post(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{revision}","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        ))
    };
    let refused = [
        with(bob).post(INITIALIZE),
        with(alice).post(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#),
        with(alice).post(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","id":0}"#),
        revised("2026-07-28", bob),
        revised("2031-01-01", alice),
    ];
    for answer in refused {
        assert!(answer.body.contains(r#""error""#), "{answer:?}");
    }
    let started = || {
        let audit = gate.setup().audit_text();
        let records = audit.lines().map(json);
        records
            .filter(|record| record["event"] == "started")
            .count()
    };
    let mark = gate.setup().mark();
    let servers = marked(mark);
    let is_server = |(_, name): &(u32, String)| name.starts_with("everything");
    assert_eq!(
        (servers.iter().filter(|it| is_server(it)).count(), started()),
        (0, 0)
    );
    // The first who is not refused has one.
    let alice = with(alice).in_session();
    assert!(alice.echo(1, "it is there").body.contains("it is there"));
    assert_eq!(started(), 1);
}

#[test]
fn a_gate_that_stops_before_its_agents_are_answered_answers_them_and_records_each_end() {
    let mut setup = Setup::of([fixture("everything-server")])
        .policies(ALLOW_ALL)
        .over_http();
    "shutdown_grace_period = \"300ms\"".clone_into(&mut setup.limits);
    let mut gate = Serving::start(setup);
    let file = gate.setup().audit_file();
    let records = move |kind: &str| {
        let audit = fs::read_to_string(&file).unwrap();
        let of_kind = |line: &&str| json(line)["kind"] == kind;
        // The last one may be half written.
        let whole = audit.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().filter(of_kind).count()
    };
    let waiting: Vec<_> = (0..3)
        .map(|_| {
            let agent = Agent::at(&gate.url).in_session();
            thread::spawn(move || {
                agent.post(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{"steps":1,"delay_ms":60000}}}"#)
            })
        })
        .collect();
    eventually(|| match records("tool_call") {
        3 => Ok(()),
        calls => Err(format!("{calls} calls")),
    });
    let stopped = Command::new("kill")
        .arg(gate.child.id().to_string())
        .status();
    assert!(stopped.unwrap().success());
    eventually(|| match gate.child.try_wait().unwrap() {
        Some(_) => Ok(()),
        None => Err("the gate still runs".to_owned()),
    });
    assert_eq!((records("session_start"), records("session_end")), (3, 3));
    assert_eq!(records("tool_result"), 3);
    // What the audit calls answered reached its agent.
    for agent in waiting {
        let answer = agent.join().expect("an agent was cut off");
        assert!(answer.body.contains(r#""error""#), "{answer:?}");
        assert!(!answer.body.contains(r#""result""#), "{answer:?}");
    }
}

#[test]
fn a_server_that_cannot_be_reached_is_told_and_asked_again_when_it_is_there() {
    let last = Setup::of([fixture("everything-server")])
        .policies(ALLOW_ALL)
        .over_http();
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let url = format!("http://127.0.0.1:{port}/mcp");
    let gate = Serving::start(Setup::before(&url).policies(ALLOW_ALL).over_http());
    let agent = || Agent::at(&gate.url);
    let answer = agent().post(INITIALIZE);
    assert!(answer.body.contains("cannot be reached"), "{answer:?}");
    let mut last = last;
    last.listen = format!("transport = \"http\"\nport = {port}");
    let _last = Serving::start(last);
    let answer = agent().in_session().echo(1, "now it is there");
    assert!(answer.body.contains("now it is there"), "{answer:?}");
}

#[test]
fn a_server_over_http_that_is_down_is_told_once_and_is_back_when_it_has_answered() {
    let port = free_port();
    let start = || {
        let mut last = Setup::of([fixture("everything-server")])
            .policies(ALLOW_ALL)
            .without_trial();
        last.listen = format!("transport = \"http\"\nport = {port}");
        Serving::start(last)
    };
    let last = start();
    let setup = Setup::before(&format!("http://127.0.0.1:{port}/mcp"));
    let setup = setup.policies(ALLOW_ALL).without_trial().over_http();
    let gate = Serving::start(with_admin(setup, ""));
    let agent = Agent::at(&gate.url).in_session();
    assert!(agent.echo(1, "it is there").body.contains("it is there"));
    let records = |wanted: &str| {
        let file = gate.setup().audit_text();
        file.matches(wanted).count()
    };
    drop(last);
    let answer = agent.echo(2, "it is not there");
    assert!(answer.body.contains("cannot be reached"), "{answer:?}");
    // It is tried again and again.
    eventually(|| match records("gate_initiated") {
        tries @ ..3 => Err(format!("{tries} tries")),
        _ => Ok(()),
    });
    let _last = start();
    eventually(|| {
        let answer = agent.echo(3, "it is there again");
        let passed = answer.body.contains("it is there again");
        passed.then_some(()).ok_or(answer.body)
    });
    for event in ["down", "restarted"] {
        assert_eq!(records(&format!(r#""event":"{event}""#)), 1, "{event}");
        let counted = format!(r#"mcp_protector_upstream_state_changes_total{{event="{event}"}}"#);
        let counted = sample(&get(&gate, "/metrics").body, &counted);
        assert!((counted - 1.0).abs() < f64::EPSILON, "{event}: {counted}");
    }
    let said = gate.said.lock().unwrap().clone();
    for (line, times) in [
        ("the server cannot be reached", 1),
        (&*format!("origin=http://127.0.0.1:{port}"), 2),
        ("the server can be reached again, after", 1),
        ("the server ended", 0),
        ("the server runs again", 0),
    ] {
        assert_eq!(said.matches(line).count(), times, "{line}: {said}");
    }
}

#[test]
fn a_server_that_pings_an_agent_without_an_open_stream_is_answered_by_the_gate() {
    let script = r#"
import json, sys
def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        say({"id": message["id"], "result": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}})
    elif message.get("method") == "notifications/initialized":
        say({"id": "p", "method": "ping"})
    elif message.get("id") == "p":
        answer = message
    elif message.get("method") == "ping":
        say({"id": message["id"], "error": {"code": 1, "message": json.dumps(answer)}})
"#;
    let setup = Setup::of(["python3", "-c", script]).policies(ALLOW_ALL);
    let gate = Serving::start(setup.over_http());
    let agent = Agent::at(&gate.url).in_session();
    eventually(|| {
        let audit = gate.setup().audit_text();
        let mut records = audit.lines().map(json);
        let own =
            records.find(|it| it["method"] == "ping" && it["reason"]["code"] == "gate_initiated");
        own.map(|_| ()).ok_or(audit)
    });
    let answer = agent.post(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let told = json(&answer.body)["error"]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        json(&told),
        json(r#"{"jsonrpc":"2.0","id":"p","result":{}}"#)
    );
}
