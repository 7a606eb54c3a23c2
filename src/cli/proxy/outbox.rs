//! Messages that wait, in order, for room at a server that is slow to read. The sender does not wait:
//! the agent's next message may be for the gate alone.

use std::collections::VecDeque;
use std::fmt;
use std::future::{poll_fn, ready};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::sync::Notify;

use crate::gate::UpstreamFault;
use crate::memory::Memory;

/// A message on its way to a server; it resolves when it is queued there, or will never be.
pub(super) type Sending = Pin<Box<dyn Future<Output = Result<(), UpstreamFault>> + Send>>;

/// How many bytes may wait for one server, beside one message that is longer: which part of the memory,
/// or how many without a limit.
const MOST_WAITING: (usize, usize) = (16, 32 * 1024 * 1024);

/// How many bytes may wait for all servers of this process.
const MOST_OF_ALL: (usize, usize) = (4, 128 * 1024 * 1024);

/// Bytes that wait for all servers of this process: its memory is one.
static OF_ALL: AtomicUsize = AtomicUsize::new(0);

/// A message, and what is known of it while it waits.
pub(super) struct Letter {
    /// The id that the gate minted, of a request.
    pub(super) request: Option<u64>,
    pub(super) bytes: usize,
    pub(super) sending: Sending,
}

/// The messages that wait for one server.
#[derive(Debug)]
pub(super) struct Outbox {
    queue: Mutex<Queue>,
    more: Notify,
    most: usize,
    of_all: OfAll,
}

/// What waits for all servers, and how much may.
#[derive(Debug, Clone, Copy)]
struct OfAll {
    waiting: &'static AtomicUsize,
    most: usize,
}

/// Room of all that a message takes while it waits.
struct Room {
    bytes: usize,
    of_all: OfAll,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<(Letter, Room)>,
    bytes: usize,
    /// One has waited in vain, and none was taken since: the others need not wait as long.
    stalled: bool,
}

impl Outbox {
    /// With parts of this memory.
    pub(super) fn within(memory: &Memory) -> Self {
        let part = |(divisor, usual)| memory.part(divisor, usual);
        Self {
            queue: Mutex::default(),
            more: Notify::default(),
            most: part(MOST_WAITING),
            of_all: OfAll {
                waiting: &OF_ALL,
                most: part(MOST_OF_ALL),
            },
        }
    }

    /// Sends a message, or lets it wait until [`Self::unsent`] has sent it.
    ///
    /// # Errors
    /// [`UpstreamFault`] when it will not be sent. That is known at once of a server that has not
    /// read before.
    pub(super) async fn send(&self, letter: Letter) -> Result<(), UpstreamFault> {
        let mut letter = Some(letter);
        poll_fn(|context| Poll::Ready(letter.take().map_or(Ok(()), |it| self.take(it, context))))
            .await
    }

    fn take(&self, mut letter: Letter, context: &mut Context<'_>) -> Result<(), UpstreamFault> {
        let mut queue = self.queue();
        if queue.waiting.is_empty() {
            match letter.sending.as_mut().poll(context) {
                Poll::Ready(sent) => {
                    queue.learn(&sent);
                    return sent;
                }
                Poll::Pending if queue.stalled => return Err(UpstreamFault::Stalled),
                Poll::Pending => {}
            }
        } else if queue.bytes.saturating_add(letter.bytes) > self.most {
            return Err(UpstreamFault::Stalled);
        }
        let room = Room::take(letter.bytes, self.of_all).ok_or(UpstreamFault::Stalled)?;
        queue.bytes = queue.bytes.saturating_add(letter.bytes);
        queue.waiting.push_back((letter, room));
        drop(queue);
        self.more.notify_one();
        Ok(())
    }

    /// Sends what waits, one after the other; resolves with a request that will not be sent.
    /// Cancel-safe.
    pub(super) async fn unsent(&self) -> (u64, UpstreamFault) {
        loop {
            tokio::select! {
                biased;
                unsent = poll_fn(|context| self.go_on(context)) => return unsent,
                () = self.more.notified() => {}
            }
        }
    }

