//! One request and its whole answer.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION,
    USER_AGENT,
};
use hyper::{Method, Request, Response, Uri};
use rustls::ClientConfig;
use tokio::time::timeout;
use url::Url;

use super::connections::{self, Connections, Connector, innermost};
use super::lookup::{AddressSource, Resolver, System};
use super::url_trust::{UrlRejection, UrlTrust};

/// Asks URLs of one kind. Clones share its connections.
#[derive(Clone)]
pub struct HttpClient {
    connections: Connections,
    trust: UrlTrust,
}

/// What came back, whatever its status is.
#[derive(Debug)]
pub struct HttpResponse {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

/// The error without an answer, for operators.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    #[error("{0}")]
    Refused(#[from] UrlRejection),
    #[error("it is longer than {0} bytes")]
    TooLong(usize),
    /// The innermost cause, bounded and escaped.
    #[error("{0}")]
    Unreachable(String),
}

/// For name, connection and TLS together.
const CONNECT: Duration = Duration::from_secs(5);

/// For all of it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Redirects that are followed, all of them within the origin.
const MAX_REDIRECTS: usize = 3;

impl HttpClient {
    /// Connects to nothing yet. `tls` says which authorities are believed.
    pub fn new(tls: ClientConfig, trust: UrlTrust) -> Self {
        Self::looking_up(tls, trust, Arc::new(System))
    }

    /// The same with another resolver than the system's.
    pub fn looking_up(tls: ClientConfig, trust: UrlTrust, lookup: Arc<dyn AddressSource>) -> Self {
        let connector = Connector::new(tls, Resolver::trusting(trust, lookup), CONNECT);
        Self {
            connections: connector.connections(),
            trust,
        }
    }

    /// An answer of at most `most` bytes, within 10 seconds. Follows redirects within the origin.
    pub async fn get(
        &self,
        url: &Url,
        accept: &'static str,
        most: usize,
    ) -> Result<HttpResponse, HttpError> {
        self.trust.check(url)?;
        in_time(async {
            let mut url = url.clone();
            for _ in 0..MAX_REDIRECTS {
                let response = self.ask(&get(&url, accept)?).await?;
                match redirect(&url, &response) {
                    Some(next) => url = next,
                    None => return whole(response, most).await,
                }
            }
            whole(self.ask(&get(&url, accept)?).await?, most).await
        })
        .await
    }

    /// The same for a form; `authorization` should be marked as sensitive. A redirect is an answer
    /// like others: what a form holds goes to one URL.
    pub async fn post(
        &self,
        url: &Url,
        form: String,
        authorization: Option<HeaderValue>,
        most: usize,
    ) -> Result<HttpResponse, HttpError> {
        self.trust.check(url)?;
        let mut request = request(Method::POST, url, "application/json", form.into())?;
        let headers = request.headers_mut();
        let content_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, content_type);
        if let Some(authorization) = authorization {
            headers.insert(AUTHORIZATION, authorization);
        }
        in_time(async { whole(self.ask(&request).await?, most).await }).await
    }

    async fn ask(&self, request: &Request<Full<Bytes>>) -> Result<Response<Incoming>, HttpError> {
        let response = self.connections.send(|| request.clone()).await;
        response.map_err(|error| HttpError::Unreachable(innermost(&error)))
    }
}

impl HttpResponse {
    /// Whether it calls itself JSON, or says nothing of what it is. A page of a login or of an error is
    /// not taken for an answer, whatever stands in it.
    pub fn is_json(&self) -> bool {
        let Some(named) = self.headers.get(CONTENT_TYPE) else {
            return true;
        };
        let named = named.to_str().unwrap_or_default();
        let named = named.split(';').next().unwrap_or_default().trim();
        let named = named.to_ascii_lowercase();
        named == "application/json" || named.ends_with("+json")
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HttpClient").field(&self.trust).finish()
    }
}

async fn in_time<T>(asking: impl Future<Output = Result<T, HttpError>>) -> Result<T, HttpError> {
    let late = || HttpError::Unreachable("it took too long".to_owned());
    timeout(PATIENCE, asking).await.map_err(|_| late())?
}

fn get(url: &Url, accept: &'static str) -> Result<Request<Full<Bytes>>, HttpError> {
    request(Method::GET, url, accept, Bytes::new())
}

fn request(
    method: Method,
    url: &Url,
    accept: &'static str,
    body: Bytes,
) -> Result<Request<Full<Bytes>>, HttpError> {
    let place = Uri::try_from(url.as_str());
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = place.map_err(|error| HttpError::Unreachable(innermost(&error)))?;
    for (name, value) in [
        (ACCEPT, accept),
        (ACCEPT_ENCODING, "identity"),
        (USER_AGENT, connections::USER_AGENT),
    ] {
        let headers = request.headers_mut();
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(request)
}

/// Where a redirect leads, if it is one within the origin. `UrlTrust::check` has permitted the scheme and
/// the address of that origin.
fn redirect(url: &Url, response: &Response<Incoming>) -> Option<Url> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let place = response.headers().get(LOCATION)?.to_str().ok()?;
    let place = url.join(place).ok()?;
    let has_no_user = place.username().is_empty() && place.password().is_none();
    (place.origin() == url.origin() && has_no_user).then_some(place)
}

async fn whole(response: Response<Incoming>, most: usize) -> Result<HttpResponse, HttpError> {
    let (head, mut body) = response.into_parts();
    let said = body.size_hint().lower();
    if usize::try_from(said).unwrap_or(usize::MAX) > most {
        return Err(HttpError::TooLong(most));
    }
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| HttpError::Unreachable(innermost(&error)))?;
        let Ok(part) = frame.into_data() else {
            continue;
        };
        if bytes.len().saturating_add(part.len()) > most {
            return Err(HttpError::TooLong(most));
        }
        bytes.extend_from_slice(&part);
    }
    Ok(HttpResponse {
        status: head.status.as_u16(),
        headers: head.headers,
        body: bytes,
    })
}

#[cfg(test)]
mod tests;
