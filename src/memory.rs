//! The memory of this process: how much it may be, and whether there is room for more.
//!
//! What is allocated is measured, not added up from messages: whatever holds memory counts. What is
//! about to be allocated is reserved meanwhile, so that many who ask at the same moment cannot all be
//! told that there is room.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use memchr::memchr3_iter;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// A message of fewer bytes is small: it passes for a while after larger ones do not, so that the gate
/// can be asked, and calls be cancelled.
pub const SMALL: usize = 16 * 1024;

/// What the program itself takes, and the stacks of its threads.
const PROGRAM: usize = 48 << 20;

/// What of the rest may be allocated before larger messages are refused, and before all are. The system
/// counts up to 1.75 times as much: what is freed is kept for what is allocated next.
const LARGE_UNTIL: MemoryShare = MemoryShare(7, 16);
const SMALL_UNTIL: MemoryShare = MemoryShare(9, 16);

/// How long a message waits for room that is reserved, where no message of its conversation waits behind it,
/// and where one may.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
const LONGEST_WAIT_BEFORE_OTHERS: Duration = Duration::from_secs(2);

/// How long it may take to free what was judged.
const FREEING: Duration = Duration::from_millis(100);

struct MemoryShare(usize, usize);

impl MemoryShare {
    /// Of this limit.
    const fn of(&self, limit: usize) -> usize {
        limit.saturating_sub(PROGRAM) / self.1 * self.0
    }

    /// The limit of which it is so much.
    const fn all_of(&self, part: usize) -> usize {
        let all = part.div_ceil(self.0).saturating_mul(self.1);
        all.saturating_add(PROGRAM)
    }
}

/// Bytes that an idle gate has allocated.
const IDLE: usize = 16 << 20;

/// What judging a message allocates at most for each of its bytes (copies of its text, with guards), and
/// for each of its values (its tree, and what policies are asked about it). Measured: decision 31.
const OF_A_BYTE: usize = 8;
const OF_A_VALUE: usize = 300;

fn to_judge(bytes: usize, values: usize) -> usize {
    let bytes = bytes.saturating_mul(OF_A_BYTE);
    bytes.saturating_add(values.saturating_mul(OF_A_VALUE))
}

/// At least as many values as a message has, by the bytes that may stand before one.
fn values(message: &[u8]) -> usize {
    let before = memchr3_iter(b',', b'[', b'{', message).count();
    before.saturating_add(1)
}

/// What is allocated while a buffer grows.
fn growth(capacity: usize, come: usize) -> usize {
    if come <= capacity {
        0
    } else {
        come.max(capacity.saturating_mul(2))
    }
}

/// Makes room in a buffer for so many bytes in all, by doubling it, but for no more than it may ever hold.
pub fn grow(buffer: &mut Vec<u8>, come: usize, most: usize) {
    if come > buffer.capacity() {
        let wanted = buffer.capacity().saturating_mul(2).min(most).max(come);
        buffer.reserve_exact(wanted - buffer.len());
    }
}

/// The smallest limit with which a message of so many bytes can be judged.
pub fn least_for(bytes: usize, most_values: usize) -> usize {
    let judged = to_judge(bytes, bytes.min(most_values));
    let held = judged.saturating_add(bytes).saturating_add(IDLE);
    LARGE_UNTIL.all_of(held)
}

/// The memory of this process; clones are the same. The default has no limit.
#[derive(Clone, Default)]
pub struct Memory(Option<Arc<MemoryLimit>>);

struct MemoryLimit {
    limit: usize,
    allocated: Box<dyn Fn() -> usize + Send + Sync>,
    reserved: AtomicUsize,
    /// A reservation has ended.
    given_back: Notify,
    refused: AtomicU64,
    /// A request was rejected.
    short: Notify,
}

/// Room that is reserved until this is dropped. By then it is allocated, or not needed any more.
#[must_use = "room is given back when this is dropped"]
pub struct Reservation {
    memory: Memory,
    bytes: usize,
}

