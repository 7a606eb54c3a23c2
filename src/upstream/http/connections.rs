//! Connections to the server: kept for the next request, and with them what every request has in
//! common.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::header::{HeaderMap, HeaderValue, LOCATION, USER_AGENT};
use hyper::http::response::Parts;
use hyper::{Method, Request, StatusCode, Uri};
use url::Url;

use super::failure::Failure;
use super::settings::{HttpClientError, HttpSettings};
use super::tls;
use crate::outward::{self, Connector, Resolver};

/// Connections to one URL. Clones share them.
#[derive(Clone)]
pub(super) struct Connections {
    pool: outward::Connections,
    url: Arc<Url>,
    /// The same, as requests name it.
    place: Uri,
}

/// One request, but for what all have in common.
#[derive(Debug, Clone)]
pub(super) struct Asking {
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    /// Shared, not copied.
    pub(super) body: Option<Bytes>,
}

/// What answers a request; its body is still to come.
#[derive(Debug)]
pub(super) struct Response {
    head: Parts,
    body: Incoming,
}

impl Connections {
    /// Connects to nothing yet.
    pub(super) fn new(settings: &HttpSettings) -> Result<Self, HttpClientError> {
        let url = settings.url.clone();
        let place = Uri::try_from(url.as_str()).map_err(|error| HttpClientError::Setup {
            cause: error.to_string(),
        })?;
        let (tls, within) = (tls::config(settings)?, settings.connect_timeout);
        let connector = Connector::to(&url, tls, Resolver::system(), within);
        let pool = connector.connections();
        Ok(Self {
            pool,
            url: Arc::new(url),
            place,
        })
    }

    /// Sends a request, and once more if the server wants it beside: at a place of its own, by the
    /// same method and with the same body (RFC 9110, 15.4.8 and 15.4.9), what servers do that want
    /// a `/` at the end. No other redirect is followed, so that message and token go to nobody whom
    /// the configuration does not name.
    pub(super) async fn ask(&self, asking: Asking) -> Result<Response, Failure> {
        let response = self.ask_at(&self.place, &asking).await?;
        match self.beside(&response) {
            Some(place) => self.ask_at(&place, &asking).await,
            None => Ok(response),
        }
    }

    async fn ask_at(&self, place: &Uri, asking: &Asking) -> Result<Response, Failure> {
        match self.pool.send(|| asking.at(place)).await {
            Ok(response) => {
                let (head, body) = response.into_parts();
                Ok(Response { head, body })
            }
            Err(error) if error.is_connect() => Err(Failure::unreachable(&error)),
            Err(error) => Err(Failure::broken(&error)),
        }
    }

    /// Where a redirect leads, if it is one to the same scheme, host and port.
    fn beside(&self, response: &Response) -> Option<Uri> {
        let kept = [
            StatusCode::TEMPORARY_REDIRECT,
            StatusCode::PERMANENT_REDIRECT,
        ];
        if !kept.contains(&response.status()) {
            return None;
        }
        let place = response.headers().get(LOCATION)?.to_str().ok()?;
        let place = self.url.join(place).ok()?;
        let names_nobody = place.username().is_empty() && place.password().is_none();
        let near = place.origin() == self.url.origin() && names_nobody;
        near.then(|| Uri::try_from(place.as_str()).ok()).flatten()
    }
}

impl Asking {
    fn at(&self, place: &Uri) -> Request<Full<Bytes>> {
        let mut request = Request::new(self.body.clone().map(Full::new).unwrap_or_default());
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = place.clone();
        *request.headers_mut() = self.headers.clone();
        let agent = HeaderValue::from_static(outward::USER_AGENT);
        request.headers_mut().insert(USER_AGENT, agent);
        request
    }
}

impl Response {
    pub(super) fn status(&self) -> StatusCode {
        self.head.status
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// As it was announced.
    pub(super) fn content_length(&self) -> Option<u64> {
        self.body.size_hint().exact()
    }

    /// The next part of the body.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, Failure> {
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|error| Failure::broken(&error))?;
            if let Ok(part) = frame.into_data() {
                return Ok(Some(part));
            }
        }
        Ok(None)
    }
}
