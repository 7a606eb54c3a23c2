//! The log as its callers meet it.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::*;
use crate::clock::FixedClock;

#[tokio::test]
async fn a_record_becomes_one_line() {
    let memory = Memory::default();
    let settings = Settings {
        file: None,
        stream: Stream::None,
        durability: Durability::Async,
        on_fault: OnFault::Deny,
    };
    let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
    let audit = Audit::with_sinks(
        &settings,
        vec![Box::new(memory.clone())],
        clock,
        Redactor::default(),
    )
    .unwrap();
    let record = Record::new(Kind::ToolCall)
        .method("tools/call")
        .target("read_file")
        .decision(Decision::Allow, "decide");
    audit.record(record).await.unwrap();
    audit.close(Duration::from_secs(10)).await.unwrap();
    let lines = memory.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].contains(r#""kind":"tool_call","method":"tools/call""#),
        "{lines:?}"
    );
}
