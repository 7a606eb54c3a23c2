//! What end-to-end benchmarks share.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) type Failure = Box<dyn std::error::Error>;

#[expect(
    clippy::disallowed_methods,
    reason = "to take the time is what this is for"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

pub(crate) fn installed(program: &str) -> bool {
    Command::new("which")
        .arg(program)
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// In microseconds.
pub(crate) fn percentile(sorted: &[Duration], percent: usize) -> f64 {
    let index = sorted.len() * percent / 100;
    sorted
        .get(index)
        .map_or(0.0, |time| time.as_secs_f64() * 1e6)
}
