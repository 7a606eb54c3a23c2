//! Calls and lists through a gate whose records are written nowhere.

use std::sync::Arc;

use mcp_protector::audit::{self, Audit, Redactor};
use mcp_protector::clock::SystemClock;
use mcp_protector::gate::{Gate, Settings, Talk};
use mcp_protector::loading;
use mcp_protector::policy::{PolicySnapshot, PolicyStore};
use mcp_protector::wire::{Side, Stream};

use super::rig::{self, End};

/// A gate whose session has done its handshake and knows the tool `write_file`; its records are written nowhere.
pub(crate) async fn ready_within(
    snapshot: PolicySnapshot,
    settings: Settings,
) -> (Gate, Talk<End, End>) {
    let log = audit::Settings {
        file: None,
        stream: audit::Stream::None,
        durability: audit::Durability::Async,
        on_fault: audit::OnFault::Deny,
        checkpoints: None,
        rotation: audit::Rotation::default(),
    };
    let clock = Arc::new(SystemClock::new());
    let audit = Audit::open(&log, Vec::new(), clock.clone(), Redactor::default()).expect("a log");
    let store = Arc::new(PolicyStore::new(snapshot));
    let gate = Gate::new(store, audit, clock, settings);
    let talk = rig::ready(&gate).await;
    (gate, talk)
}

/// An allowlist, and 1, 10 and 100 policies with a condition each on the arguments.
pub(crate) fn snapshots() -> Vec<(String, PolicySnapshot)> {
    let allow = loading::Settings {
        allow: Some(vec!["write_file".to_owned()]),
        ..loading::Settings::default()
    };
    let loaded = loading::load(&allow).expect("an allowlist");
    let mut snapshots = vec![("allowlist".to_owned(), loaded.snapshot)];
    for count in [1, 10, 100] {
        let dir = tempfile::tempdir().expect("a directory");
        let guards = (1..count).map(|number| {
            format!(
                "@id(\"no-{number}\") forbid(principal, action == Mcp::Action::\"call_tool\", resource) when {{ context.raw_arguments.hasTag(\"/path\") && context.raw_arguments.getTag(\"/path\") has string && context.raw_arguments.getTag(\"/path\").string like \"/secret{number}/*\" }};\n"
            )
        });
        let all = "@id(\"all\") permit(principal, action, resource);\n".to_owned();
        let text: String = std::iter::once(all).chain(guards).collect();
        std::fs::write(dir.path().join("bench.cedar"), text).expect("a file");
        let settings = loading::Settings {
            dir: Some(dir.path().to_owned()),
            ..loading::Settings::default()
        };
        let loaded = loading::load(&settings).expect("policies");
        snapshots.push((format!("{count} policies"), loaded.snapshot));
    }
    snapshots
}

/// A call of 1 KiB.
pub(crate) fn call(id: &str) -> String {
    let text = "x".repeat(850);
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"write_file","arguments":{{"path":"/srv/data/notes.txt","content":"{text}"}},"_meta":{{"progressToken":7}}}}}}"#
    )
}

/// The number that a message has as its id.
pub(crate) fn id_of(message: &str) -> &str {
    let id = message.split("\"id\":").nth(1);
    id.and_then(|rest| rest.split(',').next())
        .expect("a message with an id")
}

/// The answer to a call, which the server answers with this result.
pub(crate) async fn answered(
    gate: &Gate,
    talk: &Talk<End, End>,
    call: &str,
    result: &str,
) -> String {
    gate.handle(talk, Side::Agent, Stream::MAIN, call.as_bytes())
        .await
        .expect("an agent");
    let sent = talk.upstream.take();
    let id = id_of(&sent);
    let reply = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    gate.handle(talk, Side::Upstream, Stream::MAIN, reply.as_bytes())
        .await
        .expect("an agent");
    talk.agent.take()
}

/// The result of a list of so many tools.
pub(crate) fn listing(count: u32) -> String {
    let tool = |number| {
        format!(
            r#"{{"name":"tool_{number}","description":"does one thing","inputSchema":{{"type":"object","properties":{{"path":{{"type":"string"}}}}}}}}"#
        )
    };
    let tools: Vec<String> = (0..count).map(tool).collect();
    format!(r#"{{"tools":[{}]}}"#, tools.join(","))
}

/// The list that the agent gets.
pub(crate) async fn list(gate: &Gate, talk: &Talk<End, End>, result: &str) -> String {
    let asked = r#"{"jsonrpc":"2.0","id":9,"method":"tools/list"}"#;
    let shown = answered(gate, talk, asked, result).await;
    assert!(shown.len() > 50_000, "tools are shown");
    shown
}
