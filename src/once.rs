//! Something that happens at most once, and that tasks wait for.

use std::sync::OnceLock;

use tokio::sync::Notify;

/// A value that is set once. It takes a tenth of the room of `tokio::sync::watch`: each idle session has some.
#[derive(Debug)]
pub struct Once<T> {
    value: OnceLock<T>,
    happened: Notify,
}

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self {
            value: OnceLock::new(),
            happened: Notify::new(),
        }
    }
}

impl<T> Once<T> {
    /// The first value stays.
    pub fn set(&self, value: T) {
        if self.value.set(value).is_ok() {
            self.happened.notify_waiters();
        }
    }

    pub fn get(&self) -> Option<&T> {
        self.value.get()
    }

    /// Resolves once there is a value. Cancel-safe.
    pub async fn wait(&self) -> &T {
        loop {
            // It hears what happens from here on.
            let happened = self.happened.notified();
            if let Some(value) = self.value.get() {
                return value;
            }
            happened.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn each_task_that_waits_gets_the_first_value_before_and_after_it_is_set() {
        let once = Arc::new(Once::default());
        let waiting = Arc::clone(&once);
        let waiting = tokio::spawn(async move { *waiting.wait().await });
        tokio::task::yield_now().await;
        assert_eq!(once.get(), None);
        once.set(1);
        once.set(2);
        assert_eq!(waiting.await.unwrap(), 1);
        assert_eq!((*once.wait().await, once.get()), (1, Some(&1)));
    }
}