    /// Sends what waits, until nothing does, but no request: each was answered when the conversation ended.
    pub(super) async fn emptied(&self) {
        self.queue().forget_requests();
        poll_fn(|context| {
            // Its agent has an answer already.
            while self.go_on(context).is_ready() {}
            if self.queue().waiting.is_empty() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    fn go_on(&self, context: &mut Context<'_>) -> Poll<(u64, UpstreamFault)> {
        let mut queue = self.queue();
        while let Some((first, _)) = queue.waiting.front_mut() {
            let sent = match first.sending.as_mut().poll(context) {
                Poll::Ready(sent) => sent,
                Poll::Pending if queue.stalled => Err(UpstreamFault::Stalled),
                Poll::Pending => return Poll::Pending,
            };
            queue.learn(&sent);
            let Some((first, _)) = queue.waiting.pop_front() else {
                break;
            };
            queue.bytes = queue.bytes.saturating_sub(first.bytes);
            match (sent, first.request) {
                (Err(fault), Some(request)) => return Poll::Ready((request, fault)),
                (Err(fault), None) => tracing::warn!("a message was not sent: {fault}"),
                (Ok(()), _) => {}
            }
        }
        Poll::Pending
    }

    /// Removes a request whose reply is no longer wanted. False if it does not wait here.
    pub(super) fn take_back(&self, request: u64) -> bool {
        let mut queue = self.queue();
        let at = queue
            .waiting
            .iter()
            .position(|(it, _)| it.request == Some(request));
        let Some((letter, _)) = at.and_then(|at| queue.waiting.remove(at)) else {
            return false;
        };
        queue.bytes = queue.bytes.saturating_sub(letter.bytes);
        drop(queue);
        // The message that is first now must be polled.
        self.more.notify_one();
        true
    }

    /// Nothing that waits is sent any more.
    pub(super) fn close(&self, why: &UpstreamFault) {
        for (letter, _) in &mut self.queue().waiting {
            letter.sending = Box::pin(ready(Err(why.clone())));
        }
        self.more.notify_one();
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room {
    fn take(bytes: usize, of_all: OfAll) -> Option<Self> {
        let with = |taken: usize| {
            let sum = taken.checked_add(bytes)?;
            (sum <= of_all.most).then_some(sum)
        };
        let waiting = of_all.waiting;
        let taken = waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, with);
        taken.ok().map(|_| Self { bytes, of_all })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.of_all.waiting.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Queue {
    fn learn(&mut self, sent: &Result<(), UpstreamFault>) {
        self.stalled = *sent == Err(UpstreamFault::Stalled);
    }

    fn forget_requests(&mut self) {
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        self.waiting = waiting
            .filter(|(letter, _)| letter.request.is_none())
            .collect();
        self.bytes = self.waiting.iter().map(|(letter, _)| letter.bytes).sum();
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("waiting", &self.waiting.len())
            .field("bytes", &self.bytes)
            .field("stalled", &self.stalled)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::sync::oneshot;
    use tokio::time::timeout;

    use super::*;

    fn letter(request: u64, sending: Sending) -> Letter {
        Letter {
            request: Some(request),
            bytes: 1,
            sending,
        }
    }

    fn outbox() -> Outbox {
        Outbox::within(&Memory::default())
    }

    fn never() -> Sending {
        Box::pin(async {
            let waited = timeout(Duration::from_secs(5), pending::<()>()).await;
            waited.map_err(|_| UpstreamFault::Stalled)
        })
    }

    fn at_once() -> Sending {
        Box::pin(ready(Ok(())))
    }

    #[tokio::test(start_paused = true)]
    #[expect(clippy::disallowed_methods, reason = "the clock of the test")]
    async fn whoever_sends_does_not_wait_and_one_stall_is_that_of_all() {
        let outbox = outbox();
        let start = tokio::time::Instant::now();
        for request in 1..=15 {
            assert_eq!(outbox.send(letter(request, never())).await, Ok(()));
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
        for request in 1..=15 {
            let unsent = outbox.unsent().await;
            assert_eq!(unsent, (request, UpstreamFault::Stalled));
        }
        assert_eq!(start.elapsed(), Duration::from_secs(5));
        // It is remembered.
        let again = outbox.send(letter(16, never())).await;
        assert_eq!(again, Err(UpstreamFault::Stalled));
        assert_eq!(start.elapsed(), Duration::from_secs(5));
        // Until something is taken.
        assert_eq!(outbox.send(letter(17, at_once())).await, Ok(()));
        assert_eq!(outbox.send(letter(18, never())).await, Ok(()));
        assert_eq!(outbox.unsent().await, (18, UpstreamFault::Stalled));
        assert_eq!(start.elapsed(), Duration::from_secs(10));
    }

    #[tokio::test]
    async fn what_comes_later_is_sent_later() {
        let outbox = outbox();
        let (room, first) = oneshot::channel::<()>();
        let order = Arc::new(Mutex::new(Vec::new()));
        let noted = |number: u64| {
            let order = Arc::clone(&order);
            move || order.lock().unwrap().push(number)
        };
        let (note, first) = (noted(1), first);
        let waiting: Sending = Box::pin(async move {
            let _ = first.await;
            note();
            Ok(())
        });
        let note = noted(2);
        let ready: Sending = Box::pin(async move {
            note();
            Ok(())
        });
        assert_eq!(outbox.send(letter(1, waiting)).await, Ok(()));
        assert_eq!(outbox.send(letter(2, ready)).await, Ok(()));
        room.send(()).unwrap();
        let idle = timeout(Duration::from_millis(1), outbox.unsent()).await;
        assert!(idle.is_err(), "{idle:?}");
        assert_eq!(*order.lock().unwrap(), [1, 2]);
    }

    #[tokio::test]
    async fn what_is_taken_back_or_closed_is_never_sent() {
        let outbox = outbox();
        for request in 1..=3 {
            outbox.send(letter(request, never())).await.unwrap();
        }
        assert!(outbox.take_back(2));
        assert!(!outbox.take_back(2));
        outbox.close(&UpstreamFault::Left);
        assert_eq!(outbox.unsent().await, (1, UpstreamFault::Left));
        assert_eq!(outbox.unsent().await, (3, UpstreamFault::Left));
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_emptied_when_everything_but_requests_was_sent_or_never_will_be() {
        let outbox = outbox();
        outbox.emptied().await;
        let (room, first) = oneshot::channel::<()>();
        let waiting: Sending = Box::pin(async move {
            let _ = first.await;
            Ok(())
        });
        let notification = |sending| Letter {
            request: None,
            ..letter(0, sending)
        };
        assert_eq!(outbox.send(notification(waiting)).await, Ok(()));
        assert_eq!(outbox.send(letter(1, never())).await, Ok(()));
        assert_eq!(outbox.send(notification(never())).await, Ok(()));
        let early = timeout(Duration::from_millis(1), outbox.emptied()).await;
        assert!(early.is_err());
        // Its agent has the answer that it was not sent.
        assert!(!outbox.take_back(1));
        room.send(()).unwrap();
        outbox.emptied().await;
        assert!(outbox.queue().waiting.is_empty());
    }

    #[tokio::test]
    async fn what_waits_has_a_limit_in_bytes() {
        let outbox = outbox();
        let large = |request| Letter {
            bytes: MOST_WAITING.1,
            ..letter(request, never())
        };
        assert_eq!(outbox.send(large(1)).await, Ok(()));
        assert_eq!(outbox.send(large(2)).await, Err(UpstreamFault::Stalled));
        assert!(outbox.take_back(1));
        assert_eq!(outbox.send(large(3)).await, Ok(()));
    }

    #[tokio::test]
    async fn what_waits_for_all_servers_has_one_limit_in_bytes() {
        let waiting: &'static AtomicUsize = Box::leak(Box::default());
        let outboxes: Vec<Outbox> = (0..5)
            .map(|_| Outbox {
                of_all: OfAll {
                    waiting,
                    most: MOST_OF_ALL.1,
                },
                ..outbox()
            })
            .collect();
        let large = || Letter {
            bytes: MOST_WAITING.1,
            ..letter(1, never())
        };
        let (last, others) = outboxes.split_last().unwrap();
        for outbox in others {
            assert_eq!(outbox.send(large()).await, Ok(()));
        }
        assert_eq!(last.send(large()).await, Err(UpstreamFault::Stalled));
        assert!(others[0].take_back(1));
        assert_eq!(last.send(large()).await, Ok(()));
        drop(outboxes);
        assert_eq!(waiting.load(Ordering::Relaxed), 0);
    }
}
