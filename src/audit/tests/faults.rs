//! Records of messages that pass while the log is faulty say so themselves.

use std::pin::pin;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::ocsf::push_event;
use super::super::query::LogRecord;
use super::super::*;
use super::faulty::FaultySink;
use super::log::{FOREVER, call, lines, log, poll_once, quick, targets};
use super::outage::until;

/// The targets of the records with the field, and the range that a gap names.
fn faulty(lines: &[Value]) -> (Vec<&str>, Vec<&Value>) {
    let field = |line: &&Value| {
        let field = line.get("audit_fault");
        assert!(field.is_none_or(|it| *it == true), "{line}");
        field.is_some()
    };
    let marked: Vec<_> = lines.iter().filter(field).cloned().collect();
    let marked = targets(&marked);
    let marked = targets(lines).into_iter().filter(|it| marked.contains(it));
    let gaps = lines.iter().filter_map(|line| line.get("unconfirmed"));
    (marked.collect(), gaps.collect())
}

/// What `audit verify` says of the lines: so many records, all in one chain.
#[track_caller]
fn check_chain(text: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    std::fs::write(&path, text).unwrap();
    let mut chain = verify::ChainVerifier::default();
    chain.read(&[read::Source::File(path)]).unwrap();
    chain.finish().unwrap();
    assert_eq!(chain.records(), text.lines().count() as u64);
}

#[tokio::test]
async fn records_taken_in_a_fault_say_so_and_those_before_and_after_do_not() {
    let lost = json!(null);
    let in_doubt = json!({ "first": 2, "last": 2 });
    for (durability, on_fault, marked, unconfirmed) in [
        (Durability::Async, OnFault::Warn, vec!["c", "d"], &lost),
        (Durability::Strict, OnFault::Warn, vec!["c", "d"], &in_doubt),
        (Durability::Async, OnFault::Deny, vec![], &lost),
        (Durability::Strict, OnFault::Deny, vec![], &lost),
    ] {
        let sink = FaultySink::default();
        let audit = log(durability, on_fault, sink.clone(), quick());
        audit.record(call("a")).await.unwrap();
        audit.flush(FOREVER).await.unwrap();
        sink.fill_up();
        // It meets the fault: its line was with the sink before the log knew.
        let met = audit.record(call("b")).await;
        assert_eq!(
            met.is_ok(),
            (durability, on_fault) != (Durability::Strict, OnFault::Deny)
        );
        until(|| sink.failures() > 0).await;
        until(|| audit.figures().state != LogState::Working).await;
        for target in ["c", "d"] {
            let taken = audit.record(call(target)).await;
            assert_eq!(taken.is_ok(), on_fault == OnFault::Warn, "{taken:?}");
        }
        sink.with_unlimited_space();
        audit.flush(FOREVER).await.unwrap();
        audit.record(call("e")).await.unwrap();
        audit.close(FOREVER).await.unwrap();

        let text = sink.text();
        let lines = lines(&text);
        let (found, gaps) = faulty(&lines);
        assert_eq!(found, marked, "{text}");
        assert_eq!(*gaps.first().unwrap_or(&&Value::Null), unconfirmed);
        check_chain(&text);
    }
}

#[tokio::test]
async fn a_failed_write_marks_what_waits_in_the_queue_and_names_what_the_sink_had() {
    let sink = FaultySink::default();
    sink.hold();
    let audit = log(Durability::Strict, OnFault::Warn, sink.clone(), quick());
    let mut in_flight = pin!(audit.record(call("in flight")));
    assert!(poll_once(in_flight.as_mut()).is_pending());
    until(|| sink.attempts() == 1).await;
    let mut queued = pin!(audit.record(call("queued")));
    assert!(poll_once(queued.as_mut()).is_pending());
    sink.fill_up();
    sink.release();
    in_flight.await.unwrap();
    queued.await.unwrap();
    sink.with_unlimited_space();
    audit.flush(FOREVER).await.unwrap();
    audit.record(call("after")).await.unwrap();

    let text = sink.text();
    let lines = lines(&text);
    let (marked, gaps) = faulty(&lines);
    assert_eq!(marked, ["queued"], "{text}");
    assert_eq!(gaps, [&json!({ "first": 1, "last": 1 })]);
    assert_eq!(lines[2]["kind"], "audit_gap");
    assert_eq!(lines[2]["lost"], 0);
    check_chain(&text);
}

#[tokio::test]
async fn a_stall_marks_what_waits_in_the_queue_also_if_warn_comes_later() {
    for at_first in [OnFault::Warn, OnFault::Deny] {
        let sink = FaultySink::default();
        sink.hold();
        let audit = log(Durability::Strict, at_first, sink.clone(), quick());
        let mut in_flight = pin!(audit.record(call("in flight")));
        assert!(poll_once(in_flight.as_mut()).is_pending());
        until(|| sink.attempts() == 1).await;
        tokio::time::pause();
        tokio::time::advance(FOREVER / 2).await;
        let mut queued = pin!(audit.record(call("queued")));
        assert!(poll_once(queued.as_mut()).is_pending());
        tokio::time::advance(FOREVER / 2 + Duration::from_secs(1)).await;
        assert_eq!(in_flight.await.is_ok(), at_first == OnFault::Warn);
        assert!(poll_once(queued.as_mut()).is_pending());
        audit.hold_to(Durability::Strict, OnFault::Warn);
        audit.record(call("during")).await.unwrap();
        tokio::time::advance(FOREVER / 2).await;
        queued.await.unwrap();
        tokio::time::resume();
        sink.release();
        audit.flush(FOREVER).await.unwrap();
        audit.record(call("after")).await.unwrap();

        let text = sink.text();
        let lines = lines(&text);
        let (marked, gaps) = faulty(&lines);
        assert_eq!(marked, ["queued", "during"], "{text}");
        assert_eq!(gaps, [&json!({ "first": 1, "last": 1 })]);
        check_chain(&text);
    }
}

#[tokio::test]
async fn followers_queries_and_exports_have_the_field_of_the_record() {
    let (record, beside) = (FaultySink::with_space(0), FaultySink::default());
    let sinks: Vec<Box<dyn Sink>> = vec![Box::new(record.clone()), Box::new(beside.clone())];
    let clock = std::sync::Arc::new(crate::clock::FixedClock(jiff::Timestamp::UNIX_EPOCH));
    let settings = super::log::settings(Durability::Strict, OnFault::Warn);
    let redactor = Redactor::default();
    let audit = Audit::start(&settings, sinks, Vec::new(), clock, redactor, quick()).unwrap();
    for target in ["meets the fault", "during"] {
        audit.record(call(target)).await.unwrap();
    }
    record.with_unlimited_space();
    audit.close(FOREVER).await.unwrap();
    assert_eq!(record.text(), beside.text());
    let text = record.text();
    for (line, marked) in text.lines().zip([false, true, false]) {
        let parsed = LogRecord::parse(line.as_bytes()).unwrap();
        assert_eq!(parsed.audit_fault, marked, "{line}");
        let mut event = Vec::new();
        push_event(&parsed, &mut event);
        let event = String::from_utf8(event).unwrap();
        assert_eq!(event.contains(r#""audit_fault":true"#), marked, "{event}");
    }
}
