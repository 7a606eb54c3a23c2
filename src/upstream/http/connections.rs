//! Connections to the server: kept for the next request, and with them what every request has in
//! common.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::header::{HeaderMap, HeaderValue, LOCATION, USER_AGENT};
use hyper::http::response::Parts;
use hyper::{Method, Request, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower_service::Service;
use url::Url;

use super::failure::Failure;
use super::settings::{HttpClientError, HttpSettings, LOCALHOST};
use super::tls;

/// Connections to one URL. Clones share them.
///
/// No proxy, cookie, `Referer` or compression: nothing that the configuration did not name decides
/// where a message goes or how large it gets.
#[derive(Clone)]
pub(super) struct Connections {
    pool: Client<Connect, Full<Bytes>>,
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

/// Dead peers are found by the operating system where nothing is sent for hours.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
const KEEP_ALIVE_TRIES: u32 = 3;

/// How long a connection without a request is kept.
const IDLE: Duration = Duration::from_secs(90);

/// How often a request is sent again which an HTTP/2 server has said not to have looked at.
const AGAIN: usize = 2;

impl Connections {
    /// Connects to nothing yet.
    pub(super) fn new(settings: &HttpSettings) -> Result<Self, HttpClientError> {
        let url = settings.url.clone();
        let place = Uri::try_from(url.as_str()).map_err(|error| HttpClientError::Setup {
            cause: error.to_string(),
        })?;
        let pool = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .http2_keep_alive_timeout(KEEP_ALIVE)
            .build(Connect::new(settings)?);
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
        let mut left = AGAIN;
        loop {
            match self.pool.request(asking.at(place)).await {
                Ok(response) => {
                    let (head, body) = response.into_parts();
                    return Ok(Response { head, body });
                }
                Err(error) if left > 0 && is_unseen(&error) => left -= 1,
                Err(error) if error.is_connect() => return Err(Failure::unreachable(&error)),
                Err(error) => return Err(Failure::broken(&error)),
            }
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
        let agent = HeaderValue::from_static(concat!("mcp-protector/", env!("CARGO_PKG_VERSION")));
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

/// The server has said that it did nothing with the request: a stream that it refused, or a
/// connection that it ends in good order (RFC 9113, 8.7).
fn is_unseen(error: &Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        if let Some(error) = inner.downcast_ref::<h2::Error>() {
            let ends = error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR);
            let refuses = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
            return error.is_remote() && (ends || refuses);
        }
        cause = inner.source();
    }
    false
}

/// Makes connections: name, address and TLS in bounded time.
#[derive(Clone)]
struct Connect {
    tls: HttpsConnector<HttpConnector<Lookup>>,
    within: Duration,
}

type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;
type Cause = Box<dyn std::error::Error + Send + Sync>;
type Later<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

impl Connect {
    fn new(settings: &HttpSettings) -> Result<Self, HttpClientError> {
        let mut tcp = HttpConnector::new_with_resolver(Lookup(GaiResolver::new()));
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(settings.connect_timeout));
        tcp.set_keepalive(Some(KEEP_ALIVE));
        tcp.set_keepalive_interval(Some(KEEP_ALIVE_INTERVAL));
        tcp.set_keepalive_retries(Some(KEEP_ALIVE_TRIES));
        #[cfg(target_os = "linux")]
        tcp.set_tcp_user_timeout(Some(KEEP_ALIVE));
        let mut tls = HttpsConnector::from((tcp, tls::config(settings)?));
        if settings.url.scheme() == "https" {
            tls.enforce_https();
        }
        Ok(Self {
            tls,
            within: settings.connect_timeout,
        })
    }
}

impl Service<Uri> for Connect {
    type Response = Stream;
    type Error = Cause;
    type Future = Later<Stream, Cause>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Cause>> {
        self.tls.poll_ready(cx)
    }

    fn call(&mut self, place: Uri) -> Self::Future {
        let (connecting, within) = (self.tls.call(place), self.within);
        Box::pin(async move {
            let late = || io::Error::new(io::ErrorKind::TimedOut, "operation timed out");
            timeout(within, connecting)
                .await
                .unwrap_or_else(|_| Err(late().into()))
        })
    }
}

/// The system's, but for `localhost`, which is this machine whatever the system says.
#[derive(Clone)]
struct Lookup(GaiResolver);

type Addresses = std::vec::IntoIter<SocketAddr>;

impl Service<Name> for Lookup {
    type Response = Addresses;
    type Error = io::Error;
    type Future = Later<Addresses, io::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        if name.as_str() == LOCALHOST {
            // The port is that of the URL.
            let own = [
                IpAddr::V4(Ipv4Addr::LOCALHOST),
                IpAddr::V6(Ipv6Addr::LOCALHOST),
            ];
            let own = own.map(|address| SocketAddr::new(address, 0));
            return Box::pin(async move { Ok(Vec::from(own).into_iter()) });
        }
        let found = self.0.call(name);
        Box::pin(async move { Ok(found.await?.collect::<Vec<_>>().into_iter()) })
    }
}
