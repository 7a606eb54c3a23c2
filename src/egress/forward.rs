//! One request in plain HTTP, carried over a connection of its own.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1;
use hyper::header::{
    CONNECTION, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::task::JoinSet;

use super::destination::Destination;
use super::idle_limited::IdleLimited;
use super::refusal::EgressRefusal;

/// Bytes of the answer's head.
const MAX_HEAD: usize = 64 * 1024;

/// The body of an answer, and the connection that it comes from.
#[derive(Debug)]
pub(super) struct Carried {
    body: Incoming,
    _connection: JoinSet<()>,
}

/// Sends a request, and takes the head of its answer.
pub(super) async fn forward(
    request: Request<Incoming>,
    to: &Destination,
    outside: IdleLimited,
) -> Result<Response<Carried>, EgressRefusal> {
    let broken = |cause: hyper::Error| EgressRefusal::Broken(cause.to_string());
    let request = to_origin(request, to)?;
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(MAX_HEAD)
        .handshake(TokioIo::new(outside))
        .await
        .map_err(broken)?;
    let mut task = JoinSet::new();
    task.spawn(async move {
        if let Err(cause) = connection.await {
            tracing::debug!("a connection of the egress proxy ended: {cause}");
        }
    });
    let mut response = sender.send_request(request).await.map_err(broken)?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        let cause = "it changes the protocol, which the request did not ask for".to_owned();
        return Err(EgressRefusal::Broken(cause));
    }
    strip(response.headers_mut());
    Ok(response.map(|body| Carried {
        body,
        _connection: task,
    }))
}

/// The same request as the server of the URL expects it.
fn to_origin(
    mut request: Request<Incoming>,
    to: &Destination,
) -> Result<Request<Incoming>, EgressRefusal> {
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = path.map_or_else(|| Uri::from_static("/"), Uri::from);
    let headers = request.headers_mut();
    strip(headers);
    headers.remove(EXPECT);
    let host = match to.port() {
        80 => to.host().to_owned(),
        _ => to.to_string(),
    };
    let host = HeaderValue::try_from(host).map_err(|_| EgressRefusal::Host)?;
    headers.insert(HOST, host);
    Ok(request)
}

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

/// RFC 9110 §7.6.1: fields that are for the next hop alone, and those that `Connection` names.
fn strip(headers: &mut HeaderMap) {
    let named = headers.get_all(CONNECTION).iter();
    let named = named.filter_map(|value| value.to_str().ok());
    let named = named.flat_map(|value| value.split(','));
    let named: Vec<HeaderName> = named.filter_map(|name| name.trim().parse().ok()).collect();
    let always = [
        CONNECTION,
        KEEP_ALIVE,
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        PROXY_CONNECTION,
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
    ];
    for name in named.into_iter().chain(always) {
        headers.remove(name);
    }
}

impl Body for Carried {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_for_the_next_hop_go_and_the_others_stay() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Mine"),
            ("x-mine", "1"),
            ("keep-alive", "timeout=5"),
            ("proxy-authorization", "Basic x"),
            ("proxy-connection", "keep-alive"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("accept", "*/*"),
            ("content-length", "3"),
        ] {
            headers.append(
                name.parse::<HeaderName>().unwrap(),
                HeaderValue::from_static(value),
            );
        }
        strip(&mut headers);
        let mut left: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["accept", "content-length"]);
    }
}
