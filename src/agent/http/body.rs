//! The body of a request, in bounded memory and time.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::HeaderMap;
use hyper::body::Incoming;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::refusal::Refused;
use super::settings::Settings;
use super::shares::Share;

/// What the budget of all bodies is counted in.
const UNIT: usize = 1024;

/// The budget of all bodies together.
pub(super) fn budget(settings: &Settings) -> Semaphore {
    let bytes = settings.max_waiting_bodies.max(settings.limits.max_bytes);
    Semaphore::new(units(bytes))
}

/// Bytes as parts of a budget.
pub(super) fn units(bytes: usize) -> usize {
    bytes.div_ceil(UNIT).clamp(1, Semaphore::MAX_PERMITS)
}

/// Where a body takes its place: in the share of its agent, and among those of all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room<'s> {
    pub(super) share: &'s Share,
    pub(super) all: &'s Semaphore,
}

/// Reads a body whose length was said, so that it is known before memory is taken. INVARIANT: what
/// comes in chunks was refused with its head.
pub(super) async fn read(
    headers: &HeaderMap,
    body: &mut Incoming,
    room: Room<'_>,
    settings: &Settings,
) -> Result<Bytes, Refused> {
    let length = length(headers)?;
    if length > settings.limits.max_bytes {
        return Err(Refused::TooLarge(settings.limits.max_bytes));
    }
    match timeout(settings.body_deadline, collect(body, length, room)).await {
        Ok(read) => read,
        Err(_late) => Err(Refused::BodyLate),
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

fn length(headers: &HeaderMap) -> Result<usize, Refused> {
    headers
        .get(hyper::header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse().ok())
        .ok_or(Refused::Length)
}

/// A body takes its place when its first part is there and more must come. What was announced and
/// is not sent takes nothing from others; the first part is in the buffer of its connection anyway.
async fn collect(body: &mut Incoming, length: usize, room: Room<'_>) -> Result<Bytes, Refused> {
    let first = next(body).await?.unwrap_or_default();
    // Most bodies come in one part, which is not copied.
    if first.len() == length {
        return Ok(first);
    }
    let units = u32::try_from(units(length)).map_err(|_| Refused::TooManyBodies)?;
    let _own = place(&room.share.bodies, units).await?;
    let _place = place(room.all, units).await?;
    let mut read = BytesMut::from(first);
    while let Some(part) = next(body).await? {
        read.extend_from_slice(&part);
    }
    if read.len() == length {
        Ok(read.freeze())
    } else {
        Err(Refused::BodyBroken)
    }
}

async fn place(budget: &Semaphore, units: u32) -> Result<SemaphorePermit<'_>, Refused> {
    let place = budget.acquire_many(units).await;
    place.map_err(|_| Refused::Closed)
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
