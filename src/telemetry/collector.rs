//! The one request that a collector is sent (OTLP 1, OTLP/HTTP).

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response, Uri};
use prost::Message;
use rustls::ClientConfig;
use tokio::time::{sleep, timeout_at};
use url::Url;

use super::otlp::ExportResponse;
use super::settings::Settings;
use crate::outward::{self, Connections, Connector, Resolver, innermost};

/// Where spans or logs are sent.
pub(super) struct Collector {
    url: Url,
    /// The same, as requests name it.
    place: Uri,
    headers: HeaderMap,
    connections: Connections,
    /// For a request and its answer.
    timeout: Duration,
}

/// The exporter cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("no request can name `otlp_endpoint`: {0}")]
    Endpoint(String),
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}

/// The reason for lost spans, without texts of peers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ExportFailure {
    /// The same may be taken later (OTLP, "Failures").
    Passing(String),
    Lasting(String),
}

/// For name, connection and TLS together.
const CONNECT: Duration = Duration::from_secs(5);

/// Bytes of an answer that are read.
const MAX_BYTES: usize = 64 * 1024;

impl Collector {
    /// Connects to nothing yet.
    pub(super) fn new(settings: &Settings, tls: ClientConfig) -> Result<Self, SetupError> {
        let url = settings.url.clone();
        let place = Uri::try_from(url.as_str());
        let connect = CONNECT.min(settings.timeout);
        let connector = Connector::to(&url, tls, Resolver::system(), connect);
        let mut headers = HeaderMap::new();
        for (name, value) in &settings.headers {
            headers.insert(name.clone(), value.clone());
        }
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/x-protobuf"),
        );
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let agent = HeaderValue::from_static(outward::USER_AGENT);
        headers.entry(USER_AGENT).or_insert(agent);
        Ok(Self {
            place: place.map_err(|error| SetupError::Endpoint(error.to_string()))?,
            url,
            headers,
            connections: connector.connections(),
            timeout: settings.timeout,
        })
    }

    /// Sends spans or logs once; answers how many of them were refused.
    pub(super) async fn send(&self, items: Bytes) -> Result<u64, ExportFailure> {
        let mut request = Request::new(Full::new(items));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.place.clone();
        *request.headers_mut() = self.headers.clone();
        let late = || ExportFailure::Passing("it does not answer in time".to_owned());
        let deadline = sleep(self.timeout).deadline();
        let response = timeout_at(deadline, self.connections.send(|| request.clone())).await;
        let response = response.map_err(|_| late())?.map_err(|error| {
            let cause = innermost(&error);
            ExportFailure::Passing(if error.is_connect() {
                format!("it cannot be reached: {cause}")
            } else {
                format!("the connection to it broke: {cause}")
            })
        })?;
        match response.status().as_u16() {
            200 => Ok(timeout_at(deadline, refused(response))
                .await
                .unwrap_or_default()),
            201..=299 => Ok(0),
            code @ (429 | 502 | 503 | 504) => {
                Err(ExportFailure::Passing(format!("its status is {code}")))
            }
            code => Err(ExportFailure::Lasting(told(code))),
        }
    }
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = self.url.origin().ascii_serialization();
        f.debug_tuple("Collector").field(&origin).finish()
    }
}

impl fmt::Display for ExportFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passing(cause) | Self::Lasting(cause) => f.write_str(cause),
        }
    }
}

fn told(code: u16) -> String {
    let advice = match code {
        300..=399 => ", and no redirect is followed",
        401 | 403 => "; does it want another header?",
        404 => "; is it a collector of OTLP over HTTP?",
        415 => "; it takes no protobuf",
        _ => "",
    };
    format!("its status is {code}{advice}")
}

/// How much a collector did not take: nothing, if its answer cannot be read, or not in time. Answers to
/// spans and logs have the same fields.
async fn refused(response: Response<Incoming>) -> u64 {
    let text = Limited::new(response.into_body(), MAX_BYTES)
        .collect()
        .await;
    let answer = text
        .ok()
        .and_then(|text| ExportResponse::decode(text.to_bytes()).ok());
    let partial = answer.and_then(|answer| answer.partial_success);
    let refused = partial.map_or(0, |partial| partial.rejected);
    u64::try_from(refused).unwrap_or_default()
}
