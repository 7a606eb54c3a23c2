//! Removes the files of results when they are too old.

use std::convert::Infallible;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::gate::Gate;

/// Time between sweeps.
const SWEEP_INTERVAL: Duration = Duration::from_mins(1);

/// Looks at all directories of results, the first time at once: a gate before this one may have left some.
pub(super) async fn keep_removing(gate: &Arc<Gate>) -> Infallible {
    loop {
        sweep(Arc::clone(gate)).await;
        sleep(SWEEP_INTERVAL).await;
    }
}

/// In a thread of its own: a disk that does not answer must not keep the gate from its end. What it could not
/// look at has its turn the next time.
async fn sweep(gate: Arc<Gate>) {
    let (done, over) = oneshot::channel();
    let sweeping = move || {
        gate.remove_old_results();
        // While the gate stops, no task waits for it.
        let _ = done.send(());
    };
    let thread = thread::Builder::new().name("result-sweep".to_owned());
    if thread.spawn(sweeping).is_ok() {
        let _ = over.await;
    }
}
