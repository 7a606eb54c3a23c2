//! The body of a request, in bounded memory and time.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::HeaderMap;
use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use tokio::time::{sleep, timeout};

use crate::memory::Memory;

use super::refusal::Refused;
use super::room::{Budget, Held, Room};
use super::settings::Settings;

/// What must come of a body in [`Settings::body_pause`], if it is not its end that comes.
const LEAST: usize = 16 * 1024;

/// What the reading of a body waits for.
enum Waits {
    ForTheAgent,
    ForRoom,
}

/// Reads a body whose length was said, or that comes in chunks; no more of it than a message may have.
pub(super) async fn read(
    headers: &HeaderMap,
    body: &mut Incoming,
    room: Room<'_, impl FnOnce() -> Arc<Budget>>,
    settings: &Settings,
) -> Result<Bytes, Refused> {
    let length = length(headers)?;
    let most = settings.limits.max_bytes;
    if length.is_some_and(|length| length > most) {
        return Err(Refused::TooLarge(most));
    }
    let mut waits = Waits::ForTheAgent;
    let collecting = collect(body, length, room, settings, &mut waits);
    match timeout(settings.body_deadline, collecting).await {
        Ok(read) => read,
        Err(_late) => Err(match waits {
            Waits::ForTheAgent => Refused::BodyLate,
            Waits::ForRoom => Refused::NoMemory,
        }),
    }
}

/// Takes what is still coming of a request that was refused, and throws it away: a socket that is
/// closed over unread bytes takes the answer with it. In bounded time, at most 16 MiB, and not while
/// the gate stops.
pub(super) async fn discard(
    mut body: Incoming,
    patience: Duration,
    stop: impl Future<Output = ()>,
) {
    let discarding = async {
        let mut left = 16 * 1024 * 1024_usize;
        while let Some(Ok(frame)) = body.frame().await {
            let length = frame.data_ref().map_or(0, Bytes::len);
            match left.checked_sub(length) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    };
    tokio::select! {
        // Late or not, it was not wanted.
        _ = timeout(patience, discarding) => {}
        () = stop => {}
    }
}

/// None for one in chunks. INVARIANT: with another coding, or beside a length, it was refused with its
/// head.
fn length(headers: &HeaderMap) -> Result<Option<usize>, Refused> {
    if headers.contains_key(TRANSFER_ENCODING) {
        return Ok(None);
    }
    let length = headers.get(CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
    length.map(Some).ok_or(Refused::Length)
}

/// A body takes room as it comes, until it was judged: what is announced and not sent takes nothing from
/// others. A short one is in the buffer of its connection anyway, and takes none.
async fn collect(
    body: &mut Incoming,
    length: Option<usize>,
    room: Room<'_, impl FnOnce() -> Arc<Budget>>,
    settings: &Settings,
    waits: &mut Waits,
) -> Result<Bytes, Refused> {
    let first = next(body).await?.unwrap_or_default();
    // Most bodies come in one part, which is not copied.
    let memory = &settings.memory;
    if length == Some(first.len()) && first.len() <= LEAST {
        // It is allocated already.
        has_memory(memory, &first)?;
        return Ok(first);
    }
    let most = settings.limits.max_bytes;
    let mut pace = Pace::new(settings.body_pause);
    let mut held = Held::of((room.share)(), Arc::clone(room.all));
    if length == Some(first.len()) {
        *waits = Waits::ForRoom;
        held.reach(first.len()).await?;
        has_memory(memory, &first)?;
        return Ok(kept(first, held));
    }
    let mut read = Read::First(first);
    while let Some(part) = pace.next(body).await? {
        let come = read.len() + part.len();
        if come > most {
            return Err(Refused::TooLarge(most));
        }
        *waits = Waits::ForRoom;
        held.reach(come).await?;
        let room = memory.wait_to_grow(read.capacity(), come).await;
        let _room = room.ok_or(Refused::NoMemory)?;
        *waits = Waits::ForTheAgent;
        read.add(&part);
    }
    if length.is_some_and(|length| length != read.len()) {
        return Err(Refused::BodyBroken);
    }
    Ok(kept(read.whole(), held))
}

/// Whether bytes that came with the head may be kept.
fn has_memory(memory: &Memory, come: &Bytes) -> Result<(), Refused> {
    let room = memory.room(0, come.len());
    room.map(drop).ok_or(Refused::NoMemory)
}

/// Bytes that hold their room for as long as somebody has them.
fn kept(bytes: Bytes, held: Held) -> Bytes {
    struct Kept {
        bytes: Bytes,
        _held: Held,
    }
    impl AsRef<[u8]> for Kept {
        fn as_ref(&self) -> &[u8] {
            &self.bytes
        }
    }
    Bytes::from_owner(Kept { bytes, _held: held })
}

/// What has come of a body.
enum Read {
    First(Bytes),
    More(BytesMut),
}

impl Read {
    fn len(&self) -> usize {
        match self {
            Self::First(first) => first.len(),
            Self::More(read) => read.len(),
        }
    }

    fn capacity(&self) -> usize {
        match self {
            Self::First(_) => 0,
            Self::More(read) => read.capacity(),
        }
    }

    fn add(&mut self, part: &[u8]) {
        match self {
            Self::First(first) => {
                let mut read = BytesMut::from(&**first);
                read.extend_from_slice(part);
                *self = Self::More(read);
            }
            Self::More(read) => read.extend_from_slice(part),
        }
    }

    fn whole(self) -> Bytes {
        match self {
            Self::First(first) => first,
            Self::More(read) => read.freeze(),
        }
    }
}

/// Whether a body comes fast enough. What it waits for others is not counted.
struct Pace {
    pause: Duration,
    left: Duration,
    bytes: usize,
}

impl Pace {
    fn new(pause: Duration) -> Self {
        Self {
            pause,
            left: pause,
            bytes: 0,
        }
    }

    async fn next(&mut self, body: &mut Incoming) -> Result<Option<Bytes>, Refused> {
        let asked = sleep(Duration::ZERO).deadline();
        let part = timeout(self.left, next(body)).await;
        let part = part.map_err(|_late| Refused::BodyLate)??;
        self.left = self.left.saturating_sub(asked.elapsed());
        self.bytes += part.as_ref().map_or(0, Bytes::len);
        if self.bytes >= LEAST {
            (self.left, self.bytes) = (self.pause, 0);
        }
        Ok(part)
    }
}

/// The next part that has bytes.
async fn next(body: &mut Incoming) -> Result<Option<Bytes>, Refused> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Refused::BodyBroken)?;
        if let Ok(part) = frame.into_data()
            && !part.is_empty()
        {
            return Ok(Some(part));
        }
    }
    Ok(None)
}
