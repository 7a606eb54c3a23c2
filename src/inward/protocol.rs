//! HTTP/1.1 and HTTP/1.0 on one connection, as far as it is the same for all listeners.

use std::time::Duration;

use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::{Response, Version};
use hyper_util::rt::TokioTimer;

use super::head::{Limits, Targets};

/// Bounds of what a peer may send and hold.
#[derive(Debug, Clone, Copy)]
pub struct Protocol {
    /// How long a head may take, and how long a connection may rest between two requests.
    pub header_deadline: Duration,
    /// How long a connection may take nothing of what is written to it.
    pub write_deadline: Duration,
    pub limits: Limits,
    pub targets: Targets,
}

/// hyper has no buffer smaller than this, in bytes.
const MIN_BUFFER: usize = 8 * 1024;

impl Protocol {
    /// What speaks it, behind a [`super::Checked`] of the same limits.
    pub fn hyper(&self) -> http1::Builder {
        let Limits { bytes, fields } = self.limits;
        let mut protocol = http1::Builder::new();
        protocol
            .timer(TokioTimer::new())
            .header_read_timeout(self.header_deadline)
            .max_headers(fields)
            .max_header_size(bytes)
            .max_buf_size(bytes.max(MIN_BUFFER));
        protocol
    }
}

/// What is answered in HTTP/1.0 is the last on its connection: not everybody ends it alike.
pub fn last<B>(response: &mut Response<B>) {
    *response.version_mut() = Version::HTTP_10;
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(CONNECTION, close);
}
