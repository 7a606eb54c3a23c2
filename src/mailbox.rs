//! A bounded queue with one receiver. It takes memory for queued items alone.
//!
//! It behaves as `tokio::sync::mpsc`, which takes more than a kilobyte while it is empty: an idle session over HTTP
//! has three queues.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, Semaphore};
use tokio::task::coop;

/// The receiver is closed. Has the item that was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed<T>(pub T);

/// Why something is not sent at once; with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsent<T> {
    Full(T),
    Closed(T),
}

/// The half that sends. Clones fill the same queue.
#[derive(Debug)]
pub struct Sender<T>(Arc<Shared<T>>);

/// The half that reads.
#[derive(Debug)]
pub struct Receiver<T>(Arc<Shared<T>>);

#[derive(Debug)]
struct Shared<T> {
    queue: Mutex<Queue<T>>,
    /// Free places; closed with the queue.
    places: Semaphore,
    /// Wakes the reader.
    changed: Notify,
}

#[derive(Debug)]
struct Queue<T> {
    waiting: VecDeque<T>,
    senders: usize,
    is_closed: bool,
}

/// A queue in which so many may wait.
pub fn mailbox<T>(places: usize) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared {
        queue: Mutex::new(Queue {
            waiting: VecDeque::new(),
            senders: 1,
            is_closed: false,
        }),
        places: Semaphore::new(places),
        changed: Notify::new(),
    });
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

impl<T> Sender<T> {
    /// Sends it when there is room. Cancel-safe: a future that is dropped has sent it or nothing.
    ///
    /// # Errors
    /// [`Closed`] when the receiver is closed.
    pub async fn send(&self, item: T) -> Result<(), Closed<T>> {
        match self.0.places.acquire().await {
            Ok(place) => {
                place.forget();
                self.0.put(item)
            }
            Err(_) => Err(Closed(item)),
        }
    }

    /// Sends it if there is room now.
    ///
    /// # Errors
    /// [`Unsent`] says why not.
    pub fn try_send(&self, item: T) -> Result<(), Unsent<T>> {
        match self.0.places.try_acquire() {
            Ok(place) => {
                place.forget();
                self.0
                    .put(item)
                    .map_err(|Closed(item)| Unsent::Closed(item))
            }
            Err(_) if self.is_closed() => Err(Unsent::Closed(item)),
            Err(_) => Err(Unsent::Full(item)),
        }
    }

    pub fn is_closed(&self) -> bool {
        self.0.queue().is_closed
    }
}

impl<T> Receiver<T> {
    /// The next one; none when nothing waits and nothing can come. Cancel-safe.
    pub async fn recv(&mut self) -> Option<T> {
        // A receiver of a full queue lets other tasks run, too.
        coop::consume_budget().await;
        loop {
            {
                let mut queue = self.0.queue();
                if let Some(item) = queue.waiting.pop_front() {
                    self.0.places.add_permits(1);
                    return Some(item);
                }
                if queue.is_closed || queue.senders == 0 {
                    return None;
                }
            }
            self.0.changed.notified().await;
        }
    }

    /// Nothing more is taken; what waits can still be read.
    pub fn close(&mut self) {
        self.0.queue().is_closed = true;
        self.0.places.close();
    }
}

impl<T> Shared<T> {
    fn put(&self, item: T) -> Result<(), Closed<T>> {
        {
            let mut queue = self.queue();
            if queue.is_closed {
                return Err(Closed(item));
            }
            queue.waiting.push_back(item);
        }
        self.changed.notify_one();
        Ok(())
    }

    fn queue(&self) -> MutexGuard<'_, Queue<T>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        let senders = &mut self.0.queue().senders;
        *senders = senders.saturating_add(1);
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let left = {
            let senders = &mut self.0.queue().senders;
            *senders = senders.saturating_sub(1);
            *senders
        };
        if left == 0 {
            self.0.changed.notify_one();
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.close();
        // Dropped without the lock: what waits may hold a sender.
        let waiting = std::mem::take(&mut self.0.queue().waiting);
        drop(waiting);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Poll;

    use super::*;

    /// What a future says when it is asked once.
    async fn asked_once<F: Future + Unpin>(mut future: F) -> Option<F::Output> {
        std::future::poll_fn(|context| {
            Poll::Ready(match std::pin::Pin::new(&mut future).poll(context) {
                Poll::Ready(output) => Some(output),
                Poll::Pending => None,
            })
        })
        .await
    }

    #[tokio::test]
    async fn what_is_sent_is_read_in_order_and_the_end_is_seen() {
        let (sender, mut receiver) = mailbox(4);
        let other = sender.clone();
        sender.send(1).await.unwrap();
        other.send(2).await.unwrap();
        drop(sender);
        assert_eq!(receiver.recv().await, Some(1));
        assert_eq!(receiver.recv().await, Some(2));
        let reading = tokio::spawn(async move { receiver.recv().await });
        tokio::task::yield_now().await;
        drop(other);
        assert_eq!(reading.await.unwrap(), None);
    }

    #[tokio::test]
    async fn no_more_wait_than_there_are_places() {
        let (sender, mut receiver) = mailbox(1);
        assert_eq!(sender.try_send(1), Ok(()));
        assert_eq!(sender.try_send(2), Err(Unsent::Full(2)));
        let mut third = pin!(sender.send(3));
        assert_eq!(asked_once(third.as_mut()).await, None);
        assert_eq!(receiver.recv().await, Some(1));
        assert_eq!(third.await, Ok(()));
        assert_eq!(receiver.recv().await, Some(3));
        assert_eq!(sender.try_send(4), Ok(()));
    }

    #[tokio::test]
    async fn after_it_is_closed_what_waits_is_read_and_nothing_is_taken() {
        let (sender, mut receiver) = mailbox(1);
        assert_eq!(sender.send(1).await, Ok(()));
        let mut late = pin!(sender.send(2));
        assert_eq!(asked_once(late.as_mut()).await, None);
        assert!(!sender.is_closed());
        receiver.close();
        assert!(sender.is_closed());
        assert_eq!(late.await, Err(Closed(2)));
        assert_eq!(sender.try_send(3), Err(Unsent::Closed(3)));
        assert_eq!(receiver.recv().await, Some(1));
        assert_eq!(receiver.recv().await, None);
    }

    #[tokio::test]
    async fn a_message_that_got_its_place_before_the_end_is_not_lost_unsaid() {
        let (sender, mut receiver) = mailbox(1);
        receiver.close();
        assert_eq!(sender.0.put(1), Err(Closed(1)));
        assert_eq!(receiver.recv().await, None);
    }

    #[test]
    fn what_waits_is_dropped_with_the_reader() {
        let (sender, receiver) = mailbox(2);
        let (held, gone) = mailbox::<()>(1);
        assert!(sender.try_send(gone).is_ok());
        assert!(!held.is_closed());
        drop(receiver);
        assert!(held.is_closed());
        assert!(sender.is_closed());
    }
}
