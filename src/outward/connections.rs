//! Connections by HTTP, kept for the next request.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::{Request, Response, Uri};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower_service::Service;
use url::Url;

use super::lookup::Resolver;

/// Connections to any number of servers. Clones share them.
///
/// No proxy, cookie, `Referer`, redirect or compression: nothing that the configuration did not name
/// decides where a request goes or how large its answer gets. Callers limit time and size.
#[derive(Debug, Clone)]
pub struct Connections(Client<Connector, Full<Bytes>>);

/// How often a request is sent again if an HTTP/2 server says that it has not looked at it.
const AGAIN: usize = 2;

/// What each request calls the gate.
pub const USER_AGENT: &str = concat!("mcp-protector/", env!("CARGO_PKG_VERSION"));

/// Dead peers are found by the operating system where nothing is sent for hours.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
const KEEP_ALIVE_TRIES: u32 = 3;

/// How long a connection without a request is kept.
const IDLE: Duration = Duration::from_secs(90);

/// Makes connections: name, address and TLS in bounded time.
#[derive(Debug, Clone)]
pub struct Connector {
    tls: HttpsConnector<HttpConnector<Resolver>>,
    within: Duration,
}

type Later<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

impl Connector {
    /// `tls` says which authorities are believed, and `resolver` where names may lead.
    pub fn new(tls: ClientConfig, resolver: Resolver, within: Duration) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(resolver);
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(within));
        tcp.set_keepalive(Some(KEEP_ALIVE));
        tcp.set_keepalive_interval(Some(KEEP_ALIVE_INTERVAL));
        tcp.set_keepalive_retries(Some(KEEP_ALIVE_TRIES));
        #[cfg(target_os = "linux")]
        tcp.set_tcp_user_timeout(Some(KEEP_ALIVE));
        let tls = HttpsConnector::from((tcp, tls));
        Self { tls, within }
    }

    /// The same for one URL: if it is `https`, nothing is sent without TLS.
    pub fn to(url: &Url, tls: ClientConfig, resolver: Resolver, within: Duration) -> Self {
        let mut connector = Self::new(tls, resolver, within);
        if url.scheme() == "https" {
            connector.tls.enforce_https();
        }
        connector
    }

    /// Connects to nothing yet.
    pub fn connections(self) -> Connections {
        let client = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .http2_keep_alive_timeout(KEEP_ALIVE)
            .build(self);
        Connections(client)
    }
}

impl Connections {
    /// The head of the answer; its body is still to come.
    pub async fn send(
        &self,
        request: impl Fn() -> Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, legacy::Error> {
        let mut left = AGAIN;
        loop {
            match self.0.request(request()).await {
                Err(error) if left > 0 && is_unseen(&error) => left -= 1,
                answered => return answered,
            }
        }
    }
}

/// The server has said that it did nothing with the request: a stream that it refused, or a
/// connection that it ends in good order (RFC 9113, 8.7).
fn is_unseen(error: &legacy::Error) -> bool {
    let mut cause = error.source();
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

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = Later<Self::Response, Self::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
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

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Later<Self::Response, io::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let found = self.clone().resolve(name.as_str().to_owned());
        Box::pin(async move {
            // The port is that of the URL.
            Ok(found.await?.into_iter())
        })
    }
}

/// The innermost cause: those round it only say that something failed. Bounded and escaped, since a
/// certificate's names may be in it.
pub fn innermost(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    let text = innermost.to_string();
    text.escape_debug().take(MAX_CAUSE).collect()
}

/// Characters of a cause that are told.
const MAX_CAUSE: usize = 300;
