//! Order, backpressure, durability, and the end.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use jiff::Timestamp;
use secrecy::SecretString;
use serde_json::Value;

use super::super::backpressure::Backpressure;
use super::super::*;
use super::faulty::{FaultySink, PanickingSink};
use super::samples;
use crate::clock::{Clock, FixedClock};

/// Long enough for any machine; nothing waits that long unless it hangs.
pub(in crate::audit) const FOREVER: Duration = Duration::from_mins(1);

pub(in crate::audit) fn settings(durability: Durability, on_fault: OnFault) -> Settings {
    Settings {
        file: None,
        stream: Stream::None,
        durability,
        on_fault,
        checkpoints: None,
        rotation: Rotation::default(),
    }
}

pub(in crate::audit) fn quick() -> Backpressure {
    Backpressure {
        patience: FOREVER,
        nap: Duration::ZERO,
        nap_beside: Duration::ZERO,
        retry_first: Duration::from_millis(1),
        retry_most: Duration::from_millis(1),
        grace: FOREVER,
        ..Backpressure::default()
    }
}

pub(super) fn log(
    durability: Durability,
    on_fault: OnFault,
    sink: impl Sink + 'static,
    pace: Backpressure,
) -> Audit {
    let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
    let sinks: Vec<Box<dyn Sink>> = vec![Box::new(sink)];
    let settings = settings(durability, on_fault);
    Audit::start(
        &settings,
        sinks,
        Vec::new(),
        clock,
        Redactor::default(),
        pace,
    )
    .unwrap()
}

pub(in crate::audit) fn call(target: &str) -> Record {
    Record::new(Kind::ToolCall)
        .target(target)
        .decision(Decision::Allow, "decide")
}

/// Parses every line; checks that `seq` counts from one without a gap.
pub(super) fn lines(text: &str) -> Vec<Value> {
    assert!(text.is_empty() || text.ends_with('\n'), "torn: {text}");
    let lines: Vec<Value> = text.lines().map(|line| line.parse().unwrap()).collect();
    for (before, line) in lines.iter().enumerate() {
        assert_eq!(line["seq"], before + 1, "{text}");
    }
    lines
}

pub(super) fn targets(lines: &[Value]) -> Vec<&str> {
    lines
        .iter()
        .filter_map(|line| line["target"].as_str())
        .collect()
}

/// What the future says when asked once.
pub(super) fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[derive(Debug, Default)]
struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        Timestamp::from_microsecond(self.0.fetch_add(1, Ordering::Relaxed)).unwrap()
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

