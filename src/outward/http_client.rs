//! One request and its whole answer.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue,
};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, RequestBuilder, Response};
use rustls::ClientConfig;
use url::Url;

use super::lookup::{AddressSource, Resolver, System};
use super::url_trust::{UrlRejection, UrlTrust};

/// Asks URLs of one kind. Clones share its connections.
#[derive(Clone)]
pub struct HttpClient {
    http: Client,
    whence: UrlTrust,
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
    pub fn new(tls: ClientConfig, whence: UrlTrust) -> Result<Self, HttpError> {
        Self::looking_up(tls, whence, Arc::new(System))
    }

    /// The same, for which a redirect is an answer like others.
    pub fn without_redirects(tls: ClientConfig, whence: UrlTrust) -> Result<Self, HttpError> {
        Self::with(tls, whence, Arc::new(System), Policy::none())
    }

    /// The same with another resolver than the system's.
    pub fn looking_up(
        tls: ClientConfig,
        whence: UrlTrust,
        lookup: Arc<dyn AddressSource>,
    ) -> Result<Self, HttpError> {
        Self::with(tls, whence, lookup, Policy::custom(redirected))
    }

    fn with(
        tls: ClientConfig,
        whence: UrlTrust,
        lookup: Arc<dyn AddressSource>,
        redirects: Policy,
    ) -> Result<Self, HttpError> {
        // No proxy, cookie, `Referer` or compression, as to the server: nothing that the
        // configuration did not name decides whose words are believed.
        let http = Client::builder()
            .tls_backend_preconfigured(tls)
            .no_proxy()
            .referer(false)
            .redirect(redirects)
            .user_agent(concat!("mcp-protector/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .timeout(PATIENCE)
            .dns_resolver(Resolver { whence, lookup })
            .build()
            .map_err(|error| told(&error))?;
        Ok(Self { http, whence })
    }

    /// An answer of at most `most` bytes, within 10 seconds.
    pub async fn get(
        &self,
        url: &Url,
        accept: &'static str,
        most: usize,
    ) -> Result<HttpResponse, HttpError> {
        let request = self.http.get(url.clone());
        let request = request.header(ACCEPT, HeaderValue::from_static(accept));
        self.ask(url, request, most).await
    }

    /// The same for a form; `authorization` should be marked as sensitive.
    pub async fn post(
        &self,
        url: &Url,
        form: String,
        authorization: Option<HeaderValue>,
        most: usize,
    ) -> Result<HttpResponse, HttpError> {
        let mut request = self
            .http
            .post(url.clone())
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .header(
                CONTENT_TYPE,
                HeaderValue::from_static("application/x-www-form-urlencoded"),
            );
        if let Some(authorization) = authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        self.ask(url, request.body(form), most).await
    }

    async fn ask(
        &self,
        url: &Url,
        request: RequestBuilder,
        most: usize,
    ) -> Result<HttpResponse, HttpError> {
        self.whence.check(url)?;
        let request = request.header(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let mut response = request.send().await.map_err(|error| told(&error))?;
        let body = body(&mut response, most).await?;
        Ok(HttpResponse {
            status: response.status().as_u16(),
            headers: std::mem::take(response.headers_mut()),
            body,
        })
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
        f.debug_tuple("Asker").field(&self.whence).finish()
    }
}

async fn body(response: &mut Response, most: usize) -> Result<Vec<u8>, HttpError> {
    let said = response.content_length().unwrap_or_default();
    if usize::try_from(said).unwrap_or(usize::MAX) > most {
        return Err(HttpError::TooLong(most));
    }
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await.map_err(|error| told(&error))? {
        if body.len().saturating_add(part.len()) > most {
            return Err(HttpError::TooLong(most));
        }
        body.extend_from_slice(&part);
    }
    Ok(body)
}

/// Within one origin the address was checked already, and so was the scheme.
fn redirected(attempt: Attempt<'_>) -> Action {
    let asked = attempt.previous().first();
    let near = asked.is_some_and(|asked| asked.origin() == attempt.url().origin())
        && attempt.url().username().is_empty();
    if near && attempt.previous().len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

/// The innermost cause: those round it say where it was. Bounded and escaped, since a certificate's
/// names may be in it.
fn told(error: &reqwest::Error) -> HttpError {
    if error.is_timeout() {
        return HttpError::Unreachable("it took too long".to_owned());
    }
    let mut innermost: &dyn Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    let text = innermost.to_string();
    HttpError::Unreachable(text.escape_debug().take(MAX_CAUSE).collect())
}

/// Characters of a cause that are told.
const MAX_CAUSE: usize = 300;

#[cfg(test)]
mod tests;
