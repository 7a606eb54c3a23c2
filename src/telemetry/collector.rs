//! The one request that a collector is sent (OTLP 1, OTLP/HTTP).

use std::error::Error;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use reqwest::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode};
use rustls::ClientConfig;
use url::Url;

use super::settings::Settings;

/// Where spans or logs are sent.
pub(super) struct Collector {
    url: Url,
    headers: HeaderMap,
    http: Client,
}

/// The exporter cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("{0}")]
    Client(String),
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
        // No proxy, redirect or compression, as to the server: nothing that the configuration did
        // not name decides where spans go.
        let http = Client::builder()
            .tls_backend_preconfigured(tls)
            .https_only(settings.url.scheme() == "https")
            .no_proxy()
            .referer(false)
            .redirect(Policy::none())
            .user_agent(concat!("mcp-protector/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT.min(settings.timeout))
            .timeout(settings.timeout)
            .build()
            .map_err(|error| SetupError::Client(causes(&error)))?;
        let mut headers = HeaderMap::new();
        for (name, value) in &settings.headers {
            headers.insert(name.clone(), value.clone());
        }
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/x-protobuf"),
        );
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        Ok(Self {
            url: settings.url.clone(),
            headers,
            http,
        })
    }

    /// Sends spans or logs once; answers how many of them were refused.
    pub(super) async fn send(&self, items: Bytes) -> Result<u64, ExportFailure> {
        let asked = self.http.post(self.url.clone());
        let asked = asked.headers(self.headers.clone()).body(items).send();
        let response = asked.await.map_err(|error| unreached(&error))?;
        let status = response.status();
        match status.as_u16() {
            200 => Ok(refused(response).await),
            201..=299 => Ok(0),
            code @ (429 | 502 | 503 | 504) => {
                Err(ExportFailure::Passing(format!("its status is {code}")))
            }
            code => Err(ExportFailure::Lasting(told(code, status))),
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

fn told(code: u16, status: StatusCode) -> String {
    let advice = match code {
        300..=399 => ", and no redirect is followed",
        401 | 403 => "; does it want another header?",
        404 => "; is it a collector of OTLP over HTTP?",
        415 => "; it takes no protobuf",
        _ => "",
    };
    format!("its status is {}{advice}", status.as_u16())
}

/// How much a collector did not take. An answer that cannot be read took all. Answers to spans and logs
/// have the same fields.
async fn refused(mut response: Response) -> u64 {
    let mut text = Vec::new();
    while let Ok(Some(part)) = response.chunk().await {
        if text.len() + part.len() > MAX_BYTES {
            return 0;
        }
        text.extend_from_slice(&part);
    }
    let answer = ExportTraceServiceResponse::decode(text.as_slice()).ok();
    let partial = answer.and_then(|answer| answer.partial_success);
    let refused = partial.map_or(0, |partial| partial.rejected_spans);
    u64::try_from(refused).unwrap_or_default()
}

fn unreached(error: &reqwest::Error) -> ExportFailure {
    ExportFailure::Passing(if error.is_timeout() {
        "it does not answer in time".to_owned()
    } else if error.is_connect() {
        format!("it cannot be reached: {}", causes(error))
    } else {
        format!("the connection to it broke: {}", causes(error))
    })
}

/// What is below the library's own words, which name the URL.
fn causes(error: &reqwest::Error) -> String {
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    causes
        .pop()
        .unwrap_or_else(|| "no cause is known".to_owned())
}