#[tokio::test]
async fn a_line_begins_with_what_the_log_knows() {
    let memory = MemorySink::default();
    let audit = log(Durability::Async, OnFault::Deny, memory.clone(), quick());
    audit.record(call("read_file")).await.unwrap();
    audit.close(FOREVER).await.unwrap();
    let line = memory.lines().remove(0);
    let (head, tail) = line.split_once(r#""instance":""#).unwrap();
    assert_eq!(
        head,
        r#"{"version":1,"seq":1,"timestamp":"1970-01-01T00:00:00.000000Z","#
    );
    let (instance, tail) = tail.split_once('"').unwrap();
    assert!(
        instance.len() == 16 && instance.bytes().all(|b| b.is_ascii_hexdigit()),
        "{line}"
    );
    let start = "0".repeat(64);
    let tail = tail.strip_prefix(&format!(r#","prev":"{start}""#)).unwrap();
    let rest = r#","kind":"tool_call","target":"read_file","decision":"ALLOW","allowed":true,"stage":"decide"}"#;
    assert_eq!(tail, rest);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_of_many_callers_are_in_one_order_and_none_is_missing() {
    for durability in [Durability::Async, Durability::Strict] {
        let memory = MemorySink::default();
        let sinks: Vec<Box<dyn Sink>> = vec![Box::new(memory.clone())];
        let settings = settings(durability, OnFault::Deny);
        let clock = Arc::new(Ticking::default());
        // A queue of eight records, so that callers have to wait for each other.
        let pace = Backpressure {
            queue_bytes: 16 * 1024,
            ..quick()
        };
        let audit = Audit::start(
            &settings,
            sinks,
            Vec::new(),
            clock,
            Redactor::default(),
            pace,
        )
        .unwrap();
        let callers = (0..8).map(|caller| {
            let audit = audit.clone();
            tokio::spawn(async move {
                for number in 0..100 {
                    audit
                        .record(call(&format!("{caller} {number:03}")))
                        .await
                        .unwrap();
                }
            })
        });
        for caller in callers.collect::<Vec<_>>() {
            caller.await.unwrap();
        }
        audit.close(FOREVER).await.unwrap();

        let lines = lines(&(memory.lines().join("\n") + "\n"));
        assert_eq!(lines.len(), 800);
        assert!(lines.is_sorted_by_key(|line| line["timestamp"].as_str().unwrap()));
        for caller in 0..8 {
            let caller = caller.to_string();
            let own: Vec<_> = targets(&lines)
                .into_iter()
                .filter(|target| target.starts_with(&caller))
                .collect();
            assert_eq!(own.len(), 100);
            assert!(own.is_sorted(), "{own:?}");
        }
    }
}

#[tokio::test]
async fn a_full_queue_makes_callers_wait_and_drops_nothing() {
    let sink = FaultySink::default();
    sink.hold();
    let pace = Backpressure {
        queue_bytes: 16 * 1024,
        ..quick()
    };
    let audit = log(Durability::Async, OnFault::Deny, sink.clone(), pace);
    let mut taken = 0;
    loop {
        let target = taken.to_string();
        let mut next = pin!(audit.record(call(&target)));
        match poll_once(next.as_mut()) {
            Poll::Ready(result) => result.unwrap(),
            Poll::Pending => {
                assert!(taken > 0);
                sink.release();
                next.await.unwrap();
                taken += 1;
                break;
            }
        }
        taken += 1;
        assert!(taken <= 32, "16 KiB hold at most 32 records");
    }
    audit.close(FOREVER).await.unwrap();
    assert_eq!(lines(&sink.text()).len(), taken);
}

#[tokio::test]
async fn a_record_heavier_than_the_queue_goes_through_alone() {
    let memory = MemorySink::default();
    let pace = Backpressure {
        queue_bytes: 2048,
        ..quick()
    };
    let audit = log(Durability::Async, OnFault::Deny, memory.clone(), pace);
    for target in ["light", &"x".repeat(1_000_000), "light again"] {
        audit.record(call(target)).await.unwrap();
    }
    audit.close(FOREVER).await.unwrap();
    assert_eq!(memory.lines().len(), 3);
}

#[tokio::test]
async fn a_caller_that_gives_up_waiting_leaves_the_log_whole() {
    let sink = FaultySink::default();
    sink.hold();
    let pace = Backpressure {
        queue_bytes: 4096,
        ..quick()
    };
    let audit = log(Durability::Async, OnFault::Deny, sink.clone(), pace);
    let mut taken = 0;
    for number in 0..100 {
        let target = number.to_string();
        // Dropped at once whether it was taken or not.
        if poll_once(pin!(audit.record(call(&target)))).is_ready() {
            taken += 1;
        }
    }
    sink.release();
    audit.record(call("last")).await.unwrap();
    audit.close(FOREVER).await.unwrap();
    let text = sink.text();
    let lines = lines(&text);
    assert_eq!(lines.len(), taken + 1);
    assert_eq!(targets(&lines).last(), Some(&"last"));
}

#[tokio::test]
async fn strict_returns_after_the_sync() {
    let sink = FaultySink::default();
    let audit = log(Durability::Strict, OnFault::Deny, sink.clone(), quick());
    for so_far in 1..=3 {
        audit.record(call("x")).await.unwrap();
        assert_eq!((lines(&sink.text()).len(), sink.syncs()), (so_far, so_far));
    }
}

#[tokio::test]
async fn strict_syncs_once_for_all_that_wait() {
    let sink = FaultySink::default();
    sink.hold();
    let audit = log(Durability::Strict, OnFault::Deny, sink.clone(), quick());
    let mut waiting: Vec<_> = (0..50).map(|_| Box::pin(audit.record(call("x")))).collect();
    for caller in &mut waiting {
        assert!(poll_once(caller.as_mut()).is_pending());
    }
    sink.release();
    for caller in waiting {
        caller.await.unwrap();
    }
    assert_eq!(lines(&sink.text()).len(), 50);
    // One batch may have been on its way when the rest came.
    assert!(sink.syncs() <= 3, "{} syncs", sink.syncs());
}

#[tokio::test]
async fn async_does_not_sync_before_it_is_flushed() {
    let sink = FaultySink::default();
    let audit = log(Durability::Async, OnFault::Deny, sink.clone(), quick());
    for _ in 0..10 {
        audit.record(call("x")).await.unwrap();
    }
    assert_eq!(sink.syncs(), 0);
    audit.flush(FOREVER).await.unwrap();
    assert_eq!((lines(&sink.text()).len(), sink.syncs()), (10, 1));
}

#[tokio::test]
async fn after_close_nothing_is_missing_and_nothing_is_taken() {
    let memory = MemorySink::default();
    let audit = log(
        Durability::Async,
        OnFault::Warn,
        memory.clone(),
        Backpressure::default(),
    );
    let clone = audit.clone();
    for _ in 0..1000 {
        audit.record(call("x")).await.unwrap();
    }
    audit.close(FOREVER).await.unwrap();
    assert_eq!(memory.lines().len(), 1000);
    assert_eq!(clone.record(call("late")).await, Err(AuditFault::Closed));
    assert_eq!(clone.close(FOREVER).await, Ok(()));
    assert_eq!(memory.lines().len(), 1000);
}

#[tokio::test]
async fn a_flush_that_runs_out_of_time_says_how_many_records_are_unwritten() {
    let sink = FaultySink::default();
    sink.hold();
    let audit = log(Durability::Async, OnFault::Deny, sink.clone(), quick());
    for _ in 0..3 {
        audit.record(call("x")).await.unwrap();
    }
    let fault = audit.flush(Duration::from_millis(1)).await;
    assert_eq!(fault, Err(AuditFault::Unwritten { unwritten: 3 }));
    sink.release();
    audit.flush(FOREVER).await.unwrap();
}

#[tokio::test]
async fn every_sink_gets_every_line() {
    let (one, other) = (MemorySink::default(), MemorySink::default());
    let sinks: Vec<Box<dyn Sink>> = vec![Box::new(one.clone()), Box::new(other.clone())];
    let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
    let settings = settings(Durability::Async, OnFault::Deny);
    let audit = Audit::with_sinks(&settings, sinks, clock, Redactor::default()).unwrap();
    for _ in 0..5 {
        audit.record(call("x")).await.unwrap();
    }
    audit.close(FOREVER).await.unwrap();
    assert_eq!(one.lines().len(), 5);
    assert_eq!(one.lines(), other.lines());
}

#[tokio::test]
async fn a_file_gets_its_lines_and_belongs_to_its_owner() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let settings = Settings {
        file: Some(path.clone()),
        ..settings(Durability::Async, OnFault::Deny)
    };
    for run in 1..=2 {
        let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
        let audit = Audit::open(&settings, Vec::new(), clock, Redactor::default()).unwrap();
        audit.record(call("x")).await.unwrap();
        audit.close(FOREVER).await.unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), run);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}

#[tokio::test]
async fn a_secret_of_the_configuration_is_in_no_line() {
    const CANARY: &str = "canary-\"7z3a\"-\u{202e}é";
    let memory = MemorySink::default();
    let sinks: Vec<Box<dyn Sink>> = vec![Box::new(memory.clone())];
    let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
    let settings = settings(Durability::Async, OnFault::Deny);
    let redactor = Redactor::new([&SecretString::from(CANARY)]).unwrap();
    assert!(!format!("{redactor:?}").contains("7z3a"));
    let audit = Audit::with_sinks(&settings, sinks, clock, redactor).unwrap();
    let texts = [
        format!("before {CANARY} after"),
        CANARY.repeat(3),
        // Where the cut falls into the secret, and into what is held of the string.
        format!("{}{CANARY}", "x".repeat(Text::LIMIT - 10)),
        "x".repeat(Text::LIMIT - 10) + &CANARY.repeat(2000),
        serde_json::to_string(CANARY).unwrap(),
    ];
    for text in &texts {
        for kind in Kind::ALL {
            audit
                .record(samples::full(kind, || text.clone()))
                .await
                .unwrap();
        }
    }
    audit.close(FOREVER).await.unwrap();
    let lines = memory.lines();
    assert_eq!(lines.len(), texts.len() * Kind::ALL.len());
    for line in &lines {
        assert!(!line.contains("canary") && !line.contains("7z3a"), "{line}");
        let mut line: Value = line.parse().unwrap();
        let said = line["redactions"].as_array_mut().unwrap().remove(0);
        assert_eq!(said, "configuration_secret");
        for text in samples::texts_of(&line) {
            assert!(text.contains(MARKER), "{text}");
        }
    }
}

#[tokio::test]
async fn a_writer_that_panics_is_a_fault_and_no_hang() {
    let audit = log(Durability::Strict, OnFault::Warn, PanickingSink, quick());
    assert_eq!(audit.record(call("x")).await, Err(AuditFault::Closed));
    assert_eq!(audit.record(call("y")).await, Err(AuditFault::Closed));
    assert_eq!(
        audit.close(FOREVER).await,
        Err(AuditFault::Unwritten { unwritten: 1 })
    );
}
