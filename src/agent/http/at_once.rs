//! A future that wakes itself while it is polled, and is polled again at once.

use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Stands between one future and the task that polls it. A task that is woken while it runs goes
/// to the end of its thread's queue, and another thread is woken to take it from there; hyper wakes
/// a connection so with every body that is read.
#[derive(Debug)]
pub(super) struct AtOnce {
    between: Arc<Between>,
    waker: Waker,
}

#[derive(Debug, Default)]
struct Between {
    state: AtomicU8,
    task: Mutex<Option<Waker>>,
}

const POLLED: u8 = 1;
const WOKEN: u8 = 2;

/// How often a future is polled in a row: one that wakes itself again and again lets others run.
const MOST: u32 = 4;

impl AtOnce {
    pub(super) fn new() -> Self {
        let between = Arc::<Between>::default();
        let waker = Waker::from(Arc::clone(&between));
        Self { between, waker }
    }

    pub(super) fn poll<F: Future>(
        &self,
        cx: &mut Context<'_>,
        mut future: Pin<&mut F>,
    ) -> Poll<F::Output> {
        self.between.belongs_to(cx.waker());
        for _ in 0..MOST {
            // What woke it until now is what this is for.
            self.between.state.store(POLLED, Ordering::SeqCst);
            let polled = future.as_mut().poll(&mut Context::from_waker(&self.waker));
            let state = self.between.state.swap(0, Ordering::SeqCst);
            if polled.is_ready() || state & WOKEN == 0 {
                return polled;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Between {
    fn belongs_to(&self, task: &Waker) {
        let mut known = self.task();
        if known.as_ref().is_none_or(|known| !known.will_wake(task)) {
            *known = Some(task.clone());
        }
    }

    fn task(&self) -> MutexGuard<'_, Option<Waker>> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Between {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let before = self.state.fetch_or(WOKEN, Ordering::SeqCst);
        // Whoever polls looks again before it returns.
        if before & POLLED != 0 {
            return;
        }
        let task = self.task().clone();
        if let Some(task) = task {
            task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Debug, Default)]
    struct Task(AtomicUsize);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// A future that wakes itself so many times; how often it was polled, and its task woken.
    #[track_caller]
    fn check(times: usize, polls: usize, woken: usize) {
        let task = Arc::<Task>::default();
        let waker = Waker::from(Arc::clone(&task));
        let mut count = 0;
        let mut future = pin!(poll_fn(|cx| {
            count += 1;
            if count <= times {
                cx.waker().wake_by_ref();
            }
            Poll::<()>::Pending
        }));
        let at_once = AtOnce::new();
        let mut cx = Context::from_waker(&waker);
        assert!(at_once.poll(&mut cx, future.as_mut()).is_pending());
        assert_eq!(task.0.load(Ordering::SeqCst), woken);
        assert_eq!(count, polls);
    }

    #[test]
    fn what_wakes_itself_is_polled_at_once_but_not_for_ever() {
        check(0, 1, 0);
        check(1, 2, 0);
        check(3, 4, 0);
        check(4, 4, 1);
        check(1000, 4, 1);
    }

    #[test]
    fn what_is_woken_later_wakes_the_task_that_polled_last() {
        let at_once = AtOnce::new();
        let kept = Mutex::new(None);
        let mut future = pin!(poll_fn(|cx| {
            *kept.lock().unwrap() = Some(cx.waker().clone());
            Poll::<()>::Pending
        }));
        for _ in 0..2 {
            let task = Arc::<Task>::default();
            let waker = Waker::from(Arc::clone(&task));
            let mut cx = Context::from_waker(&waker);
            for times in 1..4 {
                assert!(at_once.poll(&mut cx, future.as_mut()).is_pending());
                kept.lock().unwrap().take().unwrap().wake();
                assert_eq!(task.0.load(Ordering::SeqCst), times);
            }
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_wake_of_another_thread_is_lost() {
        let (tell, mut told) = tokio::sync::mpsc::channel(1);
        let telling = tokio::spawn(async move {
            for number in 0..20_000 {
                tell.send(number).await.unwrap();
            }
        });
        let heard = tokio::spawn(async move {
            let at_once = AtOnce::new();
            let mut all = pin!(async {
                let mut count = 0;
                while told.recv().await.is_some() {
                    count += 1;
                }
                count
            });
            poll_fn(|cx| at_once.poll(cx, all.as_mut())).await
        });
        telling.await.unwrap();
        assert_eq!(heard.await.unwrap(), 20_000);
    }
}
