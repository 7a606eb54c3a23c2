//! The body of a request, in bounded memory and time.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::HeaderMap;
use hyper::body::Incoming;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::refusal::Refused;
use super::settings::Settings;

/// What the budget of all bodies is counted in.
const UNIT: usize = 1024;

/// The budget of all bodies together.
pub(super) fn budget(settings: &Settings) -> Semaphore {
    Semaphore::new((settings.max_waiting_bodies / UNIT).clamp(1, Semaphore::MAX_PERMITS))
}

/// Reads a body whose length was said. Without a length, or in chunks, it is refused: a length is
/// known before memory is taken, and there are no two ways to find the end (RFC 9112 §6.3).
pub(super) async fn read(
    headers: &HeaderMap,
    body: &mut Incoming,
    budget: &Semaphore,
    settings: &Settings,
) -> Result<Bytes, Refused> {
    let length = length(headers)?;
    if length > settings.limits.max_bytes {
        return Err(Refused::TooLarge(settings.limits.max_bytes));
    }
    let units = u32::try_from(length.div_ceil(UNIT)).map_err(|_| Refused::TooManyBodies)?;
    let reading = async {
        let _part = budget
            .acquire_many(units)
            .await
            .map_err(|_| Refused::Closed)?;
        collect(body, length).await
    };
    match timeout(settings.body_deadline, reading).await {
        Ok(read) => read,
        Err(_late) => Err(Refused::BodyLate),
    }
}

/// Takes what is still coming of a request that was refused, and throws it away: a socket that is
/// closed over unread bytes takes the answer with it. In bounded time, and at most 16 MiB.
pub(super) async fn discard(mut body: Incoming, patience: Duration) {
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
    // Late or not, it was not wanted.
    let _ = timeout(patience, discarding).await;
}

fn length(headers: &HeaderMap) -> Result<usize, Refused> {
    // hyper drops `Content-Length` beside `Transfer-Encoding`, so that only the latter tells.
    if headers.contains_key(hyper::header::TRANSFER_ENCODING) {
        return Err(Refused::Length);
    }
    headers
        .get(hyper::header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse().ok())
        .ok_or(Refused::Length)
}

async fn collect(body: &mut Incoming, length: usize) -> Result<Bytes, Refused> {
    let mut read = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Refused::BodyBroken)?;
        let Ok(part) = frame.into_data() else {
            continue;
        };
        // Most bodies come in one part, which is not copied.
        if read.is_empty() && part.len() == length {
            return Ok(part);
        }
        read.extend_from_slice(&part);
    }
    if read.len() == length {
        Ok(read.freeze())
    } else {
        Err(Refused::BodyBroken)
    }
}
