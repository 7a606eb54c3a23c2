//! Handshakes of the gate's own: whether the server can serve is known before an agent comes.

use std::collections::HashMap;
use std::io::Write;
use std::net::TcpListener;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::service::guarded::{Request, answer, read};
use crate::service::operators::{get, operators_of, sample, until_healthy, with_admin};
use crate::support::fixtures::fixture;
use crate::support::http::Agent;
use crate::support::json::json;
use crate::support::peer::Peer;
use crate::support::processes::{all_end, eventually, marked};
use crate::support::serving::Serving;
use crate::support::setup::{ALLOW_ALL, Setup};

/// How a server over HTTP takes a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// It needs sessions.
    Sessions,
    /// It knows none.
    Stateless,
    /// It shakes hands only with the tester.
    Picky,
    /// It answers with an error whatever it is asked.
    Neither,
    /// It refuses every request with this status.
    Refusing(&'static str),
    /// It does not answer.
    Silent,
    /// It begins to agree to a session, and does not come to an end.
    Halfway,
}

/// A server over HTTP, and what it was told.
#[derive(Debug, Clone)]
struct Scripted {
    url: String,
    manner: Arc<Mutex<Manner>>,
    told: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    fn start(manner: Manner) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let scripted = Self {
            url: format!("http://{}/mcp", socket.local_addr().unwrap()),
            manner: Arc::new(Mutex::new(manner)),
            told: Arc::default(),
        };
        let server = scripted.clone();
        thread::spawn(move || {
            for stream in socket.incoming() {
                let (mut stream, server) = (stream.unwrap(), server.clone());
                thread::spawn(move || {
                    let Some(request) = read(&mut stream) else {
                        return;
                    };
                    let manner = *server.manner.lock().unwrap();
                    let (told, text) = says(manner, &request);
                    let begins = told.as_deref() == Some("initialize");
                    server.told.lock().unwrap().extend(told);
                    let _ = stream.write_all(text.as_bytes());
                    if manner == Manner::Silent || manner == Manner::Halfway && begins {
                        thread::sleep(Duration::from_mins(2));
                    }
                });
            }
        });
        scripted
    }

    fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }

    fn becomes(&self, manner: Manner) {
        *self.manner.lock().unwrap() = manner;
    }
}

/// What counts of a request, and what answers it.
fn says(manner: Manner, request: &Request) -> (Option<String>, String) {
    if let Manner::Refusing(status) = manner {
        return (None, answer(status, "", "{}"));
    }
    match request.method.as_str() {
        "GET" => return (None, answer("405 Method Not Allowed", "", "{}")),
        "DELETE" => return (Some("DELETE".to_owned()), answer("200 OK", "", "{}")),
        _ => {}
    }
    let message = json(&request.body);
    let method = message["method"].as_str().unwrap().to_owned();
    let Some(id) = message.get("id") else {
        return (Some(method), answer("202 Accepted", "", "{}"));
    };
    let session = "Mcp-Session-Id: s1\r\n";
    let is_tester = request.body.contains(r#""name":"tester""#);
    let discovered = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"serverInfo":{"name":"scripted","version":"1"},"ttlMs":0,"cacheScope":"private"}"#;
    let initialized = r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"scripted","version":"1"}}"#;
    let result = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    let text = match (manner, method.as_str()) {
        (Manner::Silent, _) => String::new(),
        (Manner::Halfway, "initialize") => {
            let whole = answer("200 OK", session, &result(initialized));
            let (half, _) = whole.split_at(whole.len() - 10);
            half.to_owned()
        }
        (Manner::Stateless, "server/discover") => answer("200 OK", "", &result(discovered)),
        (Manner::Sessions, "initialize") => answer("200 OK", session, &result(initialized)),
        (Manner::Picky, "initialize") if is_tester => {
            answer("200 OK", session, &result(initialized))
        }
        (_, method) => {
            let code = if method == "server/discover" {
                -32_601
            } else {
                -32_603
            };
            let error = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"no"}}}}"#
            );
            answer("200 OK", "", &error)
        }
    };
    (Some(method), text)
}

impl Setup {
    /// Nothing is said to the server, and no process is started, but for agents: for tests that count.
    pub(crate) fn without_trial(mut self) -> Self {
        self.trial = Some(false);
        self
    }
}

fn gate_before(server: &Scripted, limits: &str) -> Serving {
    gate_of(Setup::before(&server.url), limits)
}

fn gate_of(setup: Setup, limits: &str) -> Serving {
    let mut setup = with_admin(setup.policies(ALLOW_ALL).over_http(), "");
    setup.limits = format!("{limits}\n{}", setup.limits);
    Serving::start(setup)
}

fn has_said(gate: &Serving, words: &str) {
    eventually(|| {
        let said = gate.said.lock().unwrap().clone();
        said.contains(words).then_some(()).ok_or(said)
    });
}

fn is(gate: &Serving, status: u16, word: &str) {
    until_healthy(|| get(gate, "/health"), status, word);
}

