//! A sink beside the record stops nothing, loses nothing of the record, and tells what it misses.

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::Value;

use super::super::backpressure::Backpressure;
use super::super::*;
use super::faulty::{FaultySink, PanickingSink};
use super::log::{FOREVER, call, lines, poll_once, quick, settings, targets};
use super::outage::until;
use crate::clock::FixedClock;

const MODES: [(Durability, OnFault); 4] = [
    (Durability::Async, OnFault::Deny),
    (Durability::Async, OnFault::Warn),
    (Durability::Strict, OnFault::Deny),
    (Durability::Strict, OnFault::Warn),
];

/// A log with a record and one sink that follows it.
fn log(
    (durability, on_fault): (Durability, OnFault),
    record: impl Sink + 'static,
    follower: impl Sink + 'static,
    pace: Backpressure,
) -> Audit {
    let sinks: Vec<Box<dyn Sink>> = vec![Box::new(record), Box::new(follower)];
    let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
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

/// The lines of a follower: every `seq` from one on is there once, or counted in the one gap that
/// stands in its place. Answers how many are there, and each gap.
pub(in crate::audit) fn accounted(text: &str) -> (u64, Vec<u64>) {
    assert!(text.is_empty() || text.ends_with('\n'), "torn: {text}");
    let (mut seq, mut there, mut gaps) = (0, 0, Vec::new());
    for line in text.lines() {
        let line: Value = line.parse().unwrap();
        if line["kind"] == "audit_gap" {
            assert_eq!(line["reason"]["code"], "stream_behind");
            gaps.push(line["lost"].as_u64().unwrap());
            seq += gaps.last().unwrap();
        } else {
            there += 1;
            seq += 1;
        }
        assert_eq!(line["seq"], seq, "{text}");
    }
    (there, gaps)
}

#[tokio::test]
async fn a_stream_that_takes_nothing_stops_nobody_and_is_told_once_what_it_missed() {
    for mode in MODES {
        let (record, stuck) = (FaultySink::default(), FaultySink::default());
        stuck.hold();
        let pace = Backpressure {
            queue_bytes: 4096,
            ..quick()
        };
        let audit = log(mode, record.clone(), stuck.clone(), pace);
        for _ in 0..100 {
            audit.record(call("x")).await.unwrap();
        }
        until(|| record.text().lines().count() == 100).await;
        assert_eq!(stuck.text(), "");

        stuck.release();
        audit.flush(FOREVER).await.unwrap();
        let (there, gaps) = accounted(&stuck.text());
        assert_eq!(gaps, [100 - there], "{mode:?}");
        audit.record(call("last")).await.unwrap();
        audit.close(FOREVER).await.unwrap();
        assert_eq!(accounted(&stuck.text()), (there + 1, gaps));
        let (record, stuck) = (record.text(), stuck.text());
        assert_eq!(lines(&record).len(), 101);
        assert_eq!(record.lines().last(), stuck.lines().last());
        for line in stuck.lines().filter(|line| !line.contains("audit_gap")) {
            assert!(record.lines().any(|recorded| recorded == line));
        }
    }
}

#[tokio::test]
async fn an_end_waits_for_a_stream_that_reads_but_not_for_one_that_does_not() {
    for mode in MODES {
        let (record, stuck) = (FaultySink::default(), FaultySink::default());
        stuck.hold();
        let pace = Backpressure {
            grace: Duration::from_millis(1),
            ..quick()
        };
        let audit = log(mode, record.clone(), stuck.clone(), pace);
        for _ in 0..10 {
            audit.record(call("x")).await.unwrap();
        }
        audit.close(FOREVER).await.unwrap();
        assert_eq!(lines(&record.text()).len(), 10);
        stuck.release();

        let (record, slow) = (FaultySink::default(), FaultySink::default());
        slow.hold();
        let audit = log(mode, record.clone(), slow.clone(), quick());
        for _ in 0..10 {
            audit.record(call("x")).await.unwrap();
        }
        let mut closing = pin!(audit.close(FOREVER));
        tokio::select! {
            ended = closing.as_mut() => panic!("{ended:?}"),
            () = until(|| record.text().lines().count() == 10) => {}
        }
        slow.release();
        closing.await.unwrap();
        assert_eq!(slow.text(), record.text());
    }
}

#[tokio::test]
async fn a_record_that_stalls_keeps_no_line_from_the_stream() {
    let (record, stream) = (FaultySink::default(), MemorySink::default());
    record.hold();
    let mode = (Durability::Strict, OnFault::Deny);
    let audit = log(mode, record.clone(), stream.clone(), quick());
    let mut waiting = pin!(audit.record(call("x")));
    assert!(matches!(poll_once(waiting.as_mut()), Poll::Pending));
    until(|| stream.lines().len() == 1).await;
    record.release();
    waiting.await.unwrap();
    audit.close(FOREVER).await.unwrap();
    assert_eq!(stream.lines().join("\n") + "\n", record.text());
}

#[tokio::test]
async fn a_stream_that_fails_at_any_byte_is_no_fault_and_has_every_line_once() {
    for space in 0..300 {
        let (record, failing) = (MemorySink::default(), FaultySink::with_space(space));
        let mode = (Durability::Strict, OnFault::Deny);
        let audit = log(mode, record.clone(), failing.clone(), quick());
        for target in ["one", "two"] {
            audit.record(call(target)).await.unwrap();
        }
        until(|| failing.failures() > 0).await;
        failing.with_unlimited_space();
        audit.close(FOREVER).await.unwrap();
        let text = failing.text();
        assert_eq!(targets(&lines(&text)), ["one", "two"], "{space}");
        assert_eq!(record.lines().join("\n") + "\n", text);
    }
}

#[tokio::test]
async fn lines_of_any_length_reach_a_stream_whole_and_in_order() {
    let (record, stream) = (MemorySink::default(), MemorySink::default());
    let mode = (Durability::Async, OnFault::Deny);
    let audit = log(mode, record.clone(), stream.clone(), quick());
    for length in [1, 10, 60, 1, 64, 1] {
        // Each of the strings is cut at a kilobyte; together they are longer than a pipe holds.
        let ids = vec!["\u{1}".repeat(1000); length];
        audit.record(call("x").policies(ids)).await.unwrap();
    }
    audit.close(FOREVER).await.unwrap();
    assert_eq!(record.lines().len(), 6);
    assert_eq!(record.lines(), stream.lines());
}

#[tokio::test]
async fn a_stream_whose_thread_is_gone_is_no_fault() {
    for mode in MODES {
        let record = MemorySink::default();
        let audit = log(mode, record.clone(), PanickingSink, quick());
        for _ in 0..3 {
            audit.record(call("x")).await.unwrap();
            audit.flush(FOREVER).await.unwrap();
        }
        audit.close(FOREVER).await.unwrap();
        assert_eq!(record.lines().len(), 3);
    }
}

#[tokio::test]
async fn a_log_that_nobody_holds_lets_go_of_a_stream_that_fails() {
    let (record, full) = (MemorySink::default(), FaultySink::with_space(10));
    let mode = (Durability::Async, OnFault::Deny);
    let audit = log(mode, record.clone(), full.clone(), quick());
    audit.record(call("x")).await.unwrap();
    drop(audit);
    until(|| full.is_alone()).await;
    // The record has a thread of its own, which may come later.
    until(|| record.lines().len() == 1).await;
}

#[derive(Debug, Clone, Copy)]
enum SinkStep {
    Record(usize),
    Hold,
    Release,
    FillUp,
    Empty,
}

fn step() -> impl Strategy<Value = SinkStep> {
    prop_oneof![
        4 => (1..30_usize).prop_map(SinkStep::Record),
        1 => Just(SinkStep::Hold),
        1 => Just(SinkStep::Release),
        1 => Just(SinkStep::FillUp),
        1 => Just(SinkStep::Empty),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whenever_a_stream_takes_lines_each_is_there_once_or_counted_once(
        steps in prop::collection::vec(step(), 0..20),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let (record, stream) = (FaultySink::default(), FaultySink::default());
        let recorded = runtime.block_on(async {
            let pace = Backpressure { queue_bytes: 2048, ..quick() };
            let mode = (Durability::Async, OnFault::Deny);
            let audit = log(mode, record.clone(), stream.clone(), pace);
            let mut recorded = 0;
            for step in steps {
                match step {
                    SinkStep::Record(records) => for _ in 0..records {
                        audit.record(call("x")).await.unwrap();
                        recorded += 1;
                    },
                    SinkStep::Hold => stream.hold(),
                    SinkStep::Release => stream.release(),
                    SinkStep::FillUp => stream.fill_up(),
                    SinkStep::Empty => stream.with_unlimited_space(),
                }
            }
            stream.release();
            stream.with_unlimited_space();
            audit.close(FOREVER).await.unwrap();
            recorded
        });
        prop_assert_eq!(lines(&record.text()).len() as u64, recorded);
        let (there, gaps) = accounted(&stream.text());
        prop_assert_eq!(there + gaps.iter().sum::<u64>(), recorded);
    }
}
