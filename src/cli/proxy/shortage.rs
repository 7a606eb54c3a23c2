//! Logs when memory becomes short, and when it is available again.

use std::convert::Infallible;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use crate::memory::Memory;

/// How often the gate looks whether there is memory again. The log has at most two lines in that time.
const LOOK: Duration = Duration::from_secs(10);

const MIB: usize = 1 << 20;

/// Logs one line at the first refusal, and one when larger messages pass again.
pub(super) async fn tell(memory: &Memory) -> Infallible {
    let mut told = 0;
    loop {
        memory.was_short().await;
        let Some(state) = memory.state() else {
            continue;
        };
        warn!(
            allocated_mib = state.allocated / MIB,
            limit_mib = state.limit / MIB,
            "memory is short: messages and sessions are refused (`limits.max_memory`)"
        );
        sleep(LOOK).await;
        while memory.is_short() {
            sleep(LOOK).await;
        }
        // The next line counts the refusals since the warning.
        let _ = timeout(Duration::ZERO, memory.was_short()).await;
        let refused = memory.state().map_or(told, |state| state.refused);
        info!(
            refused = refused.saturating_sub(told),
            "there is memory again"
        );
        told = refused;
    }
}