fn records(gate: &Serving) -> Vec<serde_json::Value> {
    let audit = gate.setup().audit_text();
    audit.lines().map(json).collect()
}

fn terminate(gate: &mut Serving) {
    let told = Command::new("kill")
        .arg(gate.child.id().to_string())
        .status();
    assert!(told.unwrap().success());
    let ended = gate.child.wait().unwrap();
    assert!(ended.success(), "{ended:?}");
}

#[test]
fn a_gate_shakes_hands_with_a_server_over_http_before_an_agent_comes() {
    let check = |manner, expected: &[&str]| {
        let server = Scripted::start(manner);
        let gate = gate_before(&server, "");
        is(&gate, 200, "ok");
        eventually(|| {
            let told = server.told();
            (told == expected).then_some(()).ok_or(format!("{told:?}"))
        });
        // The gate records all of it before it logs it, and it belongs to no session.
        let records = records(&gate);
        let said = records
            .iter()
            .filter(|it| it["reason"]["code"] == "gate_initiated" && it["decision"] == "ALLOW");
        let methods: Vec<_> = said.map(|it| it["method"].as_str().unwrap()).collect();
        let is_message = |told: &&&str| **told != "DELETE";
        let messages: Vec<_> = expected.iter().filter(is_message).copied().collect();
        assert_eq!(methods, messages);
        let sessions = records.iter().filter(|it| it["kind"] == "session_start");
        assert_eq!(sessions.count(), 0);
        let text = get(&gate, "/metrics").body;
        let begun = sample(&text, "mcp_protector_sessions_begun_total");
        assert!(begun < 1.0, "{text}");
    };
    check(Manner::Stateless, &["server/discover"]);
    let session = [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "DELETE",
    ];
    check(Manner::Sessions, &session);
}

#[test]
fn a_server_over_http_that_shakes_no_hands_is_no_health_until_it_does() {
    let server = Scripted::start(Manner::Neither);
    let gate = gate_before(&server, "");
    is(&gate, 503, "upstream_handshake_failed");
    has_said(&gate, "it answers `initialize` with the error -32603");
    server.becomes(Manner::Sessions);
    is(&gate, 200, "ok");
    has_said(&gate, "the server shakes hands");
    let silent = Scripted::start(Manner::Silent);
    let gate = gate_before(&silent, "request_timeout = \"1s\"");
    is(&gate, 503, "upstream_handshake_failed");
    has_said(&gate, "did not answer within 1000 ms");
}

