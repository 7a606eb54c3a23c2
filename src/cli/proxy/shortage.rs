//! Tells operators that memory is short, and that it is not any more.

use std::convert::Infallible;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use crate::memory::Memory;

/// How often is looked whether there is memory again. The log has at most two lines in that time.
const LOOK: Duration = Duration::from_secs(10);

const MIB: usize = 1 << 20;

/// One line when somebody was refused, and one when larger messages pass again.
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
        // Of those who were refused meanwhile this line tells.
        let _ = timeout(Duration::ZERO, memory.was_short()).await;
        let refused = memory.state().map_or(told, |state| state.refused);
        info!(
            refused = refused.saturating_sub(told),
            "there is memory again"
        );
        told = refused;
    }
}
