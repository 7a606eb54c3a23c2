//! Removes the files of results when they are too old.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::gate::Gate;

/// How long a file may be there after its time.
const LOOK: Duration = Duration::from_mins(1);

/// Looks at all directories of results, the first time at once: a gate before this one may have left some.
pub(super) async fn keep_removing(gate: &Arc<Gate>) -> Infallible {
    loop {
        let gate = Arc::clone(gate);
        // What it could not look at has its turn the next time.
        let _ = spawn_blocking(move || gate.remove_old_results()).await;
        sleep(LOOK).await;
    }
}
