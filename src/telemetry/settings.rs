//! What the exporter must be told.

use std::fmt;
use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};
use url::Url;

/// Where spans or logs go, and as whose.
#[derive(Clone)]
pub struct Settings {
    /// Where the collector takes them: its address with `/v1/traces` or `/v1/logs`. Its path may be a
    /// secret of the operator's.
    pub url: Url,
    /// What is sent with each request; marked as sensitive.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// `service.name`.
    pub service: String,
    /// How agents reach the gate.
    pub transport: Transport,
    /// How long one request may take in all.
    pub timeout: Duration,
}

/// How agents reach the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Stdio,
    Http,
}

/// Where the collector is, but neither path nor headers.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("origin", &self.url.origin().ascii_serialization())
            .field("headers", &self.headers.len())
            .field("service", &self.service)
            .field("transport", &self.transport)
            .field("timeout", &self.timeout)
            .finish()
    }
}
