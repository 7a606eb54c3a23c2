//! Calls wait for the log, and no log makes them wait for ever.

use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use super::pins::{ALL, holding};
use super::*;
use crate::audit::LogState;
use crate::policy::{ChangeKind, Lock, Pinning};

/// Nearly the documented time after which a log that takes nothing counts as failing.
const NEARLY: Duration = Duration::from_millis(4999);

fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Waits for the thread of the log. The time of tokio, which a test may have stopped, stays as it is.
fn until(mut done: impl FnMut() -> bool) {
    // Far more than it takes; a failure should not hang.
    for _ in 0..150_000 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    panic!("it does not happen");
}

async fn begun(durability: Durability) -> Bench {
    let bench = Bench::recording(open, durability, |settings| {
        settings.terms.max_in_flight = 10_000;
    });
    bench.shake_hands().await;
    bench.list(&["safe"]).await;
    bench
}

#[tokio::test]
async fn calls_that_wait_at_once_share_one_flush_and_none_passes_before_it() {
    const CALLS: usize = 64;
    let bench = begun(Durability::Strict).await;
    let before = bench.flush.arrived();
    bench.flush.close();
    // While the log flushes one record, the others come.
    let frame = call("1000", "safe");
    let mut first = pin!(bench.agent(&frame));
    assert!(poll_once(first.as_mut()).is_pending());
    until(|| bench.flush.arrived() == before + 1);
    let frames: Vec<String> = (0..CALLS).map(|id| call(&id.to_string(), "safe")).collect();
    let mut waiting: Vec<_> = frames.iter().map(|it| Box::pin(bench.agent(it))).collect();
    for waits in &mut waiting {
        assert!(poll_once(waits.as_mut()).is_pending());
    }
    assert_eq!(bench.audit.figures().queued, 1 + CALLS as u64);
    assert_eq!(bench.to_upstream(), [""; 0]);

    bench.flush.let_one_pass();
    first.await;
    until(|| bench.flush.arrived() == before + 2);
    for waits in &mut waiting {
        assert!(poll_once(waits.as_mut()).is_pending());
    }
    assert_eq!(bench.to_upstream().len(), 1);

    bench.flush.let_one_pass();
    for waits in waiting {
        waits.await;
    }
    assert_eq!(bench.to_upstream().len(), CALLS);
    assert_eq!(bench.flush.arrived(), before + 2, "one flush for all");
    bench.flush.open();
    assert_eq!(bench.records_of("tool_call").await.len(), 1 + CALLS);
}

#[tokio::test]
async fn while_the_log_is_slow_calls_of_all_sessions_wait_and_none_is_lost() {
    let mut bench = begun(Durability::Strict).await;
    let other = Session::new(SessionId::from_random(8), "http", Server::default(), 0);
    let other = Talk::new(other, Recorder::default(), Recorder::default());
    let first = std::mem::replace(&mut bench.talk, other);
    bench.shake_hands().await;
    bench.list(&["safe"]).await;
    bench.latch.close();
    tokio::time::pause();
    let frame = call("1", "safe");
    let main = crate::wire::Stream::MAIN;
    let talks = [&first, &bench.talk];
    let mut waiting = talks.map(|talk| {
        let handled = bench.gate.handle(talk, Side::Agent, main, frame.as_bytes());
        Box::pin(handled)
    });
    for waits in &mut waiting {
        assert!(poll_once(waits.as_mut()).is_pending());
    }
    tokio::time::advance(NEARLY).await;
    for waits in &mut waiting {
        assert!(poll_once(waits.as_mut()).is_pending());
    }
    assert_eq!(bench.audit.figures().state, LogState::Working);
    assert!(talks.iter().all(|talk| talk.upstream.take().is_empty()));
    bench.latch.open();
    for waits in &mut waiting {
        // Awaited, it would let the stopped time go on.
        until(|| poll_once(waits.as_mut()).is_ready());
    }
    tokio::time::resume();
    assert!(talks.iter().all(|talk| talk.upstream.take().len() == 1));
    let records = bench.records_of("tool_call").await;
    assert_eq!(records.len(), 2);
    assert!(!records.iter().any(|it| it.text().contains("audit_fault")));
    assert_eq!(bench.records_of("audit_gap").await.len(), 0);
}

#[tokio::test]
async fn calls_that_find_the_queue_full_wait_and_none_is_lost() {
    let bench = begun(Durability::Async).await;
    bench.latch.close();
    let mut passed = 0;
    loop {
        let frame = call(&passed.to_string(), "safe");
        let mut next = pin!(bench.agent(&frame));
        if poll_once(next.as_mut()).is_ready() {
            passed += 1;
            continue;
        }
        assert_eq!(bench.to_upstream().len(), passed);
        bench.latch.open();
        next.await;
        break;
    }
    assert!(passed > 0);
    assert_eq!(bench.to_upstream().len(), 1);
    assert_eq!(bench.records_of("tool_call").await.len(), passed + 1);
    assert_eq!(bench.records_of("audit_gap").await.len(), 0);
}

