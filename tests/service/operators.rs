//! What operators see of a gate: its health and its numbers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::service::guarded::answer;
use crate::support::fixtures::fixture;
use crate::support::http::{Agent, Answer};
use crate::support::processes::eventually;
use crate::support::serving::Serving;
use crate::support::setup::{ALLOW_ALL, GATE, Setup};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}}"#;

const TOKEN: &str = "operators-0123456789";

/// With a listener of its own for operators, and more about it.
pub(crate) fn with_admin(mut setup: Setup, more: &str) -> Setup {
    let port = free_port();
    setup.limits = format!("[admin]\nport = {port}\n{more}");
    setup
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap().port()
}

pub(crate) fn operators_of(setup: &Setup, path: &str) -> Agent {
    let port = setup
        .limits
        .lines()
        .find_map(|line| line.strip_prefix("port = "));
    let port = port.expect("operators are served");
    Agent::at(&format!("http://127.0.0.1:{port}{path}"))
}

pub(crate) fn admin(gate: &Serving, path: &str) -> Agent {
    operators_of(gate.setup(), path)
}

pub(crate) fn get(gate: &Serving, path: &str) -> Answer {
    admin(gate, path).request("GET", "")
}

/// The value of a sample, written out with its labels; zero without one.
pub(crate) fn sample(text: &str, wanted: &str) -> f64 {
    let value = text.lines().find_map(|line| line.strip_prefix(wanted));
    value.map_or(0.0, |value| value.trim().parse().unwrap())
}

