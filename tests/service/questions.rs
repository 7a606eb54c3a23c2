//! What becomes of a question to a person for which there is no use any more.

use std::fs;
use std::process::{Command, Output};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::service::operators::free_port;
use crate::support::fixtures::fixture;
use crate::support::http::{Agent, Answer};
use crate::support::json::json;
use crate::support::peer::Peer;
use crate::support::processes::eventually;
use crate::support::serving::Serving;
use crate::support::setup::{GATE, Setup};

const OLGA: &str = "olgas-0123456789abcdef";

const ASKS: &str = r#"
    @id("open") permit (principal, action, resource);
    @id("needs-a-yes") @requires_consent
    forbid (principal, action == Mcp::Action::"call_tool", resource)
    unless { context.env.consent.granted };
"#;

const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}"#;

/// Where operators are served.
pub(super) struct Operators(String);

impl Operators {
    pub(super) fn of(setup: &mut Setup) -> Self {
        let port = free_port();
        setup.limits = format!(
            "shutdown_grace_period = \"10m\"\n[consent]\nchannels = [\"web\"]\n\
             [admin]\nport = {port}\napprovers = {{ olga = \"{OLGA}\" }}\n"
        );
        Self(format!("http://127.0.0.1:{port}"))
    }

    /// The number of the question that waits, when there is one.
    pub(super) fn asked(&self) -> String {
        eventually(|| {
            let list = Agent::at(&format!("{}/api/approvals", self.0));
            let list = list.with(format!("Authorization: Bearer {OLGA}"));
            let listed = json(&list.request("GET", "").body);
            let id = listed["pending"][0]["id"].as_str().map(str::to_owned);
            id.ok_or_else(|| listed.to_string())
        })
    }

    pub(super) fn approve(&self, id: &str) -> Output {
        self.command(&["approve", id])
    }

    pub(super) fn command(&self, words: &[&str]) -> Output {
        let mut command = Command::new(GATE);
        command.arg("approvals").args(words);
        command.args(["--url", &self.0]);
        command.env("MCP_PROTECTOR_APPROVER_TOKEN", OLGA);
        command.output().unwrap()
    }
}

fn before_everything() -> Setup {
    Setup::of([fixture("everything-server")]).policies(ASKS)
}

fn terminate(process: u32) {
    let pid = Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
}

fn records(setup: &Setup, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
    let text = setup.audit_text();
    // The last one may still be on its way to the disk.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().map(json).filter(wanted).collect()
}

/// The call was refused for want of somebody to ask, and its question has an end.
#[track_caller]
fn assert_withdrawn(setup: &Setup, answer: &Value, code: &str) {
    assert_eq!(answer["id"], 7, "{answer}");
    assert_eq!(answer["error"]["data"]["reason"], code, "{answer}");
    let questions = records(setup, |it| it["kind"] == "consent");
    let events: Vec<_> = questions.iter().map(|it| it["event"].as_str()).collect();
    assert_eq!(
        events,
        [Some("consent_requested"), Some("cancelled")],
        "{questions:?}"
    );
    let [asked, withdrawn] = &*questions else {
        panic!("{questions:?}");
    };
    assert_eq!(withdrawn["consent"]["ticket"], asked["consent"]["ticket"]);
    assert_eq!(withdrawn["reason"]["code"], code, "{withdrawn}");
    let calls = records(setup, |it| it["kind"] == "tool_call");
    let [call] = &*calls else { panic!("{calls:?}") };
    assert_eq!(call["decision"], "BLOCK", "{call}");
    assert_eq!(call["stage"], "decide", "{call}");
    assert_eq!(call["reason"]["code"], code, "{call}");
}

#[test]
fn a_gate_over_http_that_stops_while_a_person_is_asked_says_so_at_once() {
    let stateless = |agent: Agent| {
        let agent = agent
            .with("MCP-Protocol-Version: 2026-07-28")
            .with("Mcp-Method: tools/call")
            .with("Mcp-Name: echo");
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"tester","version":"1"}},"name""#;
        agent.post(&CALL.replace(r#""name""#, meta))
    };
    let in_session = |agent: Agent| agent.in_session().post(CALL);
    for ask in [in_session as fn(Agent) -> Answer, stateless] {
        let mut setup = before_everything();
        let operators = Operators::of(&mut setup);
        let mut gate = Serving::start(setup.over_http());
        let agent = Agent::at(&gate.url);
        let asking = thread::spawn(move || ask(agent));
        let id = operators.asked();
        terminate(gate.child.id());
        let answer = asking.join().unwrap().message();
        assert!(gate.child.wait().unwrap().success());
        assert_withdrawn(gate.setup(), &answer, "consent_unavailable");
        let told = answer["error"]["message"].as_str().unwrap();
        assert!(told.contains("the gate is stopping"), "{told}");
        assert!(!operators.approve(&id).status.success());
    }
}

#[test]
fn a_gate_on_standard_streams_that_stops_while_a_person_is_asked_says_so_at_once() {
    let signal = |agent: &mut Peer| terminate(agent.child.id());
    // A silent client may still listen, but no person approves its request.
    for stop in [signal as fn(&mut Peer), Peer::close] {
        stops_while_a_person_is_asked(stop);
    }
}

fn stops_while_a_person_is_asked(stop: fn(&mut Peer)) {
    let mut setup = before_everything();
    let operators = Operators::of(&mut setup);
    let mut agent = Peer::start(setup.gate());
    agent.send(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}}"#);
    agent.receive();
    agent.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    agent.send(CALL);
    operators.asked();
    stop(&mut agent);
    let answer = json(agent.receive().expect("an answer"));
    let ended = agent.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    // Of the handshake and of the call, once.
    assert_eq!(ended.lines.len(), 2, "{:?}", ended.lines);
    assert_withdrawn(&setup, &answer, "consent_unavailable");
    let told = answer["error"]["message"].as_str().unwrap();
    assert!(told.contains("the gate is stopping"), "{told}");
}

#[test]
fn a_yes_to_what_other_policies_have_asked_is_refused_and_not_called_approved() {
    let mut setup = before_everything();
    let operators = Operators::of(&mut setup);
    let gate = Serving::start(setup.over_http());
    let agent = Agent::at(&gate.url);
    let asking = thread::spawn(move || agent.in_session().post(CALL));
    let id = operators.asked();
    let closed =
        r#"@id("closed") forbid (principal, action == Mcp::Action::"call_tool", resource);"#;
    let policy = gate.setup().path("policies/test.cedar");
    fs::write(policy, format!("{ASKS}{closed}")).unwrap();
    eventually(|| {
        let reloads = records(gate.setup(), |it| it["kind"] == "policy_reload");
        let first = reloads.first();
        first.map(drop).ok_or_else(|| format!("{reloads:?}"))
    });
    // The policies are in force once they are told to be.
    eventually(|| {
        let said = gate.said.lock().unwrap().clone();
        said.contains("new policies are in force")
            .then_some(())
            .ok_or(said)
    });
    let told = operators.approve(&id);
    let (said, why) = (
        String::from_utf8(told.stdout).unwrap(),
        String::from_utf8(told.stderr).unwrap(),
    );
    assert_eq!(told.status.code(), Some(1), "{said}{why}");
    assert!(!said.contains("approved"), "{said}");
    assert!(why.contains("withdrawn"), "{why}");
    let answer = asking.join().unwrap().message();
    assert_withdrawn(gate.setup(), &answer, "consent_stale");
}
