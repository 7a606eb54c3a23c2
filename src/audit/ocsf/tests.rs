//! Each kind of record, against what OCSF publishes of the class.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::super::tests::log::{FOREVER, settings};
use super::super::tests::samples::{full, least};
use super::super::*;
use super::{Exported, push_event};
use crate::audit::query::LogRecord;
use crate::clock::FixedClock;

const SCHEMA: &str = include_str!("api_activity.schema.json");

/// The line of a record, and its event.
async fn exported(record: Record) -> (String, Option<Value>) {
    let memory = MemorySink::default();
    let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
    let settings = settings(Durability::Async, OnFault::Deny);
    let sinks: Vec<Box<dyn Sink>> = vec![Box::new(memory.clone())];
    let audit = Audit::with_sinks(&settings, sinks, clock, Redactor::default()).unwrap();
    audit.record(record).await.unwrap();
    audit.close(FOREVER).await.unwrap();
    let line = memory.lines().remove(0);
    let mut event = Vec::new();
    let done = push_event(&LogRecord::parse(line.as_bytes()).unwrap(), &mut event);
    let event = match done {
        Exported::Yes => {
            let text = str::from_utf8(&event).unwrap();
            let one_line = text.strip_suffix('\n').unwrap();
            assert!(!one_line.contains(crate::unseen::misleads), "{one_line}");
            Some(one_line.parse().unwrap())
        }
        Exported::No => {
            assert!(event.is_empty());
            None
        }
    };
    (line, event)
}

#[tokio::test]
async fn each_kind_of_record_with_a_decision_is_an_event_of_the_published_class() {
    let schema: Value = SCHEMA.parse().unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut events = 0;
    for kind in Kind::ALL {
        let records = [
            least(kind),
            full(kind, || "a\u{202e}\n\"b\"".to_owned()),
            full(kind, || "x".repeat(3000)).decision(Decision::Error, "record"),
            least(kind).decision(Decision::Allow, "forward"),
        ];
        for record in records {
            let has_a_decision = record.decision.is_some();
            let (line, event) = exported(record).await;
            assert_eq!(event.is_some(), has_a_decision, "{line}");
            let Some(event) = event else { continue };
            let errors = validator.iter_errors(&event).map(|it| it.to_string());
            let errors: Vec<_> = errors.collect();
            assert!(errors.is_empty(), "{errors:#?}\n{event:#}");
            events += 1;
        }
    }
    assert!(events > Kind::ALL.len() * 3, "{events}");
    // The schema can refuse.
    let (_, event) = exported(least(Kind::ToolCall)).await;
    let mut event = event.unwrap();
    event["action_id"] = 77.into();
    assert!(!validator.is_valid(&event));
}

#[tokio::test]
async fn an_event_says_who_did_what_by_which_policy() {
    let agent = Agent::new("agent-3")
        .calling_itself("claude-code")
        .with_roles(["reviewer"]);
    let mut record = Record::new(Kind::ToolCall)
        .reference("r-7")
        .upstream("files")
        .direction(Direction::AgentToUpstream)
        .method("tools/call")
        .target("read_file")
        .decision(Decision::Block, "decide")
        .policies(["workspace-only"])
        .reason(Reason::code("outside_workspace"))
        .revision("9b1c7a")
        .error_code(1);
    record.agent = Some(agent);
    record.session_id = Some("s-3".into());
    let (line, event) = exported(record).await;
    let line: Value = line.parse().unwrap();
    let uid = format!("{}-1", line["instance"].as_str().unwrap());
    let expected = serde_json::json!({
        "class_uid": 6003,
        "class_name": "API Activity",
        "category_uid": 6,
        "category_name": "Application Activity",
        "activity_id": 99,
        "activity_name": "tools/call",
        "type_uid": 600_399,
        "time": 0,
        "severity_id": 3,
        "status_id": 2,
        "status_code": "1",
        "status_detail": "outside_workspace",
        "action_id": 2,
        "disposition_id": 2,
        "message": "BLOCK tools/call read_file: outside_workspace",
        "metadata": {
            "version": "1.8.0",
            "profiles": ["security_control"],
            "product": { "name": "mcp-protector", "vendor_name": "mcp-protector" },
            "uid": uid,
            "sequence": 1,
            "event_code": "tool_call",
            "original_time": "1970-01-01T00:00:00.000000Z",
            "log_name": "audit",
            "log_version": "1",
        },
        "actor": {
            "user": { "uid": "agent-3", "groups": [{ "name": "reviewer" }] },
            "app_name": "claude-code",
            "session": { "uid": "s-3" },
        },
        "api": {
            "operation": "tools/call",
            "service": { "name": "files" },
            "request": { "uid": "r-7" },
            "response": { "code": 1, "error": "outside_workspace" },
        },
        "src_endpoint": { "name": "agent-3" },
        "dst_endpoint": { "name": "files" },
        "resources": [{ "name": "read_file", "type": "tool" }],
        "authorizations": [
            { "decision": "BLOCK", "policy": { "uid": "workspace-only", "version": "9b1c7a" } },
        ],
        "unmapped": {
            "instance": line["instance"],
            "direction": "agent_to_upstream",
            "stage": "decide",
            "revision": "9b1c7a",
        },
    });
    assert_eq!(event.unwrap(), expected);
}

