//! The one timer of a connection, which brings one request after the other.

use std::pin::{Pin, pin};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Sleep, sleep};

/// A timer that is set anew for each request. To set it to a later time costs nothing; a timer of
/// its own for each request, sooner than all others, woke the event loop twice for each of them.
#[derive(Debug, Default)]
pub(super) struct Alarm(Mutex<Option<Pin<Box<Sleep>>>>);

impl Alarm {
    /// What comes of `future`; none if that takes longer than `time`.
    pub(super) async fn within<F: Future>(&self, time: Duration, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        let mut timer = self.set(time);
        let done = tokio::select! {
            biased;
            done = future.as_mut() => Some(done),
            () = timer.as_mut() => None,
        };
        *self.kept() = Some(timer);
        done
    }

    fn set(&self, time: Duration) -> Pin<Box<Sleep>> {
        let new = sleep(time);
        let kept = self.kept().take();
        match kept {
            Some(mut timer) => {
                timer.as_mut().reset(new.deadline());
                timer
            }
            None => Box::pin(new),
        }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Option<Pin<Box<Sleep>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_request_has_all_of_its_time() {
        let alarm = Alarm::default();
        let time = Duration::from_secs(2);
        let within = |millis| async move {
            sleep(Duration::from_millis(millis)).await;
        };
        assert_eq!(alarm.within(time, ready(7)).await, Some(7));
        for _ in 0..3 {
            assert!(alarm.within(time, within(1999)).await.is_some());
            assert!(alarm.within(time, within(2001)).await.is_none());
        }
        assert!(alarm.within(time, within(10)).await.is_some());
        let begun = sleep(Duration::ZERO).deadline();
        assert_eq!(alarm.within(time, pending::<()>()).await, None);
        assert_eq!(begun.elapsed(), time);
    }
}