#[test]
fn an_agent_that_shakes_hands_makes_the_gate_ready() {
    let server = Scripted::start(Manner::Picky);
    let gate = gate_before(&server, "");
    is(&gate, 503, "upstream_handshake_failed");
    let agent = Agent::at(&gate.url);
    // What answers that agrees to nothing.
    agent.post(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#);
    assert_eq!(get(&gate, "/health").status, 503);
    let _session = agent.in_session();
    is(&gate, 200, "ok");
}

#[test]
fn a_command_is_tried_and_ended_before_agents_come() {
    let server = || Setup::of([fixture("everything-server")]);
    let gate = gate_of(server(), "max_sessions = 1");
    is(&gate, 200, "ok");
    let servers = || {
        let all = marked(gate.setup().mark());
        all.into_iter()
            .filter(|(_, name)| name.starts_with("everything"))
            .count()
    };
    eventually(|| match servers() {
        0 => Ok(()),
        left => Err(format!("{left} servers run")),
    });
    let own = |gate: &Serving| {
        let records = records(gate);
        let own = records
            .into_iter()
            .filter(|it| it["reason"]["code"] == "gate_initiated");
        own.map(|it| it["method"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    // Records are written beside the work.
    eventually(|| match own(&gate) {
        methods if methods == ["initialize", "notifications/initialized"] => Ok(()),
        methods => Err(format!("{methods:?}")),
    });
    // It has used no session slot.
    let agent = Agent::at(&gate.url).in_session();
    assert!(agent.echo(1, "hello").body.contains("hello"));
    let gate = gate_of(server().without_trial(), "");
    is(&gate, 200, "ok");
    let untried = |records: Vec<serde_json::Value>| {
        let is_of_one = |it: &serde_json::Value| {
            it["event"] == "started" || it["reason"]["code"] == "gate_initiated"
        };
        assert!(!records.iter().any(is_of_one), "{records:?}");
    };
    untried(records(&gate));
}

#[test]
fn an_isolated_server_that_cannot_serve_is_told_at_the_start_and_no_health() {
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("server");
    let setup = Setup::of([fixture("everything-server")]);
    let gate = gate_of(setup.isolated([program.to_str().unwrap()], ""), "");
    has_said(&gate, "`upstream.isolated.command`: `");
    has_said(&gate, "isolated=\"cannot be started\"");
    is(&gate, 503, "upstream_down");
    has_said(&gate, "the server (isolated) does not shake hands");
    std::os::unix::fs::symlink(fixture("everything-server"), &program).unwrap();
    is(&gate, 200, "ok");
    has_said(&gate, "the server (isolated) shakes hands");
}

#[test]
fn a_cold_isolated_server_is_tried_beside_the_one_agent_of_standard_streams() {
    let check = |isolated: &str, status, word: &str| {
        let setup = Setup::of([fixture("everything-server")]);
        let setup = with_admin(setup.policies(ALLOW_ALL), "").isolated([isolated], "");
        let mut agent = Peer::start(setup.gate());
        agent.send(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}}"#);
        assert!(agent.receive().is_some());
        let health = || operators_of(&setup, "/health").request("GET", "");
        until_healthy(health, status, word);
        assert_eq!(agent.end().code, Some(0));
    };
    check(&fixture("everything-server"), 200, "ok");
    check("/bin/false", 503, "upstream_down");
}

#[test]
fn a_command_that_shakes_no_hands_is_no_health_and_the_log_says_why() {
    let check = |command: &[&str], word: &str, why: &str| {
        let limits = "request_timeout = \"2s\"";
        let gate = gate_of(Setup::of(command), limits);
        is(&gate, 503, word);
        has_said(&gate, why);
        // However much it says, its trials are heard to the same end.
        let mut records_of: HashMap<String, usize> = HashMap::new();
        for record in records(&gate) {
            if let Some(session) = record["session_id"].as_str() {
                *records_of.entry(session.to_owned()).or_default() += 1;
            }
        }
        let most = records_of.values().max().copied().unwrap_or_default();
        assert!((1..=110).contains(&most), "{most} records: {command:?}");
    };
    check(
        &["yes"],
        "upstream_handshake_failed",
        "it has said 100 things",
    );
    check(
        &["sleep", "1000"],
        "upstream_handshake_failed",
        "did not answer within 2000 ms",
    );
    check(&["false"], "upstream_down", "it ended (");
    // It says what it hears.
    check(
        &["cat"],
        "upstream_handshake_failed",
        "it answers `initialize` with the error",
    );
}

#[test]
fn a_server_that_refuses_or_fails_is_logged_with_its_status_and_its_origin_and_is_there() {
    let server = Scripted::start(Manner::Refusing("401 Unauthorized"));
    let gate = gate_before(&server, "");
    is(&gate, 503, "upstream_down");
    let origin = server.url.strip_suffix("/mcp").unwrap();
    has_said(&gate, "the server refuses the gate: its status is 401");
    has_said(&gate, &format!("origin={origin} status=401"));
    server.becomes(Manner::Sessions);
    is(&gate, 200, "ok");
    has_said(&gate, "the server accepts the gate again, after");
    server.becomes(Manner::Refusing("500 Internal Server Error"));
    let agent = Agent::at(&gate.url);
    for _ in 0..3 {
        let told = agent.post(
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}}"#,
        );
        assert!(told.body.contains("500"), "{told:?}");
    }
    has_said(&gate, &format!("origin={origin} status=500"));
    let said = gate.said.lock().unwrap().clone();
    assert_eq!(said.matches("status=500").count(), 1, "{said}");
    assert!(!said.contains("be reached"), "{said}");
}

#[test]
fn a_server_that_pings_before_it_agrees_is_answered() {
    let script = r#"
import json, sys
def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        say({"id": "p", "method": "ping"})
        answer = json.loads(sys.stdin.readline())
        assert answer == {"jsonrpc": "2.0", "id": "p", "result": {}}, answer
        say({"id": message["id"], "result": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}})
"#;
    let gate = gate_of(Setup::of(["python3", "-c", script]), "");
    is(&gate, 200, "ok");
    has_said(&gate, "the server shakes hands");
}

#[test]
fn a_gate_that_stops_in_the_middle_of_a_trial_leaves_nothing_behind() {
    // It does not go when its standard input is closed.
    let mut gate = gate_of(Setup::of(["sleep", "1000"]), "");
    let mark = gate.setup().mark().to_owned();
    eventually(|| {
        let all = marked(&mark);
        let runs = all.iter().any(|(_, name)| name == "sleep");
        runs.then_some(()).ok_or(format!("{all:?}"))
    });
    terminate(&mut gate);
    all_end(&mark);
    let asked = |gate: &Serving| {
        let records = records(gate);
        let own = records.iter().filter(|it| it["method"] == "initialize");
        own.map(|it| it["decision"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    // What was asked has an outcome.
    assert_eq!(asked(&gate), ["ALLOW", "ERROR"]);
    let server = Scripted::start(Manner::Halfway);
    let mut gate = gate_before(&server, "");
    eventually(|| {
        let told = server.told();
        let is_asked = told.iter().any(|it| it == "initialize");
        is_asked.then_some(()).ok_or(format!("{told:?}"))
    });
    // Its head is read a moment later.
    thread::sleep(Duration::from_secs(1));
    terminate(&mut gate);
    assert_eq!(server.told(), ["server/discover", "initialize", "DELETE"]);
}
