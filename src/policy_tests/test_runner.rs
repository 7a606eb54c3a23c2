//! Runs one test, also once more for what else can be learnt of it: which parts of the policies it reaches,
//! and whether it notices when a policy is another.

use std::sync::Arc;

use super::bench::Bench;
use super::fixture::{Plan, Test};
use super::load::Suite;
use super::recorder::Recorder;
use super::replay;
use super::report::TestReport;
use crate::gate;
use crate::policy::PolicySnapshot;

/// Cedar evaluates recursively; this is what the gate's own thread has.
pub(super) const STACK_BYTES: usize = 32 * 1024 * 1024;

/// What runs tests of a suite under policies of its own.
pub(super) struct TestRunner<'s> {
    runtime: &'s tokio::runtime::Runtime,
    bench: Bench<'s>,
}

/// What a test came to.
pub(super) async fn report(bench: &Bench<'_>, test: &Test) -> TestReport {
    match &test.plan {
        Plan::Replay(recorded) => Box::pin(replay::replay(bench, test, recorded)).await,
        Plan::Message(_) | Plan::Conversation(_) => {
            let came = Box::pin(bench.judge(test)).await;
            TestReport::new(test, came, &bench.policies)
        }
    }
}

/// What a gate runs on: parts of it wait no longer than so long, as for a disk.
pub(super) fn timed_runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
}

/// Does something on a thread with the stack of the gate's own; nothing if it fails.
pub(super) fn on_gate_stack<T: Send>(
    work: impl FnOnce(&tokio::runtime::Runtime) -> T + Send,
) -> Option<T> {
    let runtime = timed_runtime().ok()?;
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("gate".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || work(&runtime));
        thread.ok()?.join().ok()
    })
}

impl<'s> TestRunner<'s> {
    pub(super) fn new(
        runtime: &'s tokio::runtime::Runtime,
        suite: &'s Suite,
        policies: Arc<PolicySnapshot>,
        settings: &'s gate::Settings,
        witness: Option<&'s Recorder>,
    ) -> Self {
        Self {
            runtime,
            bench: Bench::under(policies, suite, settings, witness),
        }
    }

    /// What the test comes to.
    pub(super) fn run(&self, test: &Test) -> TestReport {
        self.runtime.block_on(report(&self.bench, test))
    }
}
