//! The body of a request, in bounded memory and time.

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
    body: Incoming,
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

async fn collect(mut body: Incoming, length: usize) -> Result<Bytes, Refused> {
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
