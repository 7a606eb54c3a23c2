//! Work that may take long, apart from the threads that others wait for.

use std::future::poll_fn;
use std::pin::Pin;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Bytes of a message from which on its work is done apart. The most costly contents take
/// about 50 ns a byte (benchmark `worst`), so that less takes under 1 ms.
const LONG: usize = 16 * 1024;

/// Does what a message of so many bytes needs.
pub fn work<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if is_apart(bytes) {
        // The thread's other tasks go on on another one.
        block_in_place(work)
    } else {
        work()
    }
}

/// Waits for another thread.
pub(super) fn wait<T>(wait: impl FnOnce() -> T) -> T {
    work(LONG, wait)
}

/// The same of work that waits in between.
pub(super) async fn steps<F: Future>(bytes: usize, mut work: Pin<&mut F>) -> F::Output {
    let is_apart = is_apart(bytes);
    poll_fn(|context| {
        if is_apart {
            block_in_place(|| work.as_mut().poll(context))
        } else {
            work.as_mut().poll(context)
        }
    })
    .await
}

/// A runtime of one thread serves one agent, which waits for its own message anyway.
fn is_apart(bytes: usize) -> bool {
    let is_shared = || {
        Handle::try_current()
            .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
    };
    bytes >= LONG && is_shared()
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::mpsc::sync_channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn long_work_keeps_no_other_task_from_the_only_thread() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        for is_polled in [false, true] {
            let (tell, other) = sync_channel(1);
            let long = runtime.spawn(async move {
                tokio::spawn(async move { tell.send(()).unwrap() });
                // Keeps its thread until the other task has run.
                let wait = move || other.recv_timeout(Duration::from_secs(20)).is_ok();
                if is_polled {
                    steps(LONG, pin!(async move { wait() })).await
                } else {
                    work(LONG, wait)
                }
            });
            assert!(runtime.block_on(long).unwrap(), "{is_polled}");
        }
    }

    #[test]
    fn work_is_done_without_a_runtime_and_with_one_thread() {
        assert_eq!(work(LONG, || 1), 1);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        assert_eq!(runtime.block_on(steps(LONG, pin!(async { 2 }))), 2);
    }
}