/// What is known of the memory at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryState {
    /// Bytes that the process may take of the system.
    pub limit: usize,
    /// Bytes that are allocated now.
    pub allocated: usize,
    /// How often there was no room so far.
    pub refused: u64,
}

impl Memory {
    /// So many bytes for the whole process, of which `allocated` tells how many are in use now.
    pub fn limited(limit: usize, allocated: impl Fn() -> usize + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(MemoryLimit {
            limit,
            allocated: Box::new(allocated),
            reserved: AtomicUsize::new(0),
            given_back: Notify::new(),
            refused: AtomicU64::new(0),
            short: Notify::new(),
        })))
    }

    /// Room for so many bytes more of a message that has `whole` bytes in all, as far as that is known.
    pub fn room(&self, bytes: usize, whole: usize) -> Option<Reservation> {
        let room = self.reserve(bytes, whole);
        if room.is_none() {
            self.refuses();
        }
        room
    }

    /// Room in which a buffer of so much `capacity` takes `come` bytes of a message: while it grows, old and
    /// new are there at once.
    pub fn room_to_grow(&self, capacity: usize, come: usize) -> Option<Reservation> {
        self.room(growth(capacity, come), come)
    }

    /// Like [`Self::room_to_grow`], but waits up to 20 seconds for room that is reserved.
    pub async fn wait_to_grow(&self, capacity: usize, come: usize) -> Option<Reservation> {
        self.wait(growth(capacity, come), come, LONGEST_WAIT).await
    }

    /// The same for up to 2 seconds, where others wait behind it, for a buffer that has `whole` bytes of a
    /// message by now.
    pub async fn wait_to_grow_before_others(
        &self,
        capacity: usize,
        wanted: usize,
        whole: usize,
    ) -> Option<Reservation> {
        self.wait(growth(capacity, wanted), whole, LONGEST_WAIT_BEFORE_OTHERS)
            .await
    }

    /// Room to judge a message that has at most so many values. Waits up to 2 seconds, because
    /// other messages of its conversation wait behind it. INVARIANT: a task that holds such room waits neither
    /// for more nor for a task that may wait for some.
    pub async fn room_to_judge(&self, message: &[u8], most_values: usize) -> Option<Reservation> {
        self.wait_to_judge(message, most_values, LONGEST_WAIT_BEFORE_OTHERS)
            .await
    }

    /// The same for up to 20 seconds, where nothing waits behind it.
    pub async fn room_to_judge_alone(
        &self,
        message: &[u8],
        most_values: usize,
    ) -> Option<Reservation> {
        self.wait_to_judge(message, most_values, LONGEST_WAIT).await
    }

    async fn wait_to_judge(
        &self,
        message: &[u8],
        most_values: usize,
        longest: Duration,
    ) -> Option<Reservation> {
        if self.0.is_none() {
            return self.reserve(0, message.len());
        }
        let values = values(message).min(most_values);
        let bytes = to_judge(message.len(), values);
        self.wait(bytes, message.len(), longest).await
    }

    async fn wait(&self, bytes: usize, whole: usize, longest: Duration) -> Option<Reservation> {
        let room = self.reserve(bytes, whole);
        let Some(limited) = self.0.as_deref().filter(|_| room.is_none()) else {
            return room;
        };
        let waiting = async {
            loop {
                let mut given_back = pin!(limited.given_back.notified());
                given_back.as_mut().enable();
                let room = self.reserve(bytes, whole);
                if room.is_some() {
                    return room;
                }
                if limited.reserved.load(Ordering::Relaxed) > 0 {
                    given_back.await;
                    continue;
                }
                // A reservation ends before its memory is freed.
                sleep(FREEING).await;
                let room = self.reserve(bytes, whole);
                if room.is_some() || limited.reserved.load(Ordering::Relaxed) == 0 {
                    return room;
                }
            }
        };
        let room = timeout(longest, waiting).await.ok().flatten();
        if room.is_none() {
            self.refuses();
        }
        room
    }

    /// A part of the limit for one purpose, or as much as is usual without a limit.
    pub fn part(&self, divisor: usize, usual: usize) -> usize {
        let limited = self.0.as_deref();
        limited.map_or(usual, |limited| limited.limit / divisor)
    }

    /// None without a limit.
    pub fn state(&self) -> Option<MemoryState> {
        self.0.as_deref().map(|limited| MemoryState {
            limit: limited.limit,
            allocated: (limited.allocated)(),
            refused: limited.refused.load(Ordering::Relaxed),
        })
    }

    /// Whether a larger message would be refused now.
    pub fn is_short(&self) -> bool {
        self.0.as_deref().is_some_and(|limited| {
            let held = (limited.allocated)();
            held.saturating_add(SMALL) > limited.line(SMALL)
        })
    }

    /// Resolves after a rejection since the last one; never without a limit.
    pub async fn was_short(&self) {
        match self.0.as_deref() {
            Some(limited) => limited.short.notified().await,
            None => std::future::pending().await,
        }
    }

    fn reserve(&self, bytes: usize, whole: usize) -> Option<Reservation> {
        let room = |bytes| Reservation {
            memory: self.clone(),
            bytes,
        };
        let Some(limited) = self.0.as_deref() else {
            return Some(room(0));
        };
        let line = limited.line(whole);
        if whole < SMALL || bytes == 0 {
            // A small message has a higher limit, and bytes that are there already need no room.
            let held = (limited.allocated)().saturating_add(bytes);
            return (held <= line).then(|| room(0));
        }
        let more = |reserved: usize| {
            let reserved = reserved.checked_add(bytes)?;
            let held = (limited.allocated)().saturating_add(reserved);
            (held <= line).then_some(reserved)
        };
        let reserved = &limited.reserved;
        let reserved = reserved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        reserved.ok().map(|_| room(bytes))
    }

    fn refuses(&self) {
        if let Some(limited) = self.0.as_deref() {
            limited.refused.fetch_add(1, Ordering::Relaxed);
            limited.short.notify_one();
        }
    }
}

