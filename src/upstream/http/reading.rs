//! A stream of events, as far as it goes.

use std::time::Duration;

use hyper::header::HeaderValue;
use tokio::time::timeout;

use crate::mailbox;
use crate::upstream::{Backoff, Delays};
use crate::wire::{ArrivalForm, EventKind, SseDecoder, SseEvent, Stream};

use super::answer::{self, Reply};
use super::connections::Response;
use super::failure::Failure;
use super::http_event::HttpEvent;
use super::settings::HttpSettings;

/// Where a stream can be resumed, and when.
#[derive(Debug)]
pub(super) struct Place {
    after: Option<HeaderValue>,
    retry: Option<Duration>,
    delays: Delays,
    shortest: Duration,
}

/// How the reading of a stream ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// With the reply.
    Answered,
    /// Without it; the connection may be broken.
    Early,
    /// Nobody reads what comes.
    Unread,
}

/// What is looked for on a stream.
pub(super) struct Looking<'a> {
    pub(super) stream: Stream,
    pub(super) settings: &'a HttpSettings,
    pub(super) events: &'a mailbox::Sender<HttpEvent>,
    /// Sees each reply before it is told; `true` ends the reading.
    pub(super) reply: Option<&'a (dyn Fn(&Reply) -> bool + Sync)>,
}

/// Servers ask for pauses of seconds; one that asks for more than this wants none of us.
const LONGEST_RETRY: Duration = Duration::from_hours(1);

/// How long a server may take to end a stream after the reply, so that the connection can be used
/// again.
const DRAIN: Duration = Duration::from_secs(1);

impl Place {
    pub(super) fn new(backoff: &Backoff) -> Self {
        Self {
            after: None,
            retry: None,
            delays: Delays::new(backoff),
            shortest: backoff.first,
        }
    }

    /// The event to go on after, if there was one with an id.
    pub(super) fn after(&self) -> Option<&HeaderValue> {
        self.after.as_ref()
    }

    /// How long to wait before the stream is resumed: what the server asks for, but never so little
    /// that it is asked without a pause.
    pub(super) fn next_delay(&mut self) -> Duration {
        let retry = self.retry.map(|retry| retry.min(LONGEST_RETRY));
        retry.map_or_else(
            || self.delays.next_delay(),
            |retry| retry.max(self.shortest),
        )
    }

    /// Something came.
    pub(super) fn progress(&mut self) {
        self.delays.reset();
    }

    fn note(&mut self, decoder: &SseDecoder) {
        if let Some(id) = decoder.last_event_id() {
            self.after = HeaderValue::from_bytes(id).ok();
        }
        self.retry = decoder.retry().or(self.retry);
    }
}

/// Tells each message of a stream, to its end or to what is looked for.
pub(super) async fn read(
    mut response: Response,
    looking: &Looking<'_>,
    place: &mut Place,
) -> Result<Ended, Failure> {
    let settings = looking.settings;
    let memory = settings.memory.clone();
    let mut decoder = SseDecoder::new(settings.from_upstream.max_bytes).within(memory);
    loop {
        let Ok(Some(chunk)) = response.chunk().await else {
            return Ok(Ended::Early);
        };
        decoder.wait_for_memory(chunk.len()).await;
        let mut rest = &chunk[..];
        while let Some(event) = decoder.next(&mut rest) {
            place.note(&decoder);
            let bytes = match event {
                SseEvent::Unread(why) if looking.reply.is_some() => {
                    return Err(Failure::Unread(why));
                }
                SseEvent::Unread(why) => {
                    let stream = looking.stream;
                    let told = looking.events.send(HttpEvent::Unread { stream, why });
                    if told.await.is_err() {
                        return Ok(Ended::Unread);
                    }
                    continue;
                }
                // Without data it only says where to resume.
                SseEvent::Event {
                    kind: EventKind::Message,
                    data,
                } if !data.is_empty() => data,
                SseEvent::Event { .. } => continue,
            };
            place.progress();
            let found = match looking.reply {
                None => false,
                Some(wanted) => {
                    let reply = answer::reply(&bytes, settings).await?;
                    reply.is_some_and(|reply| wanted(&reply))
                }
            };
            let stream = looking.stream;
            if looking
                .events
                .send(HttpEvent::Frame {
                    stream,
                    form: ArrivalForm::Event,
                    bytes,
                })
                .await
                .is_err()
            {
                return Ok(Ended::Unread);
            }
            if found {
                drain(response).await;
                return Ok(Ended::Answered);
            }
        }
        place.note(&decoder);
    }
}

/// Nothing belongs on the stream after the reply; what comes all the same is not read.
async fn drain(mut response: Response) {
    let rest = async {
        let mut left = MAX_DRAIN;
        while let Ok(Some(chunk)) = response.chunk().await {
            match left.checked_sub(chunk.len()) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    };
    // Either way the response is dropped, and a connection in the middle of one with it.
    let _ = timeout(DRAIN, rest).await;
}

/// Bytes after the reply for which a connection is kept.
const MAX_DRAIN: usize = 64 * 1024;
