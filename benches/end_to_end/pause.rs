//! Pauses that end when they should.

use std::time::Instant;

use super::measure::now;

/// Pauses of the thread that made it.
#[derive(Debug)]
pub(crate) struct Pauses(());

impl Pauses {
    /// Asks the kernel to wake this thread when it asked to be woken, and not up to 50 µs later.
    pub(crate) fn new() -> Self {
        if let Ok(task) = std::fs::read_link("/proc/thread-self")
            && let Some(id) = task.file_name().and_then(|name| name.to_str())
        {
            // Without the right to, pauses are that much longer, on all paths alike.
            let _ = std::fs::write(format!("/proc/{id}/timerslack_ns"), "1");
        }
        Self(())
    }

    #[expect(
        clippy::unused_self,
        reason = "a thread that has not asked would wake up late"
    )]
    pub(crate) fn until(&self, then: Instant) {
        let pause = then.saturating_duration_since(now());
        if !pause.is_zero() {
            std::thread::sleep(pause);
        }
    }
}