impl MemoryLimit {
    fn line(&self, whole: usize) -> usize {
        if whole < SMALL {
            SMALL_UNTIL.of(self.limit)
        } else {
            LARGE_UNTIL.of(self.limit)
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(limited) = self.memory.0.as_deref() {
            limited.reserved.fetch_sub(self.bytes, Ordering::Relaxed);
            limited.given_back.notify_waiters();
        }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Memory").field(&self.state()).finish()
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reserved").field(&self.bytes).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::{Context, Poll};

    use super::*;

    const LIMIT: usize = 128 << 20;

    fn of(allocated: &Arc<AtomicUsize>) -> Memory {
        let allocated = Arc::clone(allocated);
        Memory::limited(LIMIT, move || allocated.load(Ordering::Relaxed))
    }

    #[test]
    fn there_is_room_up_to_a_part_of_the_limit_and_for_small_messages_up_to_a_larger_one() {
        let allocated = Arc::<AtomicUsize>::default();
        let memory = of(&allocated);
        let check = |held: usize, bytes: usize, whole: usize, is_there: bool| {
            allocated.store(held, Ordering::Relaxed);
            let room = memory.room(bytes, whole);
            assert_eq!(room.is_some(), is_there, "{bytes} of {whole} beside {held}");
        };
        let (large, small) = (LARGE_UNTIL.of(LIMIT), SMALL_UNTIL.of(LIMIT));
        check(0, large, large, true);
        check(1, large, large, false);
        check(large - 1, 1, SMALL, true);
        check(large, 1, SMALL, false);
        check(large, 1, SMALL - 1, true);
        check(small, 1, SMALL - 1, false);
        check(usize::MAX, usize::MAX, 1, false);
        assert_eq!(memory.state().unwrap().refused, 4);
    }

    #[test]
    fn reserved_room_is_exclusive_until_it_is_given_back() {
        let memory = of(&Arc::default());
        let half = LARGE_UNTIL.of(LIMIT) / 2;
        let rooms = [memory.room(half, half), memory.room(half, half)];
        assert!(rooms.iter().all(Option::is_some));
        assert!(memory.room(1, SMALL).is_none());
        drop(rooms);
        assert!(memory.room(2 * half, SMALL).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn judging_waits_for_reserved_room_and_not_for_allocated_memory() {
        let allocated = Arc::<AtomicUsize>::default();
        let memory = of(&allocated);
        let message = vec![b' '; LARGE_UNTIL.of(LIMIT) / (OF_A_BYTE + 1)];
        let first = memory.room_to_judge(&message, 1).await.unwrap();
        let mut second = pin!(memory.room_to_judge(&message, 1));
        let mut polled = |context: &mut Context<'_>| Poll::Ready(second.as_mut().poll(context));
        assert!(poll_fn(&mut polled).await.is_pending());
        drop(first);
        let Poll::Ready(Some(second)) = poll_fn(&mut polled).await else {
            panic!("there is room");
        };
        drop(second);
        allocated.store(LARGE_UNTIL.of(LIMIT), Ordering::Relaxed);
        assert!(memory.room_to_judge(&message, 1).await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn of_messages_that_wait_none_is_refused_for_another() {
        let memory = of(&Arc::default());
        let message = vec![b' '; LARGE_UNTIL.of(LIMIT) / (OF_A_BYTE + 1)];
        let first = memory.room_to_judge(&message, 1).await.unwrap();
        let waiting = [(); 3].map(|()| {
            let (memory, message) = (memory.clone(), message.clone());
            tokio::spawn(async move {
                let room = memory.room_to_judge(&message, 1).await;
                tokio::task::yield_now().await;
                room.is_some()
            })
        });
        tokio::task::yield_now().await;
        drop(first);
        for waiting in waiting {
            assert!(waiting.await.unwrap());
        }
    }

    #[test]
    fn what_is_allocated_already_is_not_refused_for_what_others_are_about_to_allocate() {
        let memory = of(&Arc::default());
        let all = LARGE_UNTIL.of(LIMIT);
        let _room = memory.room(all, all).unwrap();
        assert!(memory.room(0, all).is_some());
        assert!(memory.room(1, all).is_none());
    }

    #[test]
    fn a_buffer_doubles_up_to_what_it_may_hold() {
        let mut buffer = Vec::new();
        for (come, most, capacity) in [(10, 100, 10), (11, 100, 20), (25, 30, 30), (31, 30, 31)] {
            grow(&mut buffer, come, most);
            assert_eq!(buffer.capacity(), capacity, "{come} of {most}");
        }
    }

    #[test]
    fn no_message_has_more_values_than_are_counted() {
        for (text, values_of_it) in [
            ("1", 1),
            ("[]", 1),
            ("[1]", 2),
            ("[1,2,[3]]", 5),
            (r#"{"a":{"b":[],"c":{}}}"#, 4),
            (r#"{"a":1,"b":"x"}"#, 3),
        ] {
            assert!(values(text.as_bytes()) >= values_of_it, "{text}");
        }
    }

    #[test]
    fn a_message_fits_into_the_smallest_limit_for_it() {
        for (bytes, most_values) in [(1 << 10, 100), (4 << 20, 100_000), (256 << 20, 1_000_000)] {
            let line = LARGE_UNTIL.of(least_for(bytes, most_values));
            let taken = IDLE + bytes + to_judge(bytes, bytes.min(most_values));
            assert!(
                line >= taken && line < taken + 16,
                "{bytes}: {line} for {taken}"
            );
        }
    }

    #[test]
    fn without_a_limit_there_is_always_room() {
        let memory = Memory::default();
        assert!(memory.room(usize::MAX, usize::MAX).is_some());
        assert_eq!(memory.part(4, 7), 7);
        assert_eq!(memory.state(), None);
        assert!(!memory.is_short());
    }
}
