//! Calls of an agent whose model works for the server.

use serde_json::Value;

use crate::support::fixtures::fixture;
use crate::support::json::json;
use crate::support::peer::Peer;
use crate::support::setup::{ALLOW_ALL, Setup};

#[test]
fn parallel_calls_of_a_tool_that_samples_are_all_answered() {
    let setup = Setup::of([fixture("everything-server")])
        .policies(ALLOW_ALL)
        .agentic();
    let mut gate = Peer::start(setup.gate());
    gate.send(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{}},"clientInfo":{"name":"agent","version":"1"}}}"#);
    gate.receive();
    gate.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    for id in 1..=6 {
        gate.send(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"sample","arguments":{{}}}}}}"#
        ));
    }
    let mut answered = Vec::new();
    while answered.len() < 6 {
        let message: Value = json(gate.receive().expect("the gate has ended"));
        let id = &message["id"];
        if message["method"] == "sampling/createMessage" {
            gate.send(format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"role":"assistant","content":{{"type":"text","text":"Reykjavik"}},"model":"m"}}}}"#
            ));
        } else if message.get("method").is_none() {
            let text = &message["result"]["content"][0]["text"];
            assert!(text.to_string().contains("Reykjavik"), "{message}");
            answered.push(id.as_i64().unwrap());
        }
    }
    answered.sort_unstable();
    assert_eq!(answered, [1, 2, 3, 4, 5, 6]);
    assert_eq!(gate.end().code, Some(0));
}
