//! The stream of what belongs to no request (MCP 2025-11-25, basic/transports, listening).

use std::sync::Arc;

use hyper::StatusCode;
use tokio::time::sleep;

use crate::mailbox;
use crate::wire::Stream;

use super::answer::{self, Answer};
use super::connections::Response;
use super::failure::{Failure, Loss};
use super::http_event::HttpEvent;
use super::life::Life;
use super::reading::{self, Ended, Looking, Place};

/// Keeps the stream open for as long as the server offers one and the session lives.
pub(super) async fn listen(life: Arc<Life>, events: mailbox::Sender<HttpEvent>) {
    let settings = &life.parts.settings;
    let looking = Looking {
        stream: Stream::MAIN,
        settings,
        events: &events,
        reply: None,
    };
    let mut place = Place::new(&settings.backoff);
    let mut before = Before::None;
    loop {
        match life.get(place.after()).await {
            Ok(response) => match next(response, before) {
                Next::Read(response) => {
                    before = Before::Some;
                    if reading::read(*response, &looking, &mut place).await == Ok(Ended::Unread) {
                        return;
                    }
                }
                Next::Later(status) => {
                    tracing::debug!(server = %settings.name, %status, "no stream yet");
                }
                Next::Never(status) => {
                    tracing::debug!(server = %settings.name, %status, "the server offers no stream");
                    return;
                }
                Next::Lost => return life.end(Loss::SessionGone),
            },
            Err(Failure::Unreachable(cause)) => return life.end(Loss::Unreachable(cause)),
            Err(_) => {}
        }
        sleep(place.next_delay()).await;
    }
}

/// Whether there was a stream in this session before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    None,
    Some,
}

enum Next {
    Read(Box<Response>),
    Later(StatusCode),
    Never(StatusCode),
    Lost,
}

fn next(response: Response, before: Before) -> Next {
    let status = response.status();
    if status == StatusCode::OK {
        return match answer::body(response) {
            Ok(Answer::Events(response)) => Next::Read(Box::new(response)),
            Ok(Answer::Json(_)) | Err(_) => Next::Never(status),
        };
    }
    match (status, before) {
        // Some servers do not know the path for GET; where it was known, the session is meant.
        (StatusCode::NOT_FOUND, Before::Some) => Next::Lost,
        (StatusCode::TOO_MANY_REQUESTS, _) => Next::Later(status),
        _ if status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED => {
            Next::Later(status)
        }
        _ => Next::Never(status),
    }
}
