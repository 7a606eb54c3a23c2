//! Tests once more, for what else can be learnt of them: which parts of the policies they reach,
//! and whether they notice when a policy is another.

use std::sync::Arc;

use super::fixture::Test;
use super::judge::SuiteContext;
use super::load::Suite;
use super::recorder::Recorder;
use super::report::TestReport;
use super::run::{STACK_BYTES, timed_runtime};
use crate::gate;
use crate::policy::{PolicyStore, Server};

/// What runs tests of a suite under policies of its own.
pub(super) struct TestRunner<'s> {
    runtime: &'s tokio::runtime::Runtime,
    bench: SuiteContext<'s>,
}

/// The server of a suite.
pub(super) fn server(suite: &Suite) -> Server {
    Server {
        name: suite.server.clone(),
        ..Server::default()
    }
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
        server: &'s Server,
        policies: Arc<PolicyStore>,
        settings: &'s gate::Settings,
        witness: Option<&'s Recorder>,
    ) -> Self {
        Self {
            runtime,
            bench: SuiteContext {
                policies,
                witness,
                ..SuiteContext::new(suite, server, settings)
            },
        }
    }

    /// What the test comes to.
    pub(super) fn run(&self, test: &Test) -> TestReport {
        self.runtime.block_on(self.bench.report(test))
    }
}