#[tokio::test]
async fn a_log_that_takes_nothing_for_five_seconds_counts_as_failing_until_it_takes_something() {
    for (on_fault, state, passed) in [
        (OnFault::Deny, LogState::Denying, 0),
        (OnFault::Warn, LogState::Faulty, 1),
    ] {
        let bench = begun(Durability::Strict).await;
        bench.audit.hold_to(Durability::Strict, on_fault);
        bench.latch.close();
        let before = bench.latch.arrived();
        tokio::time::pause();
        let frames = ["1", "2", "3"].map(|id| call(id, "safe"));
        let mut first = pin!(bench.agent(&frames[0]));
        assert!(poll_once(first.as_mut()).is_pending());
        until(|| bench.latch.arrived() == before + 1);
        tokio::time::advance(NEARLY).await;
        assert!(poll_once(first.as_mut()).is_pending());
        assert_eq!(bench.audit.figures().state, LogState::Working);
        tokio::time::advance(Duration::from_millis(2)).await;
        assert!(poll_once(first.as_mut()).is_ready());
        assert_eq!(bench.audit.figures().state, state);
        // From now on no call waits.
        let mut second = pin!(bench.agent(&frames[1]));
        assert!(poll_once(second.as_mut()).is_ready());
        tokio::time::resume();
        assert_eq!(bench.to_upstream().len(), 2 * passed);
        let answers = bench.to_agent();
        assert_eq!(answers.len(), 2 - 2 * passed, "{answers:?}");
        assert!(answers.iter().all(|it| it.contains(r#""error""#)));

        bench.latch.open();
        until(|| bench.audit.figures().state == LogState::Working);
        bench.agent(&frames[2]).await;
        assert_eq!(bench.to_upstream().len(), 1);
        let calls = bench.records_of("tool_call").await;
        let marked = calls.iter().map(|it| it.text().contains("audit_fault"));
        let marked: Vec<_> = marked.collect();
        let gaps = bench.records_of("audit_gap").await;
        match on_fault {
            OnFault::Deny => assert_eq!(marked, [false, false]),
            OnFault::Warn => assert_eq!(marked, [false, true, false]),
        }
        assert_eq!(gaps.len(), 1);
        let names_the_first = gaps[0].text().contains(r#""unconfirmed":{"#);
        assert_eq!(names_the_first, on_fault == OnFault::Warn, "{gaps:?}");
    }
}

/// Each change of a tool passes when its own record is written, and none that comes after a fault.
#[tokio::test]
async fn a_change_that_could_not_be_recorded_does_not_pass() {
    let bench = Bench::recording(open, Durability::Strict, |_| {});
    let lock = Lock::new(BTreeMap::new())
        .with_mode(Pinning::TrustOnFirstUse)
        .with_passing([ChangeKind::Adds].into_iter().collect());
    bench.gate.policy.publish(holding(ALL, lock));
    bench.shake_hands().await;
    let list = async |description: &str| {
        bench
            .agent(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
            .await;
        let id = id_of(&bench.to_upstream()[0]);
        let tool = |name: &str| {
            format!(
                r#"{{"name":"{name}","description":"{description}","inputSchema":{{"type":"object"}}}}"#
            )
        };
        let (one, two) = (tool("one"), tool("two"));
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{one},{two}]}}}}"#)
    };
    bench.upstream(&list("Reads it.").await).await;
    assert!(bench.to_agent().remove(0).contains(r#""two""#));
    bench.audit.hold_to(Durability::Strict, OnFault::Deny);
    let changed = list("Raeds it.").await;
    let before = bench.latch.arrived();
    bench.latch.close();
    tokio::time::pause();
    let mut answered = pin!(bench.upstream(&changed));
    assert!(poll_once(answered.as_mut()).is_pending());
    until(|| bench.latch.arrived() == before + 1);
    tokio::time::advance(NEARLY + Duration::from_millis(2)).await;
    assert!(poll_once(answered.as_mut()).is_ready());
    tokio::time::resume();
    let refused = bench.to_agent().remove(0);
    assert!(!refused.contains("Raeds"), "{refused}");
    bench.latch.open();
    until(|| bench.audit.figures().state == LogState::Working);
    bench.upstream(&list("Raeds it.").await).await;
    assert!(bench.to_agent().remove(0).contains("Raeds"));
    let records = bench.records_of("upstream_state").await;
    let told = |name: &str| {
        let records = records.iter();
        let passes = records.filter(|it| it.get(&["reason", "code"]) == "tool_change_passes");
        passes.filter(|it| it.get(&["target"]) == name).count()
    };
    // The record that the log took late is there as well.
    assert!(told("one") >= 1 && told("two") == 1, "{records:?}");
}
