//! What runs, as Linux tells it.

use std::fs;
use std::thread;
use std::time::Duration;

use super::setup::MARK;

/// Far longer than a killed process needs to go, and shorter than the minute after which the
/// fixture's stubborn processes end by themselves.
const BRIEFLY: Duration = Duration::from_secs(30);

/// The processes that carry a test's mark in their environment, by id and name.
///
/// A zombie has no environment any more and is not among them.
pub(crate) fn marked(mark: &str) -> Vec<(u32, String)> {
    let wanted = format!("{MARK}={mark}");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let pid = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let Some(pid) = pid else { continue };
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment
            .split(|byte| *byte == 0)
            .any(|variable| variable == wanted.as_bytes())
        {
            let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            found.push((pid, name.trim().to_owned()));
        }
    }
    found
}

/// Waits until nothing of a test runs any more.
pub(crate) fn all_end(mark: &str) {
    eventually(|| {
        let left = marked(mark);
        if left.is_empty() {
            Ok(())
        } else {
            Err(format!("processes were left behind: {left:?}"))
        }
    });
}

/// Waits until a check passes.
pub(crate) fn eventually<T>(mut check: impl FnMut() -> Result<T, String>) -> T {
    const STEP: Duration = Duration::from_millis(20);
    let mut waited = Duration::ZERO;
    loop {
        match check() {
            Ok(passed) => return passed,
            Err(problem) => assert!(waited < BRIEFLY, "{problem}"),
        }
        thread::sleep(STEP);
        waited += STEP;
    }
}