pub(crate) fn until_healthy(ask: impl Fn() -> Answer, status: u16, word: &str) {
    eventually(|| {
        let answer = ask();
        let said = (answer.status, answer.body.as_str());
        if said == (status, &*format!(r#"{{"status":"{word}"}}"#)) {
            Ok(())
        } else {
            Err(format!("{said:?} instead of {word}"))
        }
    });
}

#[test]
fn a_scrape_tells_what_a_gate_has_done() {
    let policy = r#"
        @id("open") permit (principal, action, resource) unless { resource == Mcp::Tool::"add" };
    "#;
    let setup = Setup::of([fixture("everything-server")]).without_trial();
    let gate = Serving::start(with_admin(setup.policies(policy).over_http(), ""));
    let agent = Agent::at(&gate.url).in_session();
    agent.echo(1, "one");
    agent.echo(2, "two");
    agent.post(r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}}"#);
    agent.post(r#"{"jsonrpc":"2.0","id":4,"id":4,"method":"ping"}"#);
    Agent::at(&gate.url).with("Host: evil.example").echo(5, "x");
    let answer = get(&gate, "/metrics");
    assert_eq!(answer.status, 200, "{answer:?}");
    let text = answer.body;
    assert!(text.ends_with("# EOF\n"), "{text}");
    let expected = [
        (
            r#"mcp_protector_decisions_total{kind="tool_call",decision="ALLOW",stage="forward",direction="agent_to_upstream"}"#,
            2.0,
        ),
        (
            r#"mcp_protector_decisions_total{kind="tool_call",decision="BLOCK",stage="decide",direction="agent_to_upstream"}"#,
            1.0,
        ),
        (
            r#"mcp_protector_decisions_total{kind="tool_result",decision="ALLOW",stage="deliver",direction="upstream_to_agent"}"#,
            2.0,
        ),
        ("mcp_protector_call_seconds_count", 2.0),
        (
            r#"mcp_protector_malformed_messages_total{direction="agent_to_upstream",code="duplicate_key"}"#,
            1.0,
        ),
        (
            r#"mcp_protector_http_rejected_total{listener="agents",status="403",code="host"}"#,
            1.0,
        ),
        (r#"mcp_protector_sessions{upstream="up"}"#, 1.0),
        ("mcp_protector_sessions_begun_total", 1.0),
        (r#"mcp_protector_requests_in_flight{asker="agent"}"#, 0.0),
        (
            r#"mcp_protector_upstream_state_changes_total{event="started"}"#,
            1.0,
        ),
        ("mcp_protector_ready", 1.0),
        (
            r#"mcp_protector_policy_reloads_total{outcome="rejected"}"#,
            0.0,
        ),
        (r#"mcp_protector_health{status="ok"}"#, 1.0),
        ("mcp_protector_audit_working", 1.0),
        (r#"mcp_protector_audit_records_total{outcome="lost"}"#, 0.0),
    ];
    for (wanted, value) in expected {
        let got = sample(&text, wanted);
        assert!(
            (got - value).abs() < f64::EPSILON,
            "{wanted}: {got}\n{text}"
        );
    }
    let own = r#"mcp_protector_decision_seconds_count{kind="tool_call"}"#;
    assert!((sample(&text, own) - 3.0).abs() < f64::EPSILON, "{text}");
    // Names that peers choose are nowhere.
    for name in ["echo", "\"add\"", "tester", "evil"] {
        assert!(!text.contains(name), "{name}: {text}");
    }
}

#[test]
fn numbers_are_for_those_who_show_the_token_and_health_is_for_everybody() {
    let setup = Setup::of([fixture("everything-server")]);
    let file = setup.path("token");
    std::fs::write(&file, format!("{TOKEN}\n")).unwrap();
    let more = format!("token_file = {file:?}");
    let gate = Serving::start(with_admin(setup.policies(ALLOW_ALL).over_http(), &more));
    let metrics = || admin(&gate, "/metrics");
    let check = |agent: Agent, status: u16| {
        let answer = agent.request("GET", "");
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(!answer.body.contains(TOKEN), "{answer:?}");
        assert!(
            status == 200 || !answer.body.contains("mcp_protector"),
            "{answer:?}"
        );
    };
    check(metrics(), 401);
    check(
        metrics().with("Authorization: Bearer operators-0123456780"),
        401,
    );
    check(
        metrics().with(format!("Authorization: Bearer {TOKEN}")),
        200,
    );
    check(metrics().with("Host: metrics.evil.example"), 403);
    until_healthy(|| get(&gate, "/health"), 200, "ok");
    check(admin(&gate, "/health"), 200);
    check(
        admin(&gate, "/health").with("Origin: http://localhost"),
        403,
    );
    check(admin(&gate, "/mcp"), 404);
    let posted = metrics().post("{}");
    assert_eq!(posted.status, 400, "{posted:?}");
    let text = metrics()
        .with(format!("Authorization: Bearer {TOKEN}"))
        .request("GET", "")
        .body;
    let refused =
        r#"mcp_protector_http_rejected_total{listener="admin",status="401",code="token_missing"}"#;
    assert!(sample(&text, refused) >= 1.0, "{text}");
}

#[test]
fn health_says_whether_a_server_over_http_is_there() {
    let port = free_port();
    let url = format!("http://127.0.0.1:{port}/mcp");
    let gate = Setup::before(&url).policies(ALLOW_ALL).over_http();
    let gate = Serving::start(with_admin(gate, ""));
    let both = |status: u16, word: &str| {
        let (main, _) = gate.url.rsplit_once('/').unwrap();
        until_healthy(
            || Agent::at(&format!("{main}/health")).request("GET", ""),
            status,
            word,
        );
        until_healthy(|| get(&gate, "/health"), status, word);
    };
    both(503, "upstream_down");
    let start = || {
        let mut last = Setup::of([fixture("everything-server")]).policies(ALLOW_ALL);
        last.listen = format!("transport = \"http\"\nport = {port}");
        Serving::start(last)
    };
    let last = start();
    // Only the gate itself asks.
    both(200, "ok");
    drop(last);
    let answer = Agent::at(&gate.url).post(
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}}"#,
    );
    assert!(answer.body.contains(r#""error""#), "{answer:?}");
    both(503, "upstream_down");
    let last = start();
    both(200, "ok");
    // It has shaken hands with each of the two.
    let audit = last.setup().audit_text();
    assert!(audit.contains(r#""method":"initialize""#), "{audit}");
}

/// A server that says nothing but a status, to whatever it is asked; where that is empty, it hangs up. With
/// 405 it shakes hands first, if that is asked.
fn saying(status: &Arc<Mutex<&'static str>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let status = Arc::clone(status);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // The head is enough: what follows is closed over.
            let mut head = [0; 4096];
            let _ = stream.read(&mut head);
            let status = *status.lock().unwrap();
            if status.is_empty() {
                continue;
            }
            let head = String::from_utf8_lossy(&head).to_lowercase();
            if status.starts_with("405") && head.contains("mcp-method: server/discover") {
                let body =
                    r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"]}}"#;
                let _ = stream.write_all(answer("200 OK", "", body).as_bytes());
                continue;
            }
            let answer =
                format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    url
}

/// One message, where a handshake would be several, comes to nothing.
fn is_not_answered(gate: &Serving) {
    let agent = Agent::at(&gate.url).with("MCP-Protocol-Version: 2026-07-28");
    let answer = agent.with("Mcp-Method: tools/list").post(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    );
    assert!(answer.body.contains(r#""error""#), "{answer:?}");
}

#[test]
fn one_answer_of_a_busy_server_leaves_a_gate_ready() {
    let status = Arc::new(Mutex::new("405 Method Not Allowed"));
    let gate = Setup::before(&saying(&status)).policies(ALLOW_ALL);
    let gate = Serving::start(with_admin(gate.over_http(), ""));
    until_healthy(|| get(&gate, "/health"), 200, "ok");
    *status.lock().unwrap() = "503 Service Unavailable";
    is_not_answered(&gate);
    let health = get(&gate, "/health");
    assert_eq!(health.status, 200, "{health:?}");
    // It goes on saying so, and the gate has asked.
    until_healthy(|| get(&gate, "/health"), 503, "upstream_down");
    *status.lock().unwrap() = "405 Method Not Allowed";
    until_healthy(|| get(&gate, "/health"), 200, "ok");
}

#[test]
fn one_call_that_the_server_hangs_up_on_leaves_a_gate_ready() {
    let status = Arc::new(Mutex::new("405 Method Not Allowed"));
    let gate = Setup::before(&saying(&status)).policies(ALLOW_ALL);
    let gate = Serving::start(with_admin(gate.over_http(), ""));
    until_healthy(|| get(&gate, "/health"), 200, "ok");
    for not_answered in ["", "401 Unauthorized"] {
        *status.lock().unwrap() = not_answered;
        is_not_answered(&gate);
        *status.lock().unwrap() = "405 Method Not Allowed";
        let health = get(&gate, "/health");
        assert_eq!(health.status, 200, "{not_answered:?}: {health:?}");
    }
}

#[test]
fn a_command_that_cannot_be_started_is_no_health() {
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("server");
    let setup = Setup::of([program.to_str().unwrap()]).policies(ALLOW_ALL);
    let gate = Serving::start(with_admin(setup.over_http(), ""));
    until_healthy(|| get(&gate, "/health"), 503, "upstream_down");
    // It is installed while the gate runs, and does not do what it should.
    let install = |what: &str| {
        let next = place.path().join("next");
        std::os::unix::fs::symlink(what, &next).unwrap();
        std::fs::rename(next, &program).unwrap();
    };
    install("/bin/false");
    eventually(|| {
        let said = gate.said.lock().unwrap().clone();
        let told = said.contains("the server does not shake hands");
        told.then_some(()).ok_or(said)
    });
    until_healthy(|| get(&gate, "/health"), 503, "upstream_down");
    install(&fixture("everything-server"));
    until_healthy(|| get(&gate, "/health"), 200, "ok");
    install("/bin/false");
    Agent::at(&gate.url).post(INITIALIZE);
    until_healthy(|| get(&gate, "/health"), 503, "upstream_down");
}

#[test]
fn who_comes_while_the_command_cannot_be_started_is_told_so() {
    let setup = Setup::of(["/no/such/server"]).policies(ALLOW_ALL);
    let gate = Serving::start(setup.over_http());
    eventually(|| {
        let said = gate.said.lock().unwrap().clone();
        let told = said.contains("was not found; until it can be started");
        told.then_some(()).ok_or(said)
    });
    for _ in 0..3 {
        let answer = Agent::at(&gate.url).post(INITIALIZE);
        // Not 404, after which an agent begins again and again.
        assert_eq!(answer.status, 200, "{answer:?}");
        let told = answer.body.contains(r#""id":0"#) && answer.body.contains(r#""error""#);
        assert!(told, "{answer:?}");
    }
}

#[test]
fn a_gate_asks_for_open_files_and_its_servers_have_what_it_was_started_with() {
    let script = r#"
import json, resource, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        limit = str(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": limit, "version": "1"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;
    let check = |limits: &str, expected: &str| {
        let setup = Setup::of(["python3", "-c", script]).policies(ALLOW_ALL);
        let setup = with_admin(setup.over_http(), "");
        let gate = setup.gate();
        let mut limited = Command::new("sh");
        limited
            .args(["-c", &format!(r#"ulimit {limits}; exec "$0" "$@""#)])
            .arg(gate.get_program())
            .args(gate.get_args());
        let gate = Serving::of(setup, limited);
        let answer = Agent::at(&gate.url).post(INITIALIZE);
        assert!(answer.body.contains(r#""name":"200""#), "{answer:?}");
        let said = gate.said.lock().unwrap().clone();
        assert!(said.contains(expected), "{said}");
    };
    check("-Sn 200", "");
    check(
        "-Sn 200; ulimit -Hn 400",
        "there are 133 connections at most",
    );
}

#[test]
fn what_cannot_be_recorded_is_no_health() {
    let setup = Setup::of([fixture("everything-server")])
        .policies(ALLOW_ALL)
        .over_http();
    let setup = with_admin(setup, "");
    // 16 KiB: more than a start takes, with paths of any length, and few calls fill it.
    let script = r#"trap "" XFSZ; ulimit -S -f 32; exec "$0" "$@""#;
    let gate = setup.gate();
    let mut limited = Command::new("sh");
    limited
        .args(["-c", script])
        .arg(gate.get_program())
        .args(gate.get_args());
    let gate = Serving::of(setup, limited);
    let agent = Agent::at(&gate.url).in_session();
    until_healthy(|| get(&gate, "/health"), 200, "ok");
    eventually(|| {
        let refused = agent.echo(1, "again").body.contains(r#""error""#);
        refused
            .then_some(())
            .ok_or_else(|| "it is recorded".to_owned())
    });
    until_healthy(|| get(&gate, "/health"), 503, "audit_fault");
    let text = get(&gate, "/metrics").body;
    assert!(
        sample(&text, "mcp_protector_audit_rejections_total") >= 1.0,
        "{text}"
    );
    assert!(
        sample(&text, "mcp_protector_audit_faults_total") >= 1.0,
        "{text}"
    );
    assert!(sample(&text, "mcp_protector_audit_working") < 1.0, "{text}");
}

/// A gate on standard streams that serves operators.
fn on_stdio(setup: &Setup) -> Child {
    let mut gate = Command::new(GATE);
    let mut gate = gate
        .args(setup.arguments())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = BufReader::new(gate.stderr.take().unwrap());
    let mut lines = stderr.lines().map_while(Result::ok);
    let told = lines
        .by_ref()
        .any(|line| line.contains("health and metrics on "));
    assert!(told, "operators are served");
    std::thread::spawn(move || lines.for_each(drop));
    gate
}

#[test]
fn a_gate_on_standard_streams_is_ready_when_its_server_has_shaken_hands() {
    let setup = Setup::of([fixture("everything-server")]).policies(ALLOW_ALL);
    let setup = with_admin(setup, "");
    let mut gate = on_stdio(&setup);
    let health = || operators_of(&setup, "/health").request("GET", "");
    until_healthy(health, 503, "starting");
    let mut stdin = gate.stdin.take().unwrap();
    writeln!(stdin, r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{{"name":"tester","version":"1"}}}}}}"#).unwrap();
    until_healthy(health, 200, "ok");
    let text = operators_of(&setup, "/metrics").request("GET", "").body;
    assert!(!text.contains("\nmcp_protector_connections "), "{text}");
    assert!(
        sample(&text, r#"mcp_protector_sessions{upstream="up"}"#) > 0.0,
        "{text}"
    );
    drop(stdin);
    assert!(gate.wait().unwrap().success());
}
