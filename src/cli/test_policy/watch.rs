//! `--watch`: runs the tests again whenever something that they depend on changes.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::super::args::TestPolicyArgs;
use super::super::exit::Exit;
use super::single_run::{run_once, settings};
use crate::config::Config;
use crate::loading::{PathChanges, WakeReason, Waker};
use crate::policy_tests;

/// The present waiter for changes.
type CurrentWaker = Arc<Mutex<Option<Waker>>>;

/// Runs until an interrupt; the exit code is that of the last run.
pub(super) fn watch(args: &TestPolicyArgs, stdout: &mut dyn Write) -> Exit {
    let ended = Arc::new(AtomicBool::new(false));
    let Ok(waiting) = heed_interrupts(&ended) else {
        tell("interrupts cannot be heeded here, so that nothing would end the watch");
        return Exit::TestsNotRun;
    };
    loop {
        // Before the tests read anything, so that no change escapes.
        let changes = PathChanges::of(watched(args));
        // INVARIANT: set before `ended` is asked, so that an interrupt is either seen or wakes.
        *waiting.lock().unwrap_or_else(PoisonError::into_inner) = Some(changes.waker());
        let last = run_once(args, stdout);
        tell("watching; Ctrl-C ends");
        match changes.wait(|| ended.load(Ordering::Acquire)) {
            WakeReason::Changed => tell("changed"),
            WakeReason::Ended => return last,
        }
    }
}

/// Everything that a result depends on.
fn watched(args: &TestPolicyArgs) -> Vec<PathBuf> {
    let config = args.config.as_deref().map(Config::load_offline);
    // What a configuration names that cannot be read is not known; it is watched itself.
    let config = config.and_then(Result::ok);
    let mut paths = policy_tests::watched(&settings(args, config.as_ref()));
    paths.extend(args.config.clone());
    paths
}

/// From now on an interrupt sets `ended` and wakes the waiter.
fn heed_interrupts(ended: &Arc<AtomicBool>) -> io::Result<CurrentWaker> {
    let waiting = CurrentWaker::default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let (ended, sleeper) = (Arc::clone(ended), Arc::clone(&waiting));
    thread::Builder::new()
        .name("interrupts".to_owned())
        .spawn(move || {
            if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
                ended.store(true, Ordering::Release);
                if let Some(waker) = &*sleeper.lock().unwrap_or_else(PoisonError::into_inner) {
                    waker.wake();
                }
            }
        })?;
    Ok(waiting)
}

fn tell(text: &str) {
    // A closed stderr has no reader.
    let _ = writeln!(io::stderr(), "── {text} ──");
}
