//! What a full disk, a failing sync and a reader that does not read come to.

use std::pin::pin;
use std::time::Duration;

use super::super::backpressure::Backpressure;
use super::super::*;
use super::faulty::FaultySink;
use super::log::{FOREVER, call, lines, log, poll_once, quick, targets};

/// Waits for something that another thread will do.
pub(in crate::audit) async fn until(mut done: impl FnMut() -> bool) {
    while !done() {
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
}

/// The length of the one line that `call("one")` makes.
async fn line_length() -> usize {
    let sink = FaultySink::default();
    let audit = log(Durability::Async, OnFault::Deny, sink.clone(), quick());
    audit.record(call("one")).await.unwrap();
    audit.close(FOREVER).await.unwrap();
    sink.text().len()
}

#[tokio::test]
async fn a_disk_full_at_any_byte_refuses_records_until_there_is_space_and_tears_no_line() {
    for space in 0..line_length().await {
        let sink = FaultySink::with_space(space);
        let audit = log(Durability::Async, OnFault::Deny, sink.clone(), quick());
        audit.record(call("one")).await.unwrap();
        until(|| sink.failures() > 1).await;
        let refused = audit.record(call("two")).await;
        assert!(
            matches!(refused, Err(AuditFault::Write { .. })),
            "{refused:?}"
        );
        assert_eq!(sink.text().len(), space);

        sink.with_unlimited_space();
        audit.flush(FOREVER).await.unwrap();
        audit.record(call("three")).await.unwrap();
        audit.close(FOREVER).await.unwrap();
        let text = sink.text();
        let lines = lines(&text);
        assert_eq!(targets(&lines), ["one", "three"], "{space}");
        assert_eq!(lines[1]["kind"], "audit_gap");
        assert_eq!(lines[1]["lost"], 1);
    }
}

#[tokio::test]
async fn a_strict_record_that_meets_a_full_disk_at_any_byte_is_refused_and_is_there_once() {
    for space in 0..line_length().await {
        let sink = FaultySink::with_space(space);
        let audit = log(Durability::Strict, OnFault::Deny, sink.clone(), quick());
        let refused = audit.record(call("one")).await;
        assert!(
            matches!(refused, Err(AuditFault::Write { .. })),
            "{refused:?}"
        );
        sink.with_unlimited_space();
        audit.flush(FOREVER).await.unwrap();
        audit.record(call("two")).await.unwrap();
        let text = sink.text();
        assert_eq!(targets(&lines(&text)), ["one", "two"]);
    }
}

#[tokio::test]
async fn a_sync_that_fails_refuses_and_writes_no_line_twice() {
    let sink = FaultySink::default();
    sink.fail_to_sync();
    let audit = log(Durability::Strict, OnFault::Deny, sink.clone(), quick());
    let refused = audit.record(call("one")).await.unwrap_err();
    let said = "cannot write audit records to the faulty sink: input/output error";
    assert_eq!(refused.to_string(), said);
    audit.record(call("two")).await.unwrap_err();
    sink.sync_again();
    audit.flush(FOREVER).await.unwrap();
    audit.record(call("three")).await.unwrap();
    let text = sink.text();
    assert_eq!(targets(&lines(&text)), ["one", "three"]);
}

#[tokio::test]
async fn who_waits_for_room_when_writing_fails_is_refused() {
    let sink = FaultySink::default();
    sink.hold();
    let pace = Backpressure {
        queue_bytes: 4096,
        ..quick()
    };
    let audit = log(Durability::Async, OnFault::Deny, sink.clone(), pace);
    let mut waiting = loop {
        let mut next = Box::pin(audit.record(call("x")));
        if poll_once(next.as_mut()).is_pending() {
            break next;
        }
    };
    assert!(poll_once(waiting.as_mut()).is_pending());
    sink.fill_up();
    sink.release();
    assert!(matches!(waiting.await, Err(AuditFault::Write { .. })));
}

#[tokio::test]
async fn with_warn_records_go_on_and_what_did_not_fit_is_counted() {
    for durability in [Durability::Async, Durability::Strict] {
        let sink = FaultySink::with_space(100);
        let pace = Backpressure {
            queue_bytes: 16 * 1024,
            ..quick()
        };
        let audit = log(durability, OnFault::Warn, sink.clone(), pace);
        audit.record(call("first")).await.unwrap();
        until(|| sink.failures() > 0).await;
        for _ in 0..99 {
            audit.record(call("x")).await.unwrap();
        }
        sink.with_unlimited_space();
        audit.flush(FOREVER).await.unwrap();
        audit.record(call("last")).await.unwrap();
        audit.close(FOREVER).await.unwrap();

        let text = sink.text();
        let lines = lines(&text);
        let lost: u64 = lines.iter().filter_map(|line| line["lost"].as_u64()).sum();
        let kept = targets(&lines).len() as u64;
        assert!(lost > 0 && kept > 2, "{lost} {kept}");
        assert_eq!(lost + kept, 101);
        assert_eq!(targets(&lines).last(), Some(&"last"));
        let gaps: Vec<_> = lines
            .iter()
            .filter(|line| line["kind"] == "audit_gap")
            .collect();
        assert_eq!(gaps.len(), 1);
        assert_eq!(gaps[0]["reason"]["code"], "audit_fault");
    }
}

#[tokio::test]
async fn a_log_that_stalls_refuses_instead_of_hanging_and_goes_on_when_it_can() {
    for durability in [Durability::Async, Durability::Strict] {
        let sink = FaultySink::default();
        sink.hold();
        // Long enough for what comes after the stall not to look like one on a busy machine.
        let patience = Duration::from_millis(500);
        let pace = Backpressure {
            queue_bytes: 4096,
            patience,
            ..quick()
        };
        let audit = log(durability, OnFault::Deny, sink.clone(), pace);
        let mut taken = 0;
        let fault = loop {
            match audit.record(call("x")).await {
                Ok(()) => taken += 1,
                Err(fault) => break fault,
            }
        };
        assert_eq!(fault, AuditFault::Stalled);
        // From now on no caller waits before it gets the fault.
        let next = poll_once(pin!(audit.record(call("y"))));
        assert!(
            matches!(next, std::task::Poll::Ready(Err(AuditFault::Stalled))),
            "{next:?}"
        );

        sink.release();
        audit.flush(FOREVER).await.unwrap();
        audit.record(call("z")).await.unwrap();
        audit.close(FOREVER).await.unwrap();
        let text = sink.text();
        let lines = lines(&text);
        assert_eq!(targets(&lines).last(), Some(&"z"));
        let lost: u64 = lines.iter().filter_map(|line| line["lost"].as_u64()).sum();
        let kept = targets(&lines).len() as u64 - 1;
        // A strict record that was waited for in vain is there in the end.
        let waited_for = u64::from(durability == Durability::Strict);
        assert_eq!((kept, lost), (taken + waited_for, 2 - waited_for));
    }
}

#[tokio::test]
async fn with_warn_a_log_that_stalls_costs_one_wait() {
    let sink = FaultySink::default();
    sink.hold();
    let pace = Backpressure {
        queue_bytes: 4096,
        patience: Duration::from_millis(5),
        ..quick()
    };
    let audit = log(Durability::Async, OnFault::Warn, sink.clone(), pace);
    for _ in 0..50 {
        audit.record(call("x")).await.unwrap();
    }
    assert!(matches!(
        poll_once(pin!(audit.record(call("x")))),
        std::task::Poll::Ready(Ok(()))
    ));
    sink.release();
    audit.close(FOREVER).await.unwrap();
    let text = sink.text();
    let lines = lines(&text);
    let lost: u64 = lines.iter().filter_map(|line| line["lost"].as_u64()).sum();
    assert_eq!(targets(&lines).len() as u64 + lost, 51);
}

#[tokio::test]
async fn one_sink_that_fails_keeps_no_record_from_the_other_nor_doubles_one() {
    let (full, memory) = (FaultySink::with_space(30), MemorySink::default());
    let sinks: Vec<Box<dyn Sink>> = vec![Box::new(full.clone()), Box::new(memory.clone())];
    let clock = std::sync::Arc::new(crate::clock::FixedClock(jiff::Timestamp::UNIX_EPOCH));
    let settings = super::log::settings(Durability::Async, OnFault::Warn);
    let audit = Audit::start(
        &settings,
        sinks,
        Vec::new(),
        clock,
        Redactor::default(),
        quick(),
    )
    .unwrap();
    audit.record(call("one")).await.unwrap();
    until(|| full.failures() > 3).await;
    assert_eq!(memory.lines().len(), 1);
    full.with_unlimited_space();
    audit.close(FOREVER).await.unwrap();
    assert_eq!(memory.lines().join("\n") + "\n", full.text());
}

#[tokio::test]
async fn a_log_that_nobody_holds_any_more_writes_what_it_can_and_ends() {
    let sink = FaultySink::default();
    let audit = log(Durability::Async, OnFault::Deny, sink.clone(), quick());
    for _ in 0..10 {
        audit.record(call("x")).await.unwrap();
    }
    drop(audit);
    until(|| sink.text().lines().count() == 10).await;

    let full = FaultySink::with_space(10);
    let audit = log(Durability::Async, OnFault::Deny, full.clone(), quick());
    audit.record(call("x")).await.unwrap();
    drop(audit);
    // The thread holds the other clone; it ends though its batch cannot be written.
    until(|| full.is_alone()).await;
}

#[tokio::test]
async fn what_a_record_means_may_become_otherwise_while_records_are_written() {
    let sink = FaultySink::with_space(0);
    let audit = log(Durability::Async, OnFault::Deny, sink.clone(), quick());
    audit.record(call("one")).await.unwrap();
    until(|| sink.failures() > 0).await;
    audit.record(call("two")).await.unwrap_err();
    assert_eq!(audit.figures().state, LogState::Denying);
    audit.hold_to(Durability::Async, OnFault::Warn);
    audit.record(call("three")).await.unwrap();
    assert_eq!(audit.figures().state, LogState::Faulty);
    sink.with_unlimited_space();
    audit.flush(FOREVER).await.unwrap();
    audit.hold_to(Durability::Strict, OnFault::Deny);
    audit.record(call("four")).await.unwrap();
    assert!(sink.text().contains("four"), "it is there when it is taken");
    sink.fail_to_sync();
    audit.record(call("five")).await.unwrap_err();
    sink.sync_again();
    audit.flush(FOREVER).await.unwrap();
    // A caller that waits gets what was promised, whatever holds by then.
    sink.hold();
    let mut waiting = Box::pin(audit.record(call("six")));
    assert!(poll_once(waiting.as_mut()).is_pending());
    audit.hold_to(Durability::Async, OnFault::Deny);
    sink.fail_to_sync();
    sink.release();
    waiting.await.unwrap_err();
}
