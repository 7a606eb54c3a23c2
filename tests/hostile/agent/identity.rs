//! Who the agent is, and what a server learns of a call that is denied.

use std::fs;

use crate::hostile::dialogue::{DENIED, Talk};
use crate::support::fixtures::fixture;
use crate::support::setup::Setup;

/// Lets agents of this name use tools.
fn only(name: &str) -> String {
    format!(
        r#"@id("only") permit (principal is Mcp::Agent, action in [Mcp::Action::"list_tool", Mcp::Action::"call_tool"], resource is Mcp::Tool)
when {{ principal.client.name == "{name}" }};
"#
    )
}

/// Whether an agent that calls itself `agent` may call a tool, after the server has named another
/// client in a ping.
fn may_call(policy: &str) -> bool {
    let setup = Setup::of([&fixture("hostile-server"), "ask-ping-as-another"]).policies(policy);
    let mut talk = Talk::through(setup);
    talk.open();
    let ping = talk.gate.receive().unwrap().to_owned();
    assert!(ping.contains(r#""method":"ping""#), "{ping}");
    talk.call("7", "safe", "x");
    let answer = talk.answer("7");
    let past = talk.end();
    let call = past.of_kind("tool_call").next().unwrap();
    assert_eq!(call["agent"]["asserted_name"], "agent");
    answer.contains("safe ran")
}

#[test]
fn a_server_does_not_say_who_the_agent_is() {
    assert!(!may_call(&only("forged")));
    assert!(may_call(&only("agent")));
}

/// Every tool may be listed and called, but not with this argument.
const NOT_WITH_TEXT: &str = r#"
@id("all") permit (principal is Mcp::Agent, action in [Mcp::Action::"list_tool", Mcp::Action::"call_tool"], resource is Mcp::Tool);
@id("not-with-text") forbid (principal is Mcp::Agent, action == Mcp::Action::"call_tool", resource is Mcp::Tool) when { context.raw_arguments.hasTag("/text") };
"#;

#[test]
fn a_denied_call_leaves_no_byte_upstream_when_the_gate_asks_for_the_list_itself() {
    let setup = Setup::of([&fixture("everything-server"), "--stateless"]).policies(NOT_WITH_TEXT);
    let mut talk = Talk::through(setup);
    let params = format!(
        r#"{{"name":"echo","{DENIED}":1,"arguments":{{"text":"{DENIED}"}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"{DENIED}","version":"{DENIED}"}},"io.modelcontextprotocol/clientCapabilities":{{"{DENIED}":{{}}}},"traceparent":"{DENIED}","progressToken":"{DENIED}","x/{DENIED}":1}}}}"#
    );
    let answer = talk.ask("7", &format!(r#""tools/call","params":{params}"#));
    assert!(answer.contains(r#""code":4030,"#), "{answer}");
    let past = talk.end();
    // All that the server got is the gate's own.
    let mut own = past.received.lines();
    assert!(own.all(|line| line.contains("mcp-protector")));
    assert!(!past.received.contains(DENIED), "{}", past.received);
    for (method, code) in [
        ("server/discover", "gate_initiated"),
        ("tools/list", "gate_initiated"),
    ] {
        assert!(past.received.contains(&format!(r#""method":"{method}""#)));
        let mut own = past.of_kind("gate_decision");
        let own = own.find(|it| it["reason"]["code"] == code);
        assert_eq!(own.unwrap()["decision"], "ALLOW");
    }
}

#[test]
fn a_denied_call_leaves_no_byte_upstream_in_a_session() {
    let setup = Setup::of([&fixture("hostile-server"), "proper"]).policies(NOT_WITH_TEXT);
    let mut talk = Talk::through(setup);
    talk.open();
    talk.call("7", "safe", DENIED);
    let answer = talk.answer("7");
    assert!(answer.contains(r#""code":4030,"#), "{answer}");
    // The handshake, and the gate's own list.
    let past = talk.end();
    assert_eq!(past.received.lines().count(), 3, "{}", past.received);
}

const BY_LABELS: &str = r#"
@id("by-labels") permit (principal in Mcp::Role::"operator", action == Mcp::Action::"call_tool", resource in Mcp::Capability::"demo")
when { ["example.com"].containsAll(context.targets.hosts) };
"#;

#[test]
fn an_agent_has_the_roles_and_a_tool_the_labels_that_the_host_gives_them() {
    let setup = Setup::of([&fixture("hostile-server"), "lying-annotations"]).policies(BY_LABELS);
    let policies = setup.audit_file().with_file_name("policies");
    let agents = "[teams.ops]\nroles = [\"operator\"]\n[agents.stdio]\nteams = \"ops\"\n";
    fs::write(policies.join("agents.toml"), agents).unwrap();
    let tools = "[tools.safe]\ncapabilities = \"demo.echo\"\nurls = \"/text\"\n";
    fs::write(policies.join("tools.toml"), tools).unwrap();
    let mut talk = Talk::through(setup);
    talk.open();
    let listed = talk.ask("5", r#""tools/list""#);
    assert!(listed.contains(r#""name":"safe""#) && !listed.contains(r#""name":"evil""#));
    talk.call("6", "safe", "https://example.com/");
    assert!(talk.answer("6").contains("safe ran"));
    talk.call("7", "safe", "https://example.com@evil.example/");
    assert!(talk.answer("7").contains(r#""code":4030,"#));
    let past = talk.end();
    let roles = past
        .of_kind("tool_call")
        .map(|call| &call["agent"]["roles"]);
    assert!(
        roles
            .into_iter()
            .all(|roles| *roles == serde_json::json!(["operator"]))
    );
}