#[tokio::test]
async fn an_event_says_which_side_acted_and_what_came_of_it() {
    let check = async |record: Record, actor: &str, ids: [u64; 5]| {
        let (line, event) = exported(record).await;
        let event = event.unwrap();
        let names = [
            "activity_id",
            "severity_id",
            "status_id",
            "action_id",
            "disposition_id",
        ];
        assert_eq!(
            names.map(|name| event[name].as_u64().unwrap()),
            ids,
            "{line}"
        );
        let user = &event["actor"]["user"]["uid"];
        let name = event["actor"].get("app_name").unwrap_or(user);
        assert_eq!(name, actor, "{line}");
    };
    let record = |kind, method: &str, decision| {
        Record::new(kind)
            .upstream("files")
            .method(method)
            .decision(decision, "decide")
    };
    let to_agent = Direction::UpstreamToAgent;
    let to_server = Direction::AgentToUpstream;
    let asked = record(
        Kind::ServerRequest,
        "sampling/createMessage",
        Decision::Block,
    );
    check(asked.direction(to_agent), "files", [99, 3, 2, 2, 2]).await;
    let own = record(Kind::GateDecision, "tools/list", Decision::Allow);
    check(own, "mcp-protector", [2, 1, 1, 1, 1]).await;
    let read = record(Kind::Request, "resources/read", Decision::Allow);
    check(read.direction(to_server), "unknown agent", [2, 1, 1, 1, 1]).await;
    let failed = record(Kind::ToolResult, "tools/call", Decision::Error);
    check(
        failed.direction(to_agent),
        "unknown agent",
        [99, 4, 2, 2, 27],
    )
    .await;
    // The server's own error passed.
    let passed = record(Kind::ToolResult, "tools/call", Decision::Allow).error_code(-32_000);
    check(
        passed.direction(to_agent),
        "unknown agent",
        [99, 1, 2, 1, 1],
    )
    .await;
    let mut retryable = record(Kind::ToolResult, "tools/call", Decision::Allow);
    retryable.error_class = Some(ErrorClass::Retryable);
    check(
        retryable.direction(to_agent),
        "unknown agent",
        [99, 1, 2, 1, 1],
    )
    .await;
    let reload = Record::new(Kind::PolicyReload).decision(Decision::Allow, "reload");
    check(reload, "mcp-protector", [3, 1, 1, 1, 1]).await;
    let change = Record::new(Kind::AdminRequest).operator("olga");
    let change = change.method("servers/put");
    check(
        change.decision(Decision::Allow, "admin_api"),
        "olga",
        [99, 1, 1, 1, 1],
    )
    .await;
    let unknown = Record::new(Kind::AdminRequest).decision(Decision::Block, "admin_api");
    check(unknown, "unknown operator", [0, 3, 2, 2, 2]).await;
    let malformed = Record::new(Kind::MalformedMessage).decision(Decision::Block, "http");
    check(
        malformed.direction(to_server),
        "unknown agent",
        [0, 3, 2, 2, 2],
    )
    .await;
}
